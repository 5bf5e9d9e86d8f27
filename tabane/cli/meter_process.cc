#include "tabane/cli/meter_process.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "tabane/cli/allocator.h"
#include "tabane/cli/run_options.h"
#include "tabane/lab/studies/process_thread.h"

namespace tabane::cli {
namespace {

// The environment of this process with the library put before all others.
std::vector<std::string> environment_with(const std::string& library) {
  constexpr const char* kPreload = "LD_PRELOAD=";
  std::vector<std::string> variables;
  std::string preload = library;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (library.empty() || !text.starts_with(kPreload)) {
      variables.push_back(text);
    } else if (text.size() > std::strlen(kPreload)) {
      preload.append(":").append(text, std::strlen(kPreload));
    }
  }
  if (!library.empty()) variables.push_back(kPreload + preload);
  return variables;
}

core::HelperProgram meter_program(const std::string& allocator,
                                  const std::vector<std::string>& arguments) {
  const std::string library = find_allocator(allocator, library_directories(own_variable));
  std::vector<std::string> command = {"tabane"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return {.name = "a measurement with " + allocator,
          .command = std::move(command),
          .file = "/proc/self/exe",
          .variables = environment_with(library)};
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

}  // namespace tabane::cli
