// A device for tests that passes everything on to another one until it fails, and remembers which
// memory holds secrets.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "tabane/device/device.h"

namespace tabane::encrypt {

struct Faults {
  // How many waits for it, and buffers, there are before each further one fails.
  std::atomic<int> waits_left = std::numeric_limits<int>::max();
  std::atomic<int> buffers_left = std::numeric_limits<int>::max();
  bool has_compiler = true;
  std::vector<std::byte> secret;  // looked for in what is written to the device and read

  std::mutex mutex;
  std::set<const device::Buffer*> with_secret;  // and not wiped since
  std::atomic<int> secrets_seen = 0;
};

class FailingQueue : public device::Queue {
 public:
  FailingQueue(std::unique_ptr<device::Queue> inner, Faults& faults)
      : inner_(std::move(inner)), faults_(faults) {}

  void write(device::Buffer& to, std::size_t offset, std::span<const std::byte> from) override {
    look_for_secret(to, from);
    inner_->write(to, offset, from);
  }
  void read(const device::Buffer& from, std::size_t offset, std::span<std::byte> to) override {
    reads_.push_back({&from, to});
    inner_->read(from, offset, to);
  }
  void zero(device::Buffer& buffer) override {
    inner_->zero(buffer);
    const std::lock_guard lock(faults_.mutex);
    faults_.with_secret.erase(&buffer);
  }
  void launch(device::Kernel& kernel, std::size_t items, std::size_t group) override {
    inner_->launch(kernel, items, group);
  }
  std::byte* map(device::Buffer& buffer, bool to_write) override {
    return inner_->map(buffer, to_write);
  }
  void unmap(device::Buffer& buffer, std::byte* place) override { inner_->unmap(buffer, place); }
  void flush() override { inner_->flush(); }
  // Who is lost while it transfers leaves anything behind.
  void finish() override {
    inner_->finish();
    const auto reads = std::exchange(reads_, {});
    for (const auto& [from, to] : reads) look_for_secret(*from, to);
    if (faults_.waits_left-- > 0) return;
    for (const auto& [_, to] : reads) std::ranges::fill(to, std::byte{0xEE});
    throw device::DeviceError(device::Failure::lost, "it was unplugged");
  }

 private:
  void look_for_secret(const device::Buffer& of, std::span<const std::byte> bytes) {
    if (faults_.secret.empty() || std::ranges::search(bytes, faults_.secret).empty()) return;
    const std::lock_guard lock(faults_.mutex);
    faults_.with_secret.insert(&of);
    ++faults_.secrets_seen;
  }

  std::unique_ptr<device::Queue> inner_;
  Faults& faults_;
  std::vector<std::pair<const device::Buffer*, std::span<std::byte>>> reads_;
};

class FailingDevice : public device::Device {
 public:
  FailingDevice(std::unique_ptr<device::Device> inner, Faults& faults)
      : inner_(std::move(inner)), faults_(faults) {}

  const device::Description& description() const override { return inner_->description(); }
  std::unique_ptr<device::Buffer> buffer(std::size_t bytes) override {
    require_memory();
    return inner_->buffer(bytes);
  }
  std::unique_ptr<device::HostMemory> host_memory(std::size_t bytes) override {
    require_memory();
    return inner_->host_memory(bytes);
  }
  std::unique_ptr<device::Program> program(const std::string& source,
                                           const std::string& options) override {
    if (faults_.has_compiler) return inner_->program(source, options);
    throw device::DeviceError(device::Failure::refused, "it has no compiler");
  }
  std::unique_ptr<device::Queue> queue() override {
    return std::make_unique<FailingQueue>(inner_->queue(), faults_);
  }

 private:
  void require_memory() {
    if (faults_.buffers_left-- > 0) return;
    throw device::DeviceError(device::Failure::out_of_memory, "its memory is full");
  }

  std::unique_ptr<device::Device> inner_;
  Faults& faults_;
};

}  // namespace tabane::encrypt
