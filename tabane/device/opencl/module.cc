// Devices as OpenCL has them, its errors as exceptions; and the entries of the module, see
// ../module.h.
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include "tabane/device/module.h"

#include <fmt/format.h>

#include <CL/opencl.hpp>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

const char tabane_opencl_version[] = TABANE_VERSION;

namespace tabane::device::opencl {
namespace {

struct Code {
  cl_int code;
  const char* name;
  Failure failure;
};

// What may happen to a correct program; other codes are shown as numbers.
constexpr Code kCodes[] = {
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE", Failure::lost},
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND", Failure::lost},
    {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT", Failure::lost},
    {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE", Failure::lost},
    {-9999, "an illegal access or a lost device, as NVIDIA's driver says it", Failure::lost},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
     Failure::lost},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE", Failure::out_of_memory},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", Failure::out_of_memory},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY", Failure::out_of_memory},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE", Failure::out_of_memory},
    {CL_MAP_FAILURE, "CL_MAP_FAILURE", Failure::out_of_memory},
};

// throws: DeviceError "WHAT: CL_…" unless code is CL_SUCCESS.
void require(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  for (const Code& known : kCodes)
    if (known.code == code)
      throw DeviceError(known.failure, fmt::format("{}: {}", what, known.name));
  throw DeviceError(Failure::refused, fmt::format("{}: OpenCL's error {}", what, code));
}

class ClBuffer : public Buffer {
 public:
  ClBuffer(const cl::Context& context, cl_mem_flags flags, std::size_t bytes) : bytes_(bytes) {
    cl_int code = CL_SUCCESS;
    memory_ = cl::Buffer(context, flags, bytes, nullptr, &code);
    require(code, "memory on the device");
  }
  std::size_t bytes() const override { return bytes_; }
  const cl::Buffer& get() const { return memory_; }

 private:
  std::size_t bytes_;
  cl::Buffer memory_;
};

const cl::Buffer& memory_of(const Buffer& buffer) {
  return static_cast<const ClBuffer&>(buffer).get();
}

cl::CommandQueue make_queue(const cl::Context& context, const cl::Device& device) {
  cl_int code = CL_SUCCESS;
  cl::CommandQueue queue(context, device, 0, &code);
  require(code, "a queue");
  return queue;
}

// Drivers pin what they allocate and map themselves.
class ClHostMemory : public HostMemory {
 public:
  ClHostMemory(const cl::Context& context, const cl::Device& device, std::size_t bytes)
      : queue_(make_queue(context, device)), buffer_(context, CL_MEM_ALLOC_HOST_PTR, bytes) {
    cl_int code = CL_SUCCESS;
    place_ = queue_.enqueueMapBuffer(buffer_.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                                     nullptr, nullptr, &code);
    require(code, "pinned memory");
  }
  ~ClHostMemory() override {
    queue_.enqueueUnmapMemObject(buffer_.get(), place_);
    queue_.finish();
  }
  ClHostMemory(const ClHostMemory&) = delete;
  ClHostMemory& operator=(const ClHostMemory&) = delete;

  std::span<std::byte> bytes() override {
    return {static_cast<std::byte*>(place_), buffer_.bytes()};
  }

 private:
  cl::CommandQueue queue_;
  ClBuffer buffer_;
  void* place_ = nullptr;
};

class ClKernel : public Kernel {
 public:
  ClKernel(const cl::Program& program, const char* name) {
    cl_int code = CL_SUCCESS;
    kernel_ = cl::Kernel(program, name, &code);
    require(code, name);
  }
  void set(unsigned argument, const Buffer& buffer) override {
    require(kernel_.setArg(argument, memory_of(buffer)), "an argument");
  }
  void set_bytes(unsigned argument, std::span<const std::byte> value) override {
    require(kernel_.setArg(argument, value.size(), value.data()), "an argument");
  }
  const cl::Kernel& get() const { return kernel_; }

 private:
  cl::Kernel kernel_;
};

class ClProgram : public Program {
 public:
  ClProgram(const cl::Context& context, const cl::Device& device, const std::string& source,
            const std::string& options) {
    cl_int code = CL_SUCCESS;
    program_ = cl::Program(context, source, false, &code);
    require(code, "a program");
    code = program_.build(std::vector{device}, options.c_str());
    if (code == CL_BUILD_PROGRAM_FAILURE) {
      std::string log = program_.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device);
      log.erase(log.find_last_not_of(std::string_view("\n\0", 2)) + 1);
      throw DeviceError(Failure::refused, "the device's compiler says: " + log);
    }
    require(code, "building a program");
  }
  std::unique_ptr<Kernel> kernel(const char* name) override {
    return std::make_unique<ClKernel>(program_, name);
  }

 private:
  cl::Program program_;
};

class ClQueue : public Queue {
 public:
  ClQueue(const cl::Context& context, const cl::Device& device)
      : queue_(make_queue(context, device)) {}
  ~ClQueue() override { queue_.finish(); }
  ClQueue(const ClQueue&) = delete;
  ClQueue& operator=(const ClQueue&) = delete;

  void write(Buffer& to, std::size_t offset, std::span<const std::byte> from) override {
    require(queue_.enqueueWriteBuffer(memory_of(to), CL_FALSE, offset, from.size(), from.data(),
                                      nullptr, next_event()),
            "a transfer to the device");
  }
  void read(const Buffer& from, std::size_t offset, std::span<std::byte> to) override {
    require(queue_.enqueueReadBuffer(memory_of(from), CL_FALSE, offset, to.size(), to.data(),
                                     nullptr, next_event()),
            "a transfer from the device");
  }
  void zero(Buffer& buffer) override {
    require(queue_.enqueueFillBuffer(memory_of(buffer), cl_uchar{0}, 0, buffer.bytes(), nullptr,
                                     next_event()),
            "wiping memory on the device");
  }
  void launch(Kernel& kernel, std::size_t items, std::size_t group) override {
    require(queue_.enqueueNDRangeKernel(
                static_cast<ClKernel&>(kernel).get(), cl::NullRange, cl::NDRange(items),
                group == 0 ? cl::NullRange : cl::NDRange(group), nullptr, next_event()),
            "a kernel");
  }
  std::byte* map(Buffer& buffer, bool to_write) override {
    cl_int code = CL_SUCCESS;
    void* const place = queue_.enqueueMapBuffer(
        memory_of(buffer), CL_TRUE, to_write ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ, 0,
        buffer.bytes(), nullptr, nullptr, &code);
    require(code, "mapping memory of the device");
    return static_cast<std::byte*>(place);
  }
  void unmap(Buffer& buffer, std::byte* place) override {
    require(queue_.enqueueUnmapMemObject(memory_of(buffer), place, nullptr, next_event()),
            "unmapping memory of the device");
  }
  void flush() override { require(queue_.flush(), "starting work"); }

  // A command that fails later says so in its event alone.
  void finish() override {
    const std::vector<cl::Event> events = std::exchange(events_, {});
    require(queue_.finish(), "waiting for the device");
    for (const cl::Event& event : events) {
      if (event() == nullptr) continue;  // its command was not taken
      cl_int status = CL_COMPLETE;
      require(event.getInfo(CL_EVENT_COMMAND_EXECUTION_STATUS, &status), "what became of the work");
      require(status < 0 ? status : CL_SUCCESS, "work on the device");
    }
  }

 private:
  cl::Event* next_event() { return &events_.emplace_back(); }

  cl::CommandQueue queue_;
  std::vector<cl::Event> events_;
};

class ClDevice : public Device {
 public:
  ClDevice(const cl::Device& device, Description description)
      : device_(device), description_(std::move(description)) {
    cl_int code = CL_SUCCESS;
    context_ = cl::Context(device, nullptr, nullptr, nullptr, &code);
    require(code, "opening the device");
  }
  const Description& description() const override { return description_; }
  std::unique_ptr<Buffer> buffer(std::size_t bytes) override {
    return std::make_unique<ClBuffer>(context_, CL_MEM_READ_WRITE, bytes);
  }
  std::unique_ptr<HostMemory> host_memory(std::size_t bytes) override {
    return std::make_unique<ClHostMemory>(context_, device_, bytes);
  }
  std::unique_ptr<Program> program(const std::string& source, const std::string& options) override {
    return std::make_unique<ClProgram>(context_, device_, source, options);
  }
  std::unique_ptr<Queue> queue() override { return std::make_unique<ClQueue>(context_, device_); }

 private:
  cl::Device device_;
  Description description_;
  cl::Context context_;
};

constexpr cl_int kNoPlatform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR, of the ICD loader

std::vector<cl::Device> find_all() {
  std::vector<cl::Platform> platforms;
  // A loader without drivers says the one or the other.
  const cl_int code = cl::Platform::get(&platforms);
  if (code != kNoPlatform && code != CL_INVALID_VALUE) require(code, "asking for drivers");
  std::vector<cl::Device> all;
  for (const cl::Platform& platform : platforms) {
    std::vector<cl::Device> devices;
    // A driver without its hardware says that it has none, or fails.
    if (platform.getDevices(CL_DEVICE_TYPE_ALL, &devices) != CL_SUCCESS) continue;
    for (const cl::Device& device : devices)
      if (device.getInfo<CL_DEVICE_AVAILABLE>()) all.push_back(device);
  }
  return all;
}

template <cl_uint what>
auto fact(const auto& of) {
  cl_int code = CL_SUCCESS;
  auto value = of.template getInfo<what>(&code);
  require(code, "what the device is");
  return value;
}

std::string trimmed(std::string text) {
  const std::string_view blanks(" \0", 2);
  text.erase(text.find_last_not_of(blanks) + 1);
  return text.erase(0, text.find_first_not_of(blanks));
}

Kind kind_of(cl_device_type type) {
  if (type & CL_DEVICE_TYPE_GPU) return Kind::gpu;
  if (type & CL_DEVICE_TYPE_ACCELERATOR) return Kind::accelerator;
  if (type & CL_DEVICE_TYPE_CPU) return Kind::cpu;
  return Kind::other;
}

Description describe(const cl::Device& device) {
  return {
      .name = trimmed(fact<CL_DEVICE_NAME>(device)),
      .vendor = trimmed(fact<CL_DEVICE_VENDOR>(device)),
      .platform = trimmed(fact<CL_PLATFORM_NAME>(cl::Platform(fact<CL_DEVICE_PLATFORM>(device)))),
      .driver = trimmed(fact<CL_DRIVER_VERSION>(device)),
      .kind = kind_of(fact<CL_DEVICE_TYPE>(device)),
      .compute_units = fact<CL_DEVICE_MAX_COMPUTE_UNITS>(device),
      .memory_bytes = fact<CL_DEVICE_GLOBAL_MEM_SIZE>(device),
      .largest_buffer_bytes = fact<CL_DEVICE_MAX_MEM_ALLOC_SIZE>(device),
      .local_bytes = fact<CL_DEVICE_LOCAL_MEM_SIZE>(device),
      .has_double = fact<CL_DEVICE_DOUBLE_FP_CONFIG>(device) != 0,
      .shares_memory = fact<CL_DEVICE_HOST_UNIFIED_MEMORY>(device) == CL_TRUE,
  };
}

}  // namespace
}  // namespace tabane::device::opencl

extern "C" void tabane_opencl_list(std::vector<tabane::device::Description>* devices) {
  using namespace tabane::device::opencl;
  for (const cl::Device& device : find_all()) devices->push_back(describe(device));
}

extern "C" tabane::device::Device* tabane_opencl_open(std::size_t index) {
  using namespace tabane::device::opencl;
  const std::vector<cl::Device> all = find_all();
  if (index >= all.size())
    throw tabane::device::DeviceError(tabane::device::Failure::lost, "the device is gone");
  return new ClDevice(all[index], describe(all[index]));
}
