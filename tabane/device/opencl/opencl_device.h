// A device as OpenCL has it.
#pragma once

#include <memory>

#include "tabane/device/device.h"
#include "tabane/device/opencl/handles.h"

namespace tabane::device::opencl {

// throws: DeviceError.
std::unique_ptr<Device> open(cl_platform_id platform, cl_device_id id, Description description);

}  // namespace tabane::device::opencl
