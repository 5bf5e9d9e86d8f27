#include "tabane/core/helper_process.h"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

// Starts the program with `socket` as standard input and output.
pid_t spawn_with(int socket, const HelperProgram& program) {
  const std::string& file = program.file.empty() ? program.command.at(0) : program.file;
  const std::vector<char*> arguments = pointers_to(program.command);
  const std::vector<std::string> environment = environment_with(program.variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, 0);
  posix_spawn_file_actions_adddup2(&actions, socket, 1);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, file.c_str(), &actions, nullptr, arguments.data(),
                                  pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw SystemError("start", file, failed);
  return pid;
}

}  // namespace

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced =
        std::ranges::any_of(variables, [&](const auto& own) { return own.first == name; });
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

HelperProcess::HelperProcess(const HelperProgram& program) : name_(program.name) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw SystemError("socketpair", name_, errno);
  }
  socket_.reset(ends[0]);
  const Descriptor theirs(ends[1]);
  pid_ = spawn_with(theirs.get(), program);
}

HelperProcess::~HelperProcess() {
  socket_.reset();
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void HelperProcess::lost(std::string_view phase) const {
  throw LostError(0, pid_, phase, name_ + " ended before its work was done");
}

void HelperProcess::send_line(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<std::size_t>(n);
    if (n < 0 && errno != EINTR) lost("a request");
  }
}

std::string HelperProcess::read_line() {
  for (;;) {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    std::array<char, 4096> part;
    const ssize_t n = recv(socket_.get(), part.data(), part.size(), 0);
    if (n > 0) received_.append(part.data(), static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR)) lost("an answer");
  }
}

bool HelperProcess::answers_within(double seconds) {
  using Steady = std::chrono::steady_clock;
  if (!received_.empty()) return true;
  const auto end = Steady::now() + std::chrono::duration<double>(seconds);
  pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  for (;;) {
    const std::chrono::duration<double, std::milli> left = end - Steady::now();
    if (poll(&ready, 1, std::max(0, static_cast<int>(left.count()))) > 0) return true;
    if (Steady::now() >= end) return false;
  }
}

void HelperProcess::terminate() { kill(pid_, SIGTERM); }

bool HelperProcess::has_ended_within(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (pid_ > 0) {
    const pid_t ended = waitpid(pid_, nullptr, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno == ECHILD)) pid_ = 0;
    if (pid_ == 0 || std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return pid_ == 0;
}

void HelperProcess::end_within(double seconds) {
  constexpr double kGraceSeconds = 1;
  socket_.reset();
  if (has_ended_within(seconds)) return;
  terminate();
  if (!has_ended_within(kGraceSeconds)) kill(pid_, SIGKILL);
}

}  // namespace tabane::core
