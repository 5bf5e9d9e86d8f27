#include "bench/remote.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::bench {

Remote::Remote(std::string name, const std::vector<std::string>& command, double within_seconds)
    : name_(std::move(name)), process_({.name = name_, .command = command}) {
  if (within_seconds > 0 && !replies_within(within_seconds)) {
    throw core::Error("{} was not ready within {} s", name_, within_seconds);
  }
  reply();
}

void Remote::request(std::string_view verb, std::uint64_t count) {
  process_.send_line(fmt::format("{} {}", verb, count));
}

std::uint64_t Remote::reply() {
  const std::string line = process_.read_line();
  if (const auto value = core::number_in<std::uint64_t>(line)) return *value;
  throw core::Error("{}: {}", name_, line);
}

bool Remote::replies_within(double seconds) {
  if (process_.answers_within(seconds)) return true;
  process_.terminate();
  return false;
}

std::uint64_t Remote::ask(std::string_view verb, std::uint64_t count) {
  request(verb, count);
  return reply();
}

core::Work Remote::work(std::string verb) {
  return [this, verb = std::move(verb)](std::uint64_t iterations) { ask(verb, iterations); };
}

std::string beside_this_program(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

}  // namespace tabane::bench
