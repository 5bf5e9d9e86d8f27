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
constexpr int kLooksPerFiles = 5;

// By parts of the name of the kernel's function in which a thread waits.
constexpr std::pair<Doing, std::string_view> kWaits[] = {
    {Doing::lock, "futex"},          {Doing::pipe, "pipe_"},         {Doing::child, "do_wait"},
    {Doing::child, "kernel_wait"},   {Doing::sleep, "nanosleep"},    {Doing::sleep, "do_pause"},
    {Doing::network, "poll"},        {Doing::network, "do_select"},  {Doing::network, "sock"},
    {Doing::network, "skb"},         {Doing::network, "inet"},       {Doing::network, "tcp"},
    {Doing::network, "unix_stream"}, {Doing::network, "wait_woken"}, {Doing::network, "sk_wait"},
    {Doing::disk, "io_schedule"},    {Doing::disk, "folio_wait"},    {Doing::disk, "bit_wait"},
    {Doing::disk, "fsync"},          {Doing::disk, "jbd2"}};

// Never runnable: one look does not tell it from running.
Doing doing_of(char state, const std::string& function) {
  if (state == 'R') return Doing::running;
  for (const auto& [doing, part] : kWaits)
    if (function.find(part) != std::string::npos) return doing;
  return state == 'D' ? Doing::disk : Doing::other;
}

}  // namespace

Watch::Watch() : parent_(gettid()), thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Watch::run(const std::stop_token& stop) {
  core::Clock& clock = core::tick_clock();
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  const double start = clock.now();
  while (!stop.stop_requested()) {
    const double begin = clock.now();
    const core::RunningShare running;
    Moment moment{.seconds = begin - start};
    look_at_children("/proc/self/task/" + std::to_string(parent_), moment.threads);
    if (moment.threads(Doing::running) == 1) ++runs_->alone;
    if (moment.threads.all() > 0) moments_.push_back(moment), ++looks_;
    const double used = running.share() * (clock.now() - begin);
    const double pause = std::max(kBetweenLooks, used / kShareOfLooking);
    stopped.wait_for(lock, stop, std::chrono::duration<double>(pause), [] { return false; });
  }
}

void Watch::look_at_children(const std::string& task, Looks& now) {
  std::istringstream children(files_.text(task + "/children").value_or(""));
  for (pid_t child = 0; children >> child;)
    if (getsid(child) != getsid(0)) look_at_process("/proc/" + std::to_string(child), now);
}

void Watch::look_at_process(const std::string& process, Looks& now) {
  if (looks_ % kLooksPerFiles == 1) look_for_files(process + "/fd/");
  for (const std::string& name : files_.names(process + "/task")) {
    const std::string task = process + "/task/" + name;
    look_at_thread(task + "/", static_cast<pid_t>(std::atoi(name.c_str())), now);
    look_at_children(task, now);
  }
}

void Watch::look_at_thread(const std::string& folder, pid_t thread, Looks& now) {
  const std::string stat = files_.text(folder + "stat").value_or("");
  const std::size_t open = stat.find('('), close = stat.rfind(')');
  if (open == std::string::npos || close + 2 >= stat.size()) return;
  const char state = stat[close + 2];
  if (state == 'Z' || state == 'X') return;  // it is ending
  auto& [seen, queued] = tracks_[thread];
  double ran = 0, waited = 0;  // nanoseconds since it started
  std::istringstream(files_.text(folder + "schedstat").value_or("")) >> ran >> waited;
  const double more = 1e-9 * ran - seen.cpu_seconds, more_queued = 1e-9 * waited - queued;
  Doing doing = doing_of(state, files_.text(folder + "wchan").value_or(""));
  if (doing == Doing::running && seen.looks.all() > 0 && more_queued > more)
    doing = Doing::runnable;
  if (doing == Doing::running) runs_ = &seen;
  ++seen.looks(doing);
  ++now(doing);
  seen.name = stat.substr(open + 1, close - open - 1);
  seen.cpu_seconds = 1e-9 * ran;
  queued = 1e-9 * waited;
}

void Watch::look_for_files(const std::string& folder) {
  for (const std::string& name : files_.names(folder)) {
    std::error_code gone;
    const auto file = std::filesystem::read_symlink(folder + name, gone);
    if (!gone && std::filesystem::is_regular_file(file, gone)) open_files_.insert(file);
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
