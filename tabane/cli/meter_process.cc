#include "tabane/cli/meter_process.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "tabane/cli/allocator.h"
#include "tabane/core/error.h"
#include "tabane/lab/studies/process_thread.h"

namespace tabane::cli {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

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
      preload += ":" + text.substr(std::strlen(kPreload));
    }
  }
  if (!library.empty()) variables.push_back(kPreload + preload);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// Starts this program with `socket` as standard input and output.
pid_t spawn_with(int socket, std::vector<std::string> arguments,
                 std::vector<std::string> environment) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, kThisProgram, &actions, nullptr, pointers(arguments).data(),
                                 pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw core::SystemError("posix_spawn", kThisProgram, failed);
  return pid;
}

}  // namespace

MeterProcess::MeterProcess(const std::string& allocator, const std::vector<std::string>& arguments)
    : allocator_(allocator) {
  const std::string library = find_allocator(allocator, library_directories(own_variable));
  std::vector<std::string> command = {"tabane"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw core::SystemError("socketpair", "a measuring process", errno);
  socket_ = ends[0];
  try {
    pid_ = spawn_with(ends[1], std::move(command), environment_with(library));
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
}

MeterProcess::~MeterProcess() {
  close(socket_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

lab::Json MeterProcess::ask(const lab::Json& request) {
  const std::string line = request.dump() + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<std::size_t>(n);
    if (n < 0 && errno != EINTR)
      throw core::LostError(0, pid_, "a request", "it runs with " + allocator_);
  }
  return lab::Json::parse(read_line());
}

std::string MeterProcess::read_line() {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    char received[4096];
    const ssize_t n = recv(socket_, received, sizeof received, 0);
    if (n > 0) buffer_.append(received, static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR))
      throw core::LostError(0, pid_, "a measurement", "it ran with " + allocator_);
  }
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
