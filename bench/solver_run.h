// A verb of tabane that solves something and says how long that took, as an entrant.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "bench/bench.h"

namespace tabane::bench {

// arguments: the verb and its options, apart from --json, which goes to `json`. last: gets the
// record of the last run. launcher: stands before the program. The seconds are those that the
// program tells; a run whose check fails ends the bench.
Entrant solver_run(const Settings& settings, const std::filesystem::path& json,
                   const std::string& name, const std::string& arguments, double amount,
                   std::shared_ptr<lab::Json> last = {}, const std::string& launcher = "");

}  // namespace tabane::bench
