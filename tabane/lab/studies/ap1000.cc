#include "tabane/lab/studies/ap1000.h"

#include <fmt/format.h>

#include "tabane/lab/record_head.h"

namespace tabane::lab {
namespace {

constexpr About kAbout = {
    "ap1000", "Messages, broadcast, global functions, gathering and barriers",
    "T. Shimizu, T. Horie, H. Ishihata (Fujitsu Laboratories): Performance evaluation of the "
    "AP1000 (64 to 512 SPARC cells), 1992"};

std::string command_line(const Ap1000Options& options) {
  static constexpr const char* kTransports[] = {"", "shm", "mpi"};  // "": chosen
  const auto transport = static_cast<std::size_t>(options.ranks.transport);
  return CommandLine("tabane study ap1000")
      .add("--quick", options.quick)
      .add("--transport", std::string(kTransports[transport]))
      .add("-n", options.ranks.most_ranks);
}

std::string what_of(const Point& point) {
  const std::string part = point.text("part"), way = point.text("way");
  return part == "pingpong" ? "half a round trip, " + way : part + ", " + way;
}

void note_unmeasured(Campaign& campaign, double most_seconds) {
  const auto [missing, planned] = campaign.unmeasured();
  if (missing == 0) return;
  campaign.skip("ap1000",
                fmt::format("{} of {} operations: the {:.0f} s that it may take were over; ask for "
                            "fewer ranks with -n",
                            missing, planned, most_seconds));
}

}  // namespace

std::optional<Record> run_ap1000(const core::Topology& topology, const Ap1000Options& options,
                                 const Hooks& hooks) {
  require_this_machine(topology);
  const double usual = options.quick ? 20 : 120;
  const double budget = options.budget_seconds > 0 ? options.budget_seconds : usual;
  const double most = options.most_seconds > 0 ? options.most_seconds : 2 * budget;
  Record record = begin_record(topology, Kind::study, kAbout, command_line(options), options.quick);
  std::optional<Record> shown;
  with_ranks(topology, options.ranks, [&](const RankRunner& runner) {
    Campaign campaign(runner.shows ? hooks : Hooks{});
    campaign.add(rank_block(runner, 2, "ping-pong", ap1000::ping_pongs()));
    for (const int ranks : plan_ranks(runner.most_ranks))
      campaign.add(rank_block(runner, ranks, fmt::format("{} ranks", ranks),
                              ap1000::collectives(ranks, runner.shares_memory)));
    const bool complete = campaign.run({.passes = options.quick ? 3 : 10,
                                        .budget_seconds = budget,
                                        .most_seconds = most,
                                        .agree = runner.agree});
    if (!runner.shows) return;
    // What the machine refused is noted already.
    if (complete && campaign.skipped.empty()) note_unmeasured(campaign, most);
    shown = std::move(record);
    add_campaign(*shown, campaign, complete, what_of);
    ap1000::add_views(*shown, campaign.points, runner.transport, runner.pus);
  });
  return shown;
}

}  // namespace tabane::lab
