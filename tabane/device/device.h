// A coprocessor: memory on it, programs for it, and queues of work. What drives it is a module that
// is loaded when it is needed (module.h), so that programs start where there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tabane/core/error.h"

namespace tabane::device {

enum class Kind { gpu, accelerator, cpu, other };

struct Description {
  std::string name, vendor, platform, driver;
  Kind kind = Kind::other;
  unsigned compute_units = 0;
  std::uint64_t memory_bytes = 0, largest_buffer_bytes = 0, local_bytes = 0;
  bool has_double = false;
  bool shares_memory = false;  // with the host
};

enum class Failure { lost, out_of_memory, refused };

class DeviceError : public core::Error {
 public:
  DeviceError(Failure failure, const std::string& what) : core::Error(what), failure_(failure) {}

  Failure failure() const { return failure_; }

 private:
  Failure failure_;
};

// Memory on the device. What is in it at first is anything; it is not wiped when it goes.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::size_t bytes() const = 0;
};

// Memory of the host that the device reads and writes without a copy between, as far as there is
// such: pinned.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  virtual std::span<std::byte> bytes() = 0;
};

// A function of a program with its arguments; one thread at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void set(unsigned argument, const Buffer& buffer) = 0;
  virtual void set_bytes(unsigned argument, std::span<const std::byte> value) = 0;

  template <class T>
  void set_value(unsigned argument, const T& value) {
    set_bytes(argument, std::as_bytes(std::span(&value, 1)));
  }
};

class Program {
 public:
  virtual ~Program() = default;
  virtual std::unique_ptr<Kernel> kernel(const char* name) = 0;
};

// Work that is done in order, independently of other queues. All but map() and finish() return
// before the work is done, and what they were given lives until finish(); one thread at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void write(Buffer& to, std::size_t offset, std::span<const std::byte> from) = 0;
  virtual void read(const Buffer& from, std::size_t offset, std::span<std::byte> to) = 0;
  virtual void zero(Buffer& buffer) = 0;
  // items: a multiple of group; group 0: the driver chooses.
  virtual void launch(Kernel& kernel, std::size_t items, std::size_t group) = 0;
  // Where the host may read (or write, and then what was there is lost) until unmap().
  virtual std::byte* map(Buffer& buffer, bool to_write) = 0;
  virtual void unmap(Buffer& buffer, std::byte* place) = 0;
  // Lets the device begin with what is queued.
  virtual void flush() = 0;
  // Waits until all is done. throws: what went wrong with any of it.
  virtual void finish() = 0;
};

// All of it throws DeviceError. The device outlives what it has made. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual const Description& description() const = 0;
  virtual std::unique_ptr<Buffer> buffer(std::size_t bytes) = 0;
  virtual std::unique_ptr<HostMemory> host_memory(std::size_t bytes) = 0;
  // source: OpenCL C 1.2. throws: with what the compiler says.
  virtual std::unique_ptr<Program> program(const std::string& source,
                                           const std::string& options) = 0;
  virtual std::unique_ptr<Queue> queue() = 0;
};

}  // namespace tabane::device
