#include "bench/solver_run.h"

#include <fmt/format.h>

#include <utility>

#include "bench/command.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::bench {

Entrant solver_run(const Settings& settings, const std::filesystem::path& json,
                   const std::string& name, const std::string& arguments, double amount,
                   std::shared_ptr<lab::Json> last, const std::string& launcher) {
  const std::string text =
      fmt::format("{}{} {} -q --json={}", launcher, settings.program, arguments, json.string());
  Entrant entrant{.name = name, .amount = amount, .how = text};
  if (settings.program.empty()) entrant.missing = "tabane was not found";
  entrant.timed = [text, json, last](std::uint64_t) {
    run_command(shell(text));
    lab::Json record = lab::Json::parse(core::read_file(json));
    if (!record.at("passed").get<bool>()) throw core::Error(text + ": the check failed");
    const double seconds = record.at("seconds").get<double>();
    if (last) *last = std::move(record);
    return seconds;
  };
  return entrant;
}

}  // namespace tabane::bench
