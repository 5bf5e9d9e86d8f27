// Commands that people run, tuned and beside that searched exhaustively.
#pragma once

#include "bench/bench.h"

namespace tabane::bench {

void ask_tune_commands(Panel& panel);

}  // namespace tabane::bench
