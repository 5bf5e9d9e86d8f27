#include "tabane/tools/explain/observe.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <string_view>
#include <utility>

#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/statistics.h"
#include "tabane/lab/environment.h"

namespace tabane::lab::explain {
namespace {

constexpr double kBetweenLooks = 10e-3;   // seconds
constexpr double kShareOfLooking = 0.02;  // of the watching thread's time
constexpr std::size_t kLooksPerFiles = 5;

// By parts of the name of the kernel's function in which a thread waits.
constexpr std::pair<Doing, std::string_view> kWaits[] = {
    {Doing::lock, "futex"},          {Doing::pipe, "pipe_"},        {Doing::child, "do_wait"},
    {Doing::child, "kernel_wait"},   {Doing::sleep, "nanosleep"},   {Doing::sleep, "do_pause"},
    {Doing::network, "poll"},        {Doing::network, "do_select"}, {Doing::network, "sock"},
    {Doing::network, "skb"},         {Doing::network, "inet"},      {Doing::network, "tcp"},
    {Doing::network, "unix_stream"}, {Doing::disk, "io_schedule"},  {Doing::disk, "folio_wait"},
    {Doing::disk, "bit_wait"},       {Doing::disk, "fsync"},        {Doing::disk, "jbd2"}};

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
    : files_(std::move(files)), parent_(gettid()), thread_([this] { run(); }) {}

Watch::~Watch() { stop(); }

void Watch::stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void Watch::run() {
  core::Clock& clock = core::tick_clock();
  const double start = clock.now();
  while (!stop_) {
    const double begin = clock.now();
    const core::RunningShare running;
    look(begin - start);
    const double used = running.share() * (clock.now() - begin);
    const double pause = std::max(kBetweenLooks, used / kShareOfLooking);
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
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
  stop();
  double queue = 0;
  for (const auto& [thread, track] : tracks_) {
    observed.threads.push_back(track.seen);
    queue += track.queue_seconds;
  }
  if (!tracks_.empty() && files_.exists("/proc/self/schedstat")) observed.queue_delay = queue;
  observed.moments = std::move(moments_);
  open_files.merge(open_files_);
}

// ---- around a run ----

namespace {

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", in microseconds.
std::optional<double> pressure(const core::SystemFiles& files, const char* what) {
  const auto line = files.field(std::string("/proc/pressure/") + what, "some");
  const std::size_t at = line ? line->find("total=") : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  const auto total = core::leading_number(line->substr(at + 6));
  return total ? std::optional(1e-6 * *total) : std::nullopt;
}

constexpr std::optional<double> Observed::*kCounters[] = {
    &Observed::read_bytes,   &Observed::written_bytes,   &Observed::passed_bytes,
    &Observed::pressure_cpu, &Observed::pressure_memory, &Observed::pressure_io,
    &Observed::stolen,       &Observed::throttled};

}  // namespace

Around::Around(core::SystemFiles files)
    : files_(std::move(files)), others_(files_), before_(count()) {}

Around::Counted Around::count() const {
  Counted now;
  constexpr const char* kFile = "/proc/self/io";
  now.counters.read_bytes = files_.field_number(kFile, "read_bytes");
  now.counters.written_bytes = files_.field_number(kFile, "write_bytes");
  const auto read = files_.field_number(kFile, "rchar");
  if (read) now.counters.passed_bytes = *read + files_.field_number(kFile, "wchar").value_or(0);
  now.counters.pressure_cpu = pressure(files_, "cpu");
  now.counters.pressure_memory = pressure(files_, "memory");
  now.counters.pressure_io = pressure(files_, "io");
  if (const auto ticks = cpu_ticks(files_)) {
    now.counters.stolen = ticks->back();
    now.ticks = std::accumulate(ticks->begin(), ticks->end(), 0.0);
  }
  if (const auto throttled = core::read_cgroup_throttling(files_))
    now.counters.throttled = throttled->seconds;
  return now;
}

Observed Around::observed(const ChildRun& run) const {
  Counted now = count();
  Observed& seen = now.counters;
  for (const auto counter : kCounters) {
    const std::optional<double> before = before_.counters.*counter;
    if (before && seen.*counter) seen.*counter = std::max(0.0, *(seen.*counter) - *before);
  }
  for (const auto share :
       {&Observed::pressure_cpu, &Observed::pressure_memory, &Observed::pressure_io})
    if (seen.*share) *(seen.*share) /= std::max(run.seconds, 1e-9);
  if (seen.stolen) *seen.stolen /= std::max(now.ticks - before_.ticks, 1.0);
  seen.seconds = {run.seconds};
  seen.user = run.user_seconds;
  seen.system = run.system_seconds;
  seen.minor_faults = run.minor_faults;
  seen.major_faults = run.major_faults;
  seen.voluntary_switches = run.voluntary_switches;
  seen.involuntary_switches = run.involuntary_switches;
  seen.peak_bytes = run.peak_bytes;
  seen.others_pus = others_.busy_pus();
  seen.counts = run.counts;
  return seen;
}

namespace {

constexpr double Observed::*kNumbers[] = {&Observed::user,
                                          &Observed::system,
                                          &Observed::minor_faults,
                                          &Observed::major_faults,
                                          &Observed::voluntary_switches,
                                          &Observed::involuntary_switches};
constexpr std::optional<double> Observed::*kPerhaps[] = {
    &Observed::peak_bytes,      &Observed::queue_delay, &Observed::throttled,
    &Observed::stolen,          &Observed::others_pus,  &Observed::pressure_cpu,
    &Observed::pressure_memory, &Observed::pressure_io, &Observed::read_bytes,
    &Observed::written_bytes,   &Observed::passed_bytes};

}  // namespace

Observed median_of(const std::vector<Observed>& runs) {
  Observed all;
  const Observed* most_looked_at = nullptr;
  std::vector<std::pair<const char*, std::vector<double>>> counts;
  for (const Observed& run : runs) {
    all.seconds.insert(all.seconds.end(), run.seconds.begin(), run.seconds.end());
    if (most_looked_at == nullptr || run.moments.size() > most_looked_at->moments.size())
      most_looked_at = &run;
    for (const auto& [name, value] : run.counts) {
      auto at = std::ranges::find(counts, std::string_view(name),
                                  [](const auto& each) { return std::string_view(each.first); });
      if (at == counts.end()) at = counts.insert(at, {name, {}});
      at->second.push_back(value);
    }
  }
  if (most_looked_at != nullptr) {
    all.threads = most_looked_at->threads;
    all.moments = most_looked_at->moments;
  }
  for (const auto& [name, values] : counts) all.counts.emplace_back(name, core::median(values));
  const auto median_over = [&](const auto& value_of) -> std::optional<double> {
    std::vector<double> values;
    for (const Observed& run : runs)
      if (const std::optional<double> value = value_of(run)) values.push_back(*value);
    return values.empty() ? std::nullopt : std::optional(core::median(values));
  };
  for (const auto number : kNumbers)
    all.*number =
        median_over([&](const Observed& run) { return std::optional(run.*number); }).value_or(0);
  for (const auto perhaps : kPerhaps)
    all.*perhaps = median_over([&](const Observed& run) { return run.*perhaps; });
  return all;
}

}  // namespace tabane::lab::explain
