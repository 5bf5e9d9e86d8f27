#include "tabane/tools/explain/observe.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <string_view>
#include <utility>

#include "tabane/core/clock.h"

namespace tabane::lab::explain {
namespace {

constexpr double kBetweenLooks = 10e-3;   // seconds
constexpr double kShareOfLooking = 0.02;  // of the watching thread's time
constexpr std::size_t kLooksPerFiles = 5;

// By parts of the name of the kernel's function in which a thread waits.
constexpr std::pair<Doing, std::string_view> kWaits[] = {
    {Doing::lock, "futex"},          {Doing::pipe, "pipe_"},         {Doing::child, "do_wait"},
    {Doing::child, "kernel_wait"},   {Doing::sleep, "nanosleep"},    {Doing::sleep, "do_pause"},
    {Doing::network, "poll"},        {Doing::network, "do_select"},  {Doing::network, "sock"},
    {Doing::network, "skb"},         {Doing::network, "inet"},       {Doing::network, "tcp"},
    {Doing::network, "unix_stream"}, {Doing::network, "wait_woken"}, {Doing::network, "sk_wait"},
    {Doing::disk, "io_schedule"},    {Doing::disk, "folio_wait"},    {Doing::disk, "bit_wait"},
    {Doing::disk, "fsync"},          {Doing::disk, "jbd2"}};

Doing doing_of(char state, const std::string& folder, const core::SystemFiles& files) {
  if (state == 'R') return Doing::running;
  const std::string function = files.text(folder + "wchan").value_or("");
  for (const auto& [doing, part] : kWaits)
    if (function.find(part) != std::string::npos) return doing;
  return state == 'D' ? Doing::disk : Doing::other;
}

// Null if it is ending or gone.
std::optional<ThreadLook> look_at(pid_t process, pid_t thread, const core::SystemFiles& files) {
  const std::string folder =
      "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/";
  const std::string stat = files.text(folder + "stat").value_or("");
  const std::size_t open = stat.find('('), close = stat.rfind(')');
  if (open == std::string::npos || close + 2 >= stat.size()) return std::nullopt;
  const char state = stat[close + 2];
  if (state == 'Z' || state == 'X') return std::nullopt;
  ThreadLook look{.process = process,
                  .thread = thread,
                  .name = stat.substr(open + 1, close - open - 1),
                  .doing = doing_of(state, folder, files)};
  std::istringstream times(files.text(folder + "schedstat").value_or(""));
  if (double ran = 0, waited = 0; times >> ran >> waited) {
    look.cpu_seconds = 1e-9 * ran;
    look.queue_seconds = 1e-9 * waited;
  }
  return look;
}

void look_below(pid_t process, const core::SystemFiles& files, std::vector<ThreadLook>& looks) {
  const std::string folder = "/proc/" + std::to_string(process) + "/task";
  for (const std::string& name : files.names(folder)) {
    const auto thread = static_cast<pid_t>(std::atoi(name.c_str()));
    if (auto look = look_at(process, thread, files)) looks.push_back(std::move(*look));
    std::istringstream children(files.text(folder + "/" + name + "/children").value_or(""));
    for (pid_t child = 0; children >> child;) look_below(child, files, looks);
  }
}

}  // namespace

std::vector<ThreadLook> look_at_children_of(pid_t thread, const core::SystemFiles& files) {
  std::vector<ThreadLook> looks;
  std::istringstream children(
      files.text("/proc/self/task/" + std::to_string(thread) + "/children").value_or(""));
  for (pid_t child = 0; children >> child;) {
    if (getsid(child) != getsid(0)) look_below(child, files, looks);
  }
  return looks;
}

Watch::Watch(core::SystemFiles files)
    : files_(std::move(files)),
      parent_(gettid()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Watch::run(const std::stop_token& stop) {
  core::Clock& clock = core::tick_clock();
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  const double start = clock.now();
  while (!stop.stop_requested()) {
    const double begin = clock.now();
    const core::RunningShare running;
    look(begin - start);
    const double used = running.share() * (clock.now() - begin);
    const double pause = std::max(kBetweenLooks, used / kShareOfLooking);
    stopped.wait_for(lock, stop, std::chrono::duration<double>(pause), [] { return false; });
  }
}

void Watch::look(double seconds) {
  const std::vector<ThreadLook> looks = look_at_children_of(parent_, files_);
  if (looks.empty()) return;
  Moment moment{.seconds = seconds};
  ThreadSeen* runs = nullptr;
  for (const ThreadLook& look : looks) {
    Track& track = tracks_[look.thread];
    ThreadSeen& seen = track.seen;
    const double ran = look.cpu_seconds - seen.cpu_seconds;
    const double waited = look.queue_seconds - track.queue_seconds;
    const bool waits = look.doing == Doing::running && seen.seen() > 0 && waited > ran;
    const auto doing = static_cast<std::size_t>(waits ? Doing::runnable : look.doing);
    ++seen.looks[doing];
    ++moment.threads[doing];
    if (doing == static_cast<std::size_t>(Doing::running)) runs = &seen;
    seen.name = look.name;
    seen.process = look.process;
    seen.cpu_seconds = look.cpu_seconds;
    track.queue_seconds = look.queue_seconds;
  }
  if (moment(Doing::running) == 1) ++runs->alone;
  if (moments_.size() % kLooksPerFiles == 1) look_for_files(looks);
  moments_.push_back(moment);
  ++looks_;
}

void Watch::look_for_files(const std::vector<ThreadLook>& looks) {
  for (const ThreadLook& look : looks) {
    if (look.thread != look.process) continue;
    const std::string folder = "/proc/" + std::to_string(look.process) + "/fd/";
    for (const std::string& name : files_.names(folder)) {
      std::error_code gone;
      const auto file = std::filesystem::read_symlink(folder + name, gone);
      if (!gone && std::filesystem::is_regular_file(file, gone)) open_files_.insert(file);
    }
  }
}

void Watch::finish(Observed& observed, std::set<std::string>& open_files) {
  thread_.request_stop();
  thread_.join();
  // Threads of an earlier run are the same if they have the name, in the order of their start.
  std::vector<ThreadSeen*> earlier;
  observed.threads.reserve(observed.threads.size() + tracks_.size());
  for (ThreadSeen& seen : observed.threads) earlier.push_back(&seen);
  for (const auto& [thread, track] : tracks_) {
    const auto same = std::ranges::find(earlier, track.seen.name, &ThreadSeen::name);
    if (same == earlier.end()) {
      observed.threads.push_back(track.seen);
      continue;
    }
    for (std::size_t i = 0; i < kDoings; ++i) (*same)->looks[i] += track.seen.looks[i];
    (*same)->alone += track.seen.alone;
    (*same)->cpu_seconds += track.seen.cpu_seconds;
    earlier.erase(same);
  }
  const double before = observed.moments.empty() ? 0 : observed.moments.back().seconds;
  for (Moment& moment : moments_) {
    moment.seconds += before + kBetweenLooks;
    observed.moments.push_back(moment);
  }
  open_files.merge(open_files_);
}

}  // namespace tabane::lab::explain
