// The entries of the module, see ../module.h.
#include "tabane/device/module.h"

#include <string_view>
#include <vector>

#include "tabane/device/opencl/opencl_device.h"

const char tabane_opencl_version[] = TABANE_VERSION;

namespace tabane::device::opencl {
namespace {

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
  return open(all[index].platform, all[index].device, describe(all[index])).release();
}
