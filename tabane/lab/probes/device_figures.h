// What a coprocessor can do: transfers, launches, its memory, its arithmetic, and how much of the
// copying it hides behind computing.
#pragma once

#include "tabane/device/device.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

struct DevicePlan {
  Json widths = {};    // "widths" of an earlier call: only those vectors are tried
  bool curves = true;  // over the bytes of a transfer, and of what is read
};

// Returns {"figures": [{"name": "launch", "what", "unit", "lower": true, "samples", "how"}, …],
// "transfers": [{"name": "transfer.to_device.pinned", "bytes", "rates"}, …], "read_bytes",
// "read_rates", "widths"}. how: "float16", the vector type that was fastest; its width is in widths
// by the figure's name. Rates over the bytes of a transfer, and over those that are read from
// memory; without curves the transfers have one each, and nothing is read over sizes.
// seconds: about what it takes, besides building the programs. throws: device::DeviceError.
Json measure_device(device::Device& device, double seconds, const DevicePlan& plan = {});

// Of copying and computing that take so long alone and together: 1 if the shorter one is hidden, 0
// if they take turns.
double overlap_of(double copy_s, double compute_s, double together_s);

}  // namespace tabane::lab
