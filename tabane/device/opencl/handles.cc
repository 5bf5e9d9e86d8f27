#include "tabane/device/opencl/handles.h"

#include <fmt/format.h>

#include "tabane/device/device.h"

namespace tabane::device::opencl {
namespace {

struct Code {
  cl_int code;
  const char* name;
  Failure failure;
};

// What may happen to a correct program; other codes are told as numbers.
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

}  // namespace

void require(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  for (const Code& known : kCodes) {
    if (known.code == code) {
      throw DeviceError(known.failure, fmt::format("{}: {}", what, known.name));
    }
  }
  throw DeviceError(Failure::refused, fmt::format("{}: OpenCL's error {}", what, code));
}

}  // namespace tabane::device::opencl
