// What a coprocessor can do: transfers, launches, its memory, its arithmetic, and how much of the
// copying it hides behind computing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tabane/device/device.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

struct DeviceFigure {
  std::string name;  // "transfer.to_device.pinned"
  std::string what;
  std::string unit;
  Better better = Better::higher;
  std::vector<double> samples;
  std::string how = {};  // "float16": the vector type that was fastest
};

// Bandwidth over the bytes of a transfer.
struct DeviceCurve {
  std::string name;  // "transfer.to_device.pinned"
  std::vector<double> bytes, rates;
};

struct DeviceFigures {
  std::vector<DeviceFigure> figures;
  std::vector<DeviceCurve> transfers;
  std::vector<double> read_bytes, read_rates;  // memory bandwidth over the bytes that are read
};

// seconds: about what it takes, besides building the programs. throws: device::DeviceError.
DeviceFigures measure_device(device::Device& device, double seconds);

// Of copying and computing that take so long alone and together: 1 if the shorter one is hidden, 0
// if they take turns.
double overlap_of(double copy_s, double compute_s, double together_s);

}  // namespace tabane::lab
