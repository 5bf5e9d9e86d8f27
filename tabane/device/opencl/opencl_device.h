// A device as OpenCL has it: OpenCL's objects as owners, and its errors as exceptions.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <memory>
#include <type_traits>

#include "tabane/device/device.h"

namespace tabane::device::opencl {

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

// throws: DeviceError "WHAT: CL_…" unless code is CL_SUCCESS.
void require(cl_int code, const char* what);

// throws: DeviceError.
std::unique_ptr<Device> open(cl_platform_id platform, cl_device_id id, Description description);

}  // namespace tabane::device::opencl
