#include "tabane/tools/simulate/from_survey.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/core/topology.h"
#include "tabane/lab/record_head.h"

namespace tabane::simulate {
namespace {

// Figures of a survey; those that are asked for and missing are noted.
class Figures {
 public:
  explicit Figures(const lab::Record& survey) : survey_(survey) {}

  double value(const std::string& name) {
    const lab::Result* const found = survey_.find(name);
    if (found != nullptr && found->value && *found->value > 0) return *found->value;
    if (std::ranges::find(missing_, name) == missing_.end()) missing_.push_back(name);
    return 1;
  }
  // Microseconds for one of what the figure says per second.
  double inverse(const std::string& rate) { return 1e6 / value(rate); }
  // Microseconds for each doubling of the ranks.
  double per_log(const std::string& collective) {
    const double ranks = survey_.find(collective) == nullptr
                             ? 2
                             : survey_.find(collective)->number_detail("ranks").value_or(2);
    return 1e6 * value(collective) / std::log2(ranks);
  }
  void require_all() const {
    if (missing_.empty()) return;
    throw core::UsageError(
        "--from: the survey lacks {}: take one with all probes, by 'tabane survey'",
        fmt::join(missing_, ", "));
  }

 private:
  const lab::Record& survey_;
  std::vector<std::string> missing_;
};

// How much of a cache keeps what one core reads again and again: where as many bytes as fit into it
// are read, the rest comes from memory. All of it if the survey lacks the curve.
double kept_bytes(const lab::Record& survey, double cache) {
  const auto* const curves = lab::find_content<lab::Curves>(survey, "memory.bandwidth");
  if (curves == nullptr) return cache;
  const auto triad = std::ranges::find(curves->series, "triad", &lab::Curve::name);
  if (triad == curves->series.end()) return cache;
  double cached = 0, full = 0, size = 0, memory = 0;  // bandwidths: of a half, of `size`, of more
  for (std::size_t i = 0; i < triad->x.size(); ++i) {
    if (!(triad->y[i] > 0)) continue;
    if (triad->x[i] <= cache / 2) cached = triad->y[i];
    if (triad->x[i] <= 1.1 * cache) {
      size = triad->x[i];
      full = triad->y[i];
    }
    memory = triad->y[i];
  }
  if (size < 0.9 * cache || !(memory < cached)) return cache;
  return std::clamp(size - size * (1 / full - 1 / cached) / (1 / memory - 1 / cached), 0.0, cache);
}

// Of a machine's description, where the system may not have told it.
double number_of(const lab::Json& object, const char* key, double otherwise) {
  const lab::Json* const found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

// The share of a core in the last cache.
struct LastCache {
  std::string level = "l2";
  double bytes = 0;
};

LastCache last_cache_of(const lab::Record& survey, int cores) {
  const lab::Json& machine = survey.machine;
  LastCache last;
  double last_level = 0;
  for (const lab::Json& cache : machine.value("caches", lab::Json::array())) {
    const double level = number_of(cache, "level", 0), bytes = number_of(cache, "bytes", 0);
    if (level <= last_level || bytes <= 0) continue;
    last_level = level;
    const double sharing = number_of(cache, "pus_sharing", 1) * cores / machine.value("pus", cores);
    last = {fmt::format("l{}", level), kept_bytes(survey, bytes) / std::max(sharing, 1.0)};
  }
  return last;
}

// A pass over vectors, by the bandwidth of triads on all cores: from the last cache, or, what does
// not fit there, from memory. moved: bytes for each that has to be kept for the next pass.
std::string pass_law(Figures& figures, const LastCache& last, int cores, double moved) {
  const std::string triad = "memory.bandwidth.triad.";
  // In a cache the triad also reads the lines that it is going to write: 32 bytes for the 24 that
  // count.
  const double cached = 24.0 / 32 * cores * figures.inverse(triad + last.level + ".machine");
  const double memory = std::max(cached, cores * figures.inverse(triad + "dram.machine"));
  return fmt::format("{:.4g} x | {:.4g} x - {:.4g}", cached, memory,
                     (memory - cached) * last.bytes * moved);
}

}  // namespace

std::string machine_from(const lab::Record& survey, const Rates& rates) {
  if (survey.kind != lab::Kind::survey) {
    throw core::UsageError("--from: the record is no survey: give the survey.json of one");
  }
  Figures figures(survey);
  const int cores = survey.machine.value("cores", 1);
  const auto model = survey.machine.find("cpu_model");
  const bool has_name = model != survey.machine.end() && model->is_string();
  const double latency = 1e6 * figures.value("comm.latency");
  const double byte = figures.inverse("comm.bandwidth");
  const double broadcast = figures.per_log("comm.broadcast");
  const LastCache last = last_cache_of(survey, cores);
  const double peak = cores * figures.inverse("peak.fma.machine");
  std::string text = fmt::format(
      "# Of the survey of {}. A rank is a core; all cores are busy.\n"
      "name = {}\nshape = 1x{}\n"
      "# comm.latency and comm.bandwidth. Assumed: the sender is busy for half of the latency, "
      "and\n"
      "# as long as the receiver copies.\n"
      "send.latency = {:.4g}\nsend.occupancy = {:.4g} + {:.4g} x\nrecv.copy = {:.4g} x\n"
      "broadcast.latency = {:.4g} lg + {:.4g} x\nbroadcast.occupancy = {:.4g} lg + {:.4g} x\n"
      "barrier = {:.4g} lg\nsum = {:.4g} lg\n"
      "# clock.read_overhead\n"
      "clock = {:.4g}\n"
      "# clock.core_rate; assumed: an operation a cycle.\n"
      "compute = {:.4g} op\n"
      "# Triads on all cores in the last cache and, for what does not fit there, in memory. A\n"
      "# stencil takes simd.dot.l1 at least, and moves 28 bytes for 24 that it has.\n"
      "compute.column = {}\n"
      "compute.stencil = {:.4g} op | {}\n"
      "# peak.fma.machine; assumed: logarithms and arc tangents take four times as long.\n"
      "compute.coupling = {:.4g} op\n",
      survey.started, has_name ? model->get<std::string>() : "this machine", cores, latency,
      latency / 2, byte, byte, broadcast, byte, broadcast, byte, figures.per_log("comm.barrier"),
      figures.per_log("comm.all_reduce"), 1e-3 * figures.value("clock.read_overhead"),
      figures.inverse("clock.core_rate"), pass_law(figures, last, cores, 1),
      figures.inverse("simd.dot.l1"), pass_law(figures, last, cores, 28.0 / 24), 4 * peak);
  figures.require_all();
  if (rates.empty()) {
    return text +
           fmt::format(
               "# Assumed: products at peak.fma.machine. Where the survey was taken,\n"
               "# tabane simulate --from measures them, if 32 MB of memory a core are free.\n"
               "compute.product = {:.4g} op\n",
               peak);
  }
  text += "# Measured now, on all cores.\n";
  for (const auto& [kind, law] : rates) text += fmt::format("compute.{} = {}\n", kind, law);
  return text;
}

bool is_of_this_machine(const lab::Record& survey) {
  const lab::Json here = lab::describe_machine(core::Topology::detect());
  return std::ranges::all_of(std::array{"name", "cpu_model", "cores"}, [&](const char* key) {
    return survey.machine.contains(key) && survey.machine.at(key) == here.at(key);
  });
}

}  // namespace tabane::simulate
