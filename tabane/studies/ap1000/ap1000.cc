#include "tabane/studies/ap1000/ap1000.h"

#include <fmt/format.h>

namespace tabane::lab {
namespace {

constexpr About kAboutAp1000 = {
    "ap1000", "Messages, broadcast, global functions, gathering and barriers",
    "T. Shimizu, T. Horie, H. Ishihata (Fujitsu Laboratories): Performance evaluation of the "
    "AP1000 (64 to 512 SPARC cells), 1992"};

std::string ap1000_what(const Point& point) {
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
  RunningStudy study(topology, kAboutAp1000, options.quick);
  const double usual = options.quick ? 20 : 120;
  const double budget = options.budget_seconds > 0 ? options.budget_seconds : usual;
  const double most = options.most_seconds > 0 ? options.most_seconds : 2 * budget;
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
    study.add(campaign, complete, ap1000_what);
    ap1000::add_views(study.record, campaign.points, runner.transport, runner.pus);
    shown = study.finish();
  });
  return shown;
}

}  // namespace tabane::lab
