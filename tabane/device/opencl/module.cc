// Devices as OpenCL has them: its objects as owners, its errors as exceptions; and the entries of
// the module, see ../module.h.
#define CL_TARGET_OPENCL_VERSION 120
#include "tabane/device/module.h"

#include <CL/cl.h>
#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

const char tabane_opencl_version[] = TABANE_VERSION;

namespace tabane::device::opencl {
namespace {

template <auto release>
struct Release {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};

template <class T, auto release>
using Owner = std::unique_ptr<std::remove_pointer_t<T>, Release<release>>;

using ContextOwner = Owner<cl_context, clReleaseContext>;
using QueueOwner = Owner<cl_command_queue, clReleaseCommandQueue>;
using MemoryOwner = Owner<cl_mem, clReleaseMemObject>;
using ProgramOwner = Owner<cl_program, clReleaseProgram>;
using KernelOwner = Owner<cl_kernel, clReleaseKernel>;
using EventOwner = Owner<cl_event, clReleaseEvent>;

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
  for (const Code& known : kCodes) {
    if (known.code == code) {
      throw DeviceError(known.failure, fmt::format("{}: {}", what, known.name));
    }
  }
  throw DeviceError(Failure::refused, fmt::format("{}: OpenCL's error {}", what, code));
}

class ClBuffer : public Buffer {
 public:
  ClBuffer(cl_context context, cl_mem_flags flags, std::size_t bytes) : bytes_(bytes) {
    cl_int code = CL_SUCCESS;
    memory_.reset(clCreateBuffer(context, flags, bytes, nullptr, &code));
    require(code, "memory on the device");
  }
  std::size_t bytes() const override { return bytes_; }
  cl_mem get() const { return memory_.get(); }

 private:
  std::size_t bytes_;
  MemoryOwner memory_;
};

cl_mem memory_of(const Buffer& buffer) { return static_cast<const ClBuffer&>(buffer).get(); }

QueueOwner make_queue(cl_context context, cl_device_id id) {
  cl_int code = CL_SUCCESS;
  QueueOwner queue(clCreateCommandQueue(context, id, 0, &code));
  require(code, "a queue");
  return queue;
}

// Drivers pin what they allocate and map themselves.
class ClHostMemory : public HostMemory {
 public:
  ClHostMemory(cl_context context, cl_device_id id, std::size_t bytes)
      : queue_(make_queue(context, id)), buffer_(context, CL_MEM_ALLOC_HOST_PTR, bytes) {
    cl_int code = CL_SUCCESS;
    place_ = clEnqueueMapBuffer(queue_.get(), buffer_.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                bytes, 0, nullptr, nullptr, &code);
    require(code, "pinned memory");
  }
  ~ClHostMemory() override {
    clEnqueueUnmapMemObject(queue_.get(), buffer_.get(), place_, 0, nullptr, nullptr);
    clFinish(queue_.get());
  }
  ClHostMemory(const ClHostMemory&) = delete;
  ClHostMemory& operator=(const ClHostMemory&) = delete;

  std::span<std::byte> bytes() override {
    return {static_cast<std::byte*>(place_), buffer_.bytes()};
  }

 private:
  QueueOwner queue_;
  ClBuffer buffer_;
  void* place_ = nullptr;
};

class ClKernel : public Kernel {
 public:
  ClKernel(cl_program program, cl_device_id id, const char* name) {
    cl_int code = CL_SUCCESS;
    kernel_.reset(clCreateKernel(program, name, &code));
    require(code, name);
    require(clGetKernelWorkGroupInfo(kernel_.get(), id, CL_KERNEL_WORK_GROUP_SIZE,
                                     sizeof largest_group_, &largest_group_, nullptr),
            "the largest group");
  }
  std::size_t largest_group() const override { return largest_group_; }
  void set(unsigned argument, const Buffer& buffer) override {
    cl_mem memory = memory_of(buffer);
    require(clSetKernelArg(kernel_.get(), argument, sizeof memory, &memory), "an argument");
  }
  void set_bytes(unsigned argument, std::span<const std::byte> value) override {
    require(clSetKernelArg(kernel_.get(), argument, value.size(), value.data()), "an argument");
  }
  cl_kernel get() const { return kernel_.get(); }

 private:
  KernelOwner kernel_;
  std::size_t largest_group_ = 0;
};

class ClProgram : public Program {
 public:
  ClProgram(cl_context context, cl_device_id id, const std::string& source,
            const std::string& options)
      : id_(id) {
    const char* text = source.c_str();
    const std::size_t size = source.size();
    cl_int code = CL_SUCCESS;
    program_.reset(clCreateProgramWithSource(context, 1, &text, &size, &code));
    require(code, "a program");
    code = clBuildProgram(program_.get(), 1, &id, options.c_str(), nullptr, nullptr);
    if (code == CL_BUILD_PROGRAM_FAILURE) {
      throw DeviceError(Failure::refused, "the device's compiler says: " + log());
    }
    require(code, "building a program");
  }
  std::unique_ptr<Kernel> kernel(const char* name) override {
    return std::make_unique<ClKernel>(program_.get(), id_, name);
  }

 private:
  std::string log() const {
    std::size_t size = 0;
    clGetProgramBuildInfo(program_.get(), id_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string text(size, '\0');
    clGetProgramBuildInfo(program_.get(), id_, CL_PROGRAM_BUILD_LOG, size, text.data(), nullptr);
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

  cl_device_id id_;
  ProgramOwner program_;
};

class ClQueue : public Queue {
 public:
  ClQueue(cl_context context, cl_device_id id) : queue_(make_queue(context, id)) {}
  ~ClQueue() override { clFinish(queue_.get()); }
  ClQueue(const ClQueue&) = delete;
  ClQueue& operator=(const ClQueue&) = delete;

  void write(Buffer& to, std::size_t offset, std::span<const std::byte> from) override {
    require(clEnqueueWriteBuffer(queue_.get(), memory_of(to), CL_FALSE, offset, from.size(),
                                 from.data(), 0, nullptr, next_event()),
            "a transfer to the device");
  }
  void read(const Buffer& from, std::size_t offset, std::span<std::byte> to) override {
    require(clEnqueueReadBuffer(queue_.get(), memory_of(from), CL_FALSE, offset, to.size(),
                                to.data(), 0, nullptr, next_event()),
            "a transfer from the device");
  }
  void zero(Buffer& buffer) override {
    const cl_uchar nothing = 0;
    require(clEnqueueFillBuffer(queue_.get(), memory_of(buffer), &nothing, sizeof nothing, 0,
                                buffer.bytes(), 0, nullptr, next_event()),
            "wiping memory on the device");
  }
  void launch(Kernel& kernel, std::size_t items, std::size_t group) override {
    require(clEnqueueNDRangeKernel(queue_.get(), static_cast<ClKernel&>(kernel).get(), 1, nullptr,
                                   &items, group == 0 ? nullptr : &group, 0, nullptr, next_event()),
            "a kernel");
  }
  std::byte* map(Buffer& buffer, bool to_write) override {
    cl_int code = CL_SUCCESS;
    void* const place = clEnqueueMapBuffer(queue_.get(), memory_of(buffer), CL_TRUE,
                                           to_write ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ,
                                           0, buffer.bytes(), 0, nullptr, nullptr, &code);
    require(code, "mapping memory of the device");
    return static_cast<std::byte*>(place);
  }
  void unmap(Buffer& buffer, std::byte* place) override {
    require(
        clEnqueueUnmapMemObject(queue_.get(), memory_of(buffer), place, 0, nullptr, next_event()),
        "unmapping memory of the device");
  }
  void flush() override { require(clFlush(queue_.get()), "starting work"); }

  // A command that fails later says so in its event alone.
  void finish() override {
    const std::vector<EventOwner> events = own_events();
    require(clFinish(queue_.get()), "waiting for the device");
    for (const EventOwner& event : events) {
      cl_int status = CL_COMPLETE;
      require(clGetEventInfo(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                             nullptr),
              "what became of the work");
      require(status < 0 ? status : CL_SUCCESS, "work on the device");
    }
  }

 private:
  cl_event* next_event() { return &events_.emplace_back(nullptr); }

  // Those of commands that were taken.
  std::vector<EventOwner> own_events() {
    std::vector<EventOwner> owned;
    for (cl_event event : std::exchange(events_, {})) {
      if (event != nullptr) owned.emplace_back(event);
    }
    return owned;
  }

  QueueOwner queue_;
  std::vector<cl_event> events_;
};

class ClDevice : public Device {
 public:
  ClDevice(cl_platform_id platform, cl_device_id id, Description description)
      : id_(id), description_(std::move(description)) {
    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform), 0};
    cl_int code = CL_SUCCESS;
    context_.reset(clCreateContext(properties, 1, &id, nullptr, nullptr, &code));
    require(code, "opening the device");
  }
  const Description& description() const override { return description_; }
  std::unique_ptr<Buffer> buffer(std::size_t bytes) override {
    return std::make_unique<ClBuffer>(context_.get(), CL_MEM_READ_WRITE, bytes);
  }
  std::unique_ptr<HostMemory> host_memory(std::size_t bytes) override {
    return std::make_unique<ClHostMemory>(context_.get(), id_, bytes);
  }
  std::unique_ptr<Program> program(const std::string& source, const std::string& options) override {
    return std::make_unique<ClProgram>(context_.get(), id_, source, options);
  }
  std::unique_ptr<Queue> queue() override { return std::make_unique<ClQueue>(context_.get(), id_); }

 private:
  cl_device_id id_;
  Description description_;
  ContextOwner context_;
};

struct Found {
  cl_platform_id platform;
  cl_device_id device;
};

constexpr cl_int kNoPlatform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR, of the ICD loader

std::vector<cl_platform_id> platforms() {
  cl_uint count = 0;
  const cl_int code = clGetPlatformIDs(0, nullptr, &count);
  if (code == kNoPlatform || count == 0) return {};
  require(code, "asking for drivers");
  std::vector<cl_platform_id> ids(count);
  require(clGetPlatformIDs(count, ids.data(), nullptr), "asking for drivers");
  return ids;
}

std::vector<Found> find_all() {
  std::vector<Found> all;
  for (cl_platform_id platform : platforms()) {
    cl_uint count = 0;
    // A driver without its hardware says that it has none, or fails.
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(count);
    require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr),
            "asking for devices");
    for (cl_device_id id : ids) {
      cl_bool available = CL_FALSE;
      clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof available, &available, nullptr);
      if (available) all.push_back({platform, id});
    }
  }
  return all;
}

template <class T>
T number(cl_device_id id, cl_device_info what) {
  T value{};
  require(clGetDeviceInfo(id, what, sizeof value, &value, nullptr), "what the device is");
  return value;
}

template <class Id>
std::string text(cl_int (*ask)(Id, cl_uint, std::size_t, void*, std::size_t*), Id id,
                 cl_uint what) {
  std::size_t size = 0;
  require(ask(id, what, 0, nullptr, &size), "what the device is");
  std::string value(size, '\0');
  require(ask(id, what, size, value.data(), nullptr), "what the device is");
  const std::string_view blanks(" \0", 2);
  value.erase(value.find_last_not_of(blanks) + 1);
  value.erase(0, value.find_first_not_of(blanks));
  return value;
}

Kind kind_of(cl_device_type type) {
  if (type & CL_DEVICE_TYPE_GPU) return Kind::gpu;
  if (type & CL_DEVICE_TYPE_ACCELERATOR) return Kind::accelerator;
  if (type & CL_DEVICE_TYPE_CPU) return Kind::cpu;
  return Kind::other;
}

Description describe(const Found& found) {
  const cl_device_id id = found.device;
  return {
      .name = text<cl_device_id>(clGetDeviceInfo, id, CL_DEVICE_NAME),
      .vendor = text<cl_device_id>(clGetDeviceInfo, id, CL_DEVICE_VENDOR),
      .platform = text<cl_platform_id>(clGetPlatformInfo, found.platform, CL_PLATFORM_NAME),
      .driver = text<cl_device_id>(clGetDeviceInfo, id, CL_DRIVER_VERSION),
      .kind = kind_of(number<cl_device_type>(id, CL_DEVICE_TYPE)),
      .compute_units = number<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS),
      .clock_mhz = number<cl_uint>(id, CL_DEVICE_MAX_CLOCK_FREQUENCY),
      .memory_bytes = number<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE),
      .largest_buffer_bytes = number<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
      .local_bytes = number<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE),
      .has_double = number<cl_device_fp_config>(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0,
      .shares_memory = number<cl_bool>(id, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE,
  };
}

}  // namespace
}  // namespace tabane::device::opencl

extern "C" void tabane_opencl_list(std::vector<tabane::device::Description>* devices) {
  using namespace tabane::device::opencl;
  for (const Found& found : find_all()) devices->push_back(describe(found));
}

extern "C" tabane::device::Device* tabane_opencl_open(std::size_t index) {
  using namespace tabane::device::opencl;
  const std::vector<Found> all = find_all();
  if (index >= all.size()) {
    throw tabane::device::DeviceError(tabane::device::Failure::lost, "the device is gone");
  }
  return new ClDevice(all[index].platform, all[index].device, describe(all[index]));
}
