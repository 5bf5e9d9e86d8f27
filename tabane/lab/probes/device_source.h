// The text of device.cl, which is put into the program when it is built.
#pragma once

namespace tabane::lab {

extern const char* const kDeviceSource;

}  // namespace tabane::lab
