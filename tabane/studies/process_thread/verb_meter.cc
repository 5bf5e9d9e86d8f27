#include "tabane/studies/process_thread/verb_meter.h"

#include <sys/prctl.h>

#include <csignal>
#include <iostream>

#include "tabane/lab/commands/run_plan.h"
#include "tabane/program/run_options.h"
#include "tabane/studies/process_thread/process_thread.h"

namespace tabane::program {
namespace {

// The library before all others that are preloaded.
core::Variables preloading(const std::string& library) {
  if (library.empty()) return {};
  const std::string others = own_variable("LD_PRELOAD").value_or("");
  return {{"LD_PRELOAD", others.empty() ? library : library + ":" + others}};
}

core::HelperProgram meter_program(const std::string& allocator,
                                  const std::vector<std::string>& arguments) {
  const std::string library = find_allocator(allocator, library_directories(own_variable));
  std::vector<std::string> command = {"tabane"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return {.name = "a measurement with " + allocator,
          .command = std::move(command),
          .file = "/proc/self/exe",
          .variables = preloading(library)};
}

}  // namespace

MeterProcess::MeterProcess(const std::string& allocator, const std::vector<std::string>& arguments)
    : process_(meter_program(allocator, arguments)) {}

lab::Json MeterProcess::ask(const lab::Json& request) {
  process_.send_line(request.dump());
  return lab::Json::parse(process_.read_line());
}

void serve_meter() {
  // Ctrl-C reaches the whole group: the study decides what it means.
  std::signal(SIGINT, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  lab::ProcessThreadMeter meter;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << meter.answer(lab::Json::parse(line)).dump() << std::endl;
}

}  // namespace tabane::program
