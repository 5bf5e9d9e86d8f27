// The whole pair counting of the report process-thread, by the program itself.
#pragma once

#include "bench/bench.h"

namespace tabane::bench {

void ask_fhe_pairs(Panel& panel);

}  // namespace tabane::bench
