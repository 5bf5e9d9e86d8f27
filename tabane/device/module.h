// Which coprocessors there are, and how one is opened. The module for OpenCL is loaded with the
// first question; it needs the system's ICD loader, libOpenCL.so.1, and a driver.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/device/device.h"

// What the module offers. tabane's version, which must be that of the program.
extern "C" const char tabane_opencl_version[];
// Adds the devices of all platforms. throw: device::DeviceError.
extern "C" void tabane_opencl_list(std::vector<tabane::device::Description>* devices);
// index: in that list.
extern "C" tabane::device::Device* tabane_opencl_open(std::size_t index);

namespace tabane::device {

struct Devices {
  std::vector<Description> list;
  std::string reason;  // why there is none; empty: there are some
};

// The module is looked for in the directory $TABANE_OPENCL_MODULE or, if that is not set, where
// core::module_directory() says; there only if nobody else can write to it. cost: the first call
// starts the drivers, which may take a second and leave threads behind.
const Devices& devices();

// Returns the index of the device that is wanted: by its index, or by a part of its name or its
// platform's in any case; empty: the first GPU, else the first accelerator, else the first device.
// throws: core::UsageError that lists the devices, or says why there is none.
std::size_t choose_device(const Devices& devices, std::string_view wanted);

// "0: NAME (PLATFORM), a GPU of 132 units, 139 GiB"
std::string text_of(const Description& description);
const char* name_of(Kind kind);  // "GPU"

// index: in devices(). throws: DeviceError.
std::unique_ptr<Device> open_device(std::size_t index);

}  // namespace tabane::device
