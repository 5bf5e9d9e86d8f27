#include "tabane/team/experiment.h"

#include <algorithm>
#include <fstream>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/team/places.h"

namespace tabane::team {
namespace {

// Ticks that the hypervisor gave to others while this machine had work: the eighth number of the
// first line. 0 if the system does not tell.
double stolen_ticks() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  double ticks = 0;
  for (int i = 0; i < 8; ++i) file >> ticks;
  return file ? ticks : 0;
}

// Threads of the machine that run or could, the caller's too: "0.20 0.18 0.12 1/80 11206". 1 if the
// system does not tell.
int threads_ready() {
  std::ifstream file("/proc/loadavg");
  double average = 0;
  for (int i = 0; i < 3; ++i) file >> average;
  int ready = 1;
  file >> ready;
  return file ? ready : 1;
}

}  // namespace

Disturbance::Disturbance() : stolen_at_first_(stolen_ticks()) {}

bool Disturbance::now() const { return threads_ready() > 1 || stolen_ticks() > stolen_at_first_; }

double seconds_to_start(JobOptions options, bool forked) {
  options.forked = forked;
  const Job nothing{.once_per_worker = true,
                    .do_tasks = [](Progress&, std::size_t, std::size_t) {}};
  const std::uint64_t begin = now_ns();
  run_job(nothing, options);
  return seconds_since(begin);
}

SpreadOrder::SpreadOrder(std::size_t n) : n_(n) {
  constexpr double kGoldenSection = 0.6180339887498949;
  step_ =
      std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(n) * kGoldenSection));
  while (std::gcd(step_, n_) != 1) ++step_;
}

std::size_t SpreadOrder::operator()(std::size_t k) const {
  // The product is wider than a word.
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>(static_cast<Wide>(k) * step_ % n_);
}

TaskExperiment::TaskExperiment(std::size_t n, Sample sample, const JobOptions& like)
    : n_(n), sample_(std::move(sample)), like_(like) {
  if (n == 0) throw core::UsageError("no sample can be taken of no tasks: n must be at least 1");
  like_.measure_memory = false;
}

JobOptions TaskExperiment::options_for(Shape shape, bool forked) const {
  JobOptions options = like_;
  options.processes = shape.processes;
  options.threads = shape.threads;
  options.forked = forked;
  return options;
}

// One process is forked too: what the tasks change must not reach the caller.
Trial TaskExperiment::run(Shape shape, std::size_t count) {
  count = std::clamp<std::size_t>(count, 1, n_);
  const SpreadOrder order(n_);
  const SharedBlock block(count * sizeof(double), "task times");
  auto* const seconds = reinterpret_cast<double*>(block.data());
  const std::uint64_t begin_ns = now_ns();
  const JobReport report = run_job(
      {.tasks = count,
       .begin_together = true,
       .do_tasks = [&](Progress& at, std::size_t begin,
                       std::size_t end) { sample_.do_tasks(at, begin, end, order, seconds); }},
      options_for(shape, true));
  return {.seconds = report.work_seconds,
          .total_seconds = seconds_since(begin_ns),
          .task_seconds = {seconds, seconds + count}};
}

double TaskExperiment::start_seconds(Shape shape) {
  const bool forked = shape.processes > 1;
  return seconds_to_start(options_for(shape, forked), forked);
}

double TaskExperiment::result_seconds() {
  if (!sample_.write) return 0;
  ResultFile file(most_result_bytes(std::nullopt));
  struct Written {
    std::uint64_t ns = 0, copies = 0;
  };
  const SharedBlock block(sizeof(Written), "shared memory of a team");
  auto& written = *new (block.data()) Written;
  const std::size_t task = n_ / 2;
  run_job({.tasks = 1,
           .do_tasks =
               [&](Progress& at, std::size_t, std::size_t) {
                 if (at.begins(task)) written.ns = sample_.write(file, task, written.copies);
               }},
          options_for({1, 1}, true));
  const std::uint64_t begin = now_ns();
  for (const std::span<const std::byte> bytes : file.read(written.copies)) sample_.read(bytes);
  return static_cast<double>(written.ns + now_ns() - begin) * 1e-9 /
         static_cast<double>(written.copies);
}

Choice choose_tasks(std::size_t n, Sample sample, const JobOptions& like, const Limits& limits) {
  TaskExperiment experiment(n, std::move(sample), like);
  const std::uint64_t begin = now_ns();
  Choice choice = choose_shape(known_topology(), n, experiment, limits);
  choice.sample_seconds = seconds_since(begin);
  return choice;
}

}  // namespace tabane::team
