#pragma once

#include "bench/bench.h"

namespace tabane::bench {

// Asks about the measuring of commands: the topic "time", and what tuning rests on.
void ask_time(Panel& panel);

}  // namespace tabane::bench
