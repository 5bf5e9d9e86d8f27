#include "bench/remote.h"

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <utility>

#include "tabane/core/error.h"

namespace tabane::bench {

Remote::Remote(std::string name, const std::vector<std::string>& command, double within_seconds)
    : name_(std::move(name)) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw core::SystemError("socketpair", name_, errno);
  }
  socket_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int error = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(socket_);
    throw core::SystemError("start", command[0], error);
  }
  try {
    if (within_seconds > 0 && !replies_within(within_seconds)) {
      throw core::Error(name_ + fmt::format(" was not ready within {} s", within_seconds));
    }
    reply();
  } catch (...) {
    close(socket_);
    waitpid(pid_, nullptr, 0);
    throw;
  }
}

Remote::~Remote() {
  close(socket_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Remote::request(std::string_view verb, std::uint64_t count) {
  const std::string line = std::string(verb) + " " + std::to_string(count) + "\n";
  if (send(socket_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    throw core::SystemError("send", name_, errno);
  }
}

std::uint64_t Remote::reply() {
  const std::string line = read_line();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc{} || end != line.data() + line.size()) {
    throw core::Error(name_ + ": " + line);
  }
  return value;
}

bool Remote::replies_within(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
  for (;;) {
    const std::chrono::duration<double, std::milli> left = end - Clock::now();
    if (poll(&ready, 1, std::max(0, static_cast<int>(left.count()))) > 0) return true;
    if (Clock::now() >= end) break;
  }
  kill(pid_, SIGTERM);
  return false;
}

std::uint64_t Remote::ask(std::string_view verb, std::uint64_t count) {
  request(verb, count);
  return reply();
}

core::Work Remote::work(std::string verb) {
  return [this, verb = std::move(verb)](std::uint64_t iterations) { ask(verb, iterations); };
}

std::string Remote::read_line() {
  for (;;) {
    const std::size_t end = read_.find('\n');
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    std::array<char, 512> part;
    const ssize_t got = read(socket_, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw core::Error(name_ + " ended before its work was done");
    read_.append(part.data(), static_cast<std::size_t>(got));
  }
}

std::string beside_this_program(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto path = self.parent_path() / name;
  if (error || !std::filesystem::exists(path)) {
    throw core::SystemError("find", path.string(), ENOENT);
  }
  return path.string();
}

}  // namespace tabane::bench
