// AES in the memory of a coprocessor, without transfers.
#pragma once

#include "bench/bench.h"

namespace tabane::bench {

void ask_device_kernels(Panel& panel);

}  // namespace tabane::bench
