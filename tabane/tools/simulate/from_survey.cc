#include "tabane/tools/simulate/from_survey.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "tabane/core/error.h"

namespace tabane::simulate {
namespace {

// Figures of a survey; those that are asked for and missing are noted.
class Figures {
 public:
  explicit Figures(const lab::Record& survey) : survey_(survey) {}

  double value(const char* name) {
    const lab::Result* const found = survey_.find(name);
    if (found != nullptr && found->value && *found->value > 0) return *found->value;
    missing_.push_back(name);
    return 1;
  }
  // Microseconds for one of what the figure says per second.
  double inverse(const char* rate) { return 1e6 / value(rate); }
  // Microseconds for each doubling of the ranks.
  double per_log(const char* collective) {
    const double ranks = survey_.find(collective) == nullptr
                             ? 2
                             : survey_.find(collective)->number_detail("ranks").value_or(2);
    return 1e6 * value(collective) / std::log2(ranks);
  }
  void require_all() const {
    if (missing_.empty()) return;
    throw core::UsageError(
        fmt::format("--from: the survey lacks {}: take one with all probes, by 'tabane survey'",
                    fmt::join(missing_, ", ")));
  }

 private:
  const lab::Record& survey_;
  std::vector<std::string_view> missing_;
};

}  // namespace

std::string machine_from(const lab::Record& survey) {
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
  const double product = cores * figures.inverse("peak.fma.machine");
  const std::string text = fmt::format(
      "# Of the survey of {}. A rank is a core; all cores are busy.\n"
      "name = {}\nshape = 1x{}\n"
      "# comm.latency and comm.bandwidth. Assumed: the sender is busy for half of the latency, "
      "and\n"
      "# as long as the receiver copies.\n"
      "send.latency = {:.4g}\nsend.occupancy = {:.4g} + {:.4g} x\nrecv.copy = {:.4g} x\n"
      "broadcast.latency = {:.4g} lg + {:.4g} x\nbroadcast.occupancy = {:.4g} lg + {:.4g} x\n"
      "barrier = {:.4g} lg\nsum = {:.4g} lg\n"
      "# clock.core_rate; assumed: an operation a cycle.\n"
      "compute = {:.4g} op\n"
      "# peak.fma.machine\n"
      "compute.product = {:.4g} op\n"
      "# Bandwidth of a triad on all cores in L2, and in main memory: for arrays that fit a "
      "cache,\n"
      "# take memory.bandwidth.triad.l3.machine\n"
      "compute.column = {:.4g} x\ncompute.stencil = {:.4g} x\n",
      survey.started, has_name ? model->get<std::string>() : "this machine", cores, latency,
      latency / 2, byte, byte, broadcast, byte, broadcast, byte, figures.per_log("comm.barrier"),
      figures.per_log("comm.all_reduce"), figures.inverse("clock.core_rate"), product,
      cores * figures.inverse("memory.bandwidth.triad.l2.machine"),
      cores * figures.inverse("memory.bandwidth.triad.dram.machine"));
  figures.require_all();
  return text;
}

}  // namespace tabane::simulate
