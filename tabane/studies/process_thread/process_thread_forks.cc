// What creating children costs a process that holds memory, and its tables and chart.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/fit.h"
#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"
#include "tabane/studies/process_thread/process_thread.h"

namespace tabane::lab::process_thread {

Factors fork_factors(const std::string& way, std::uint64_t bytes, const Level& piece,
                     const std::string& memory) {
  return {{"part", "forks"}, {"way", way}, {"bytes", bytes}, {"piece", piece}, {"memory", memory}};
}

namespace {

// Children are many forks: over more memory, or other pieces, one fork says the same.
constexpr std::uint64_t kMostForChildren = core::kGiB;

bool has_children(std::uint64_t bytes, std::size_t piece) {
  return piece == 0 && bytes <= kMostForChildren;
}

// Preparing may need as much again for a while.
double most_to_prepare() { return core::usable_memory_bytes().value_or(0) / 4; }

std::vector<std::uint64_t> fork_sizes(const ForkPlan& plan) {
  const double most = plan.most_bytes > 0
                          ? static_cast<double>(plan.most_bytes)
                          : std::min(most_to_prepare(), plan.quick ? 0x1p26 : 0x1p30);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = core::kMiB; static_cast<double>(bytes) <= most;
       bytes *= plan.quick ? 8 : 4)
    sizes.push_back(bytes);
  if (plan.most_bytes > 0 && sizes.back() != plan.most_bytes) sizes.push_back(plan.most_bytes);
  return sizes;
}

// About what a visit takes where a GiB is held after 1.2 s, and a fork takes 40 ms more for it.
double visit_seconds(const ForkPlan& plan, std::uint64_t bytes) {
  constexpr double kChildSeconds = 4e-4, kForkSeconds = 0.04, kHoldSeconds = 1.2;
  constexpr int kForksOfChildren = 3 * kForkChildren;
  const Effort effort = plan.effort.part(0, plan.passes);
  const auto seconds_of = [&](double round) {
    return std::clamp(effort.budget_seconds, effort.fewest * round, effort.most * round);
  };
  const double gib = static_cast<double>(bytes) / 0x1p30;
  double seconds = 0;
  for (std::size_t piece = 0; piece < kPieces.size(); ++piece) {
    const double forks = 1 + (has_children(bytes, piece) ? kForksOfChildren : 0);
    seconds += gib * kHoldSeconds + seconds_of(forks * (kChildSeconds + gib * kForkSeconds)) +
               seconds_of(forks * kChildSeconds);  // prepared
  }
  for (const double gib_in_small_pages : {gib, 0.0})
    seconds += gib * kHoldSeconds + seconds_of(kChildSeconds + gib_in_small_pages * kForkSeconds);
  return seconds;
}

void measure_forks(Visit& visit, const ForkPlan& plan, std::uint64_t bytes,
                   const std::function<ProcessThreadMeter()>& start, ForkRefusal& refusal) {
  const ProcessThreadMeter meter = start();
  const Effort effort = visit.part(plan.effort);
  // pages: empty: as the system gives them.
  const auto take = [&](std::size_t i, std::uint64_t piece_bytes, const std::string& pages) {
    const bool is_plain = pages.empty();
    const Json answer =
        ask(meter, {{"do", "forks"},
                    {"bytes", bytes},
                    {"piece", piece_bytes},
                    {"pages", pages},
                    {"children", is_plain && has_children(bytes, i)},
                    {"prepare", is_plain && static_cast<double>(bytes) <= most_to_prepare()},
                    {"fewest", effort.fewest},
                    {"most", effort.most},
                    {"budget_s", effort.budget_seconds}});
    for (const auto& [memory, found] : answer["measured"].items()) {
      for (const auto& [way, seconds] : found["seconds"].items())
        visit.add(fork_factors(way, bytes, kPieces[i], memory), seconds.get<std::vector<double>>(),
                  {{"small_page_bytes", found["small_page_bytes"].get<double>()},
                   {"huge_page_bytes", found["huge_page_bytes"].get<double>()}});
    }
    if (answer.contains("refused") && (refusal.bytes == 0 || bytes < refusal.bytes))
      refusal = {bytes, answer["refused"].get<std::string>()};
  };
  for (std::size_t i = 0; i < kPieces.size(); ++i) {
    visit.show(static_cast<double>(i) / static_cast<double>(kPieces.size()));
    const Level& piece = kPieces[i];
    const auto piece_bytes = piece.is_number() ? static_cast<std::uint64_t>(piece.number()) : bytes;
    if (piece_bytes <= bytes) take(i, piece_bytes, "");
  }
  for (const char* pages : {kSmallPages, kHugePages}) take(kPieces.size() - 1, bytes, pages);
}

}  // namespace

void require_fork_memory(std::uint64_t most_bytes) {
  constexpr double kMostShare = 0.9;
  if (most_bytes == 0) return;
  const auto usable = core::usable_memory_bytes();
  const auto most = static_cast<std::uint64_t>(usable ? kMostShare * *usable : 0x1p62);
  if (most_bytes >= core::kMiB && most_bytes <= most) return;
  throw core::UsageError("--fork-max {}: use 1 MiB to {}, nine tenths of the memory that is free",
                         core::format_bytes(most_bytes), core::format_bytes(most));
}

void add_fork_blocks(Campaign& campaign, const ForkPlan& plan,
                     const std::function<ProcessThreadMeter()>& start, ForkRefusal& refusal) {
  campaign.points.declare(fork_factors("one", 0, 0, ""));
  for (const std::uint64_t bytes : fork_sizes(plan))
    campaign.add({.what = "forks of " + core::format_bytes(bytes),
                  .planned_seconds = visit_seconds(plan, bytes),
                  .body = [=, &refusal](Visit& visit) {
                    measure_forks(visit, plan, bytes, start, refusal);
                  }});
}

// ---- what is shown ----

namespace {

// Of all sizes.
Factors forks_of(const char* way, std::size_t piece, const char* memory = "as allocated") {
  return {{"part", "forks"}, {"way", way}, {"piece", kPieces[piece]}, {"memory", memory}};
}

// What the line through the larger sizes says for 100 GiB in base pages.
CaptionValues extrapolated(const Points& points) {
  PointList large = points.where(forks_of("one", 0), "bytes");
  std::erase_if(large, [](const Point* point) { return point->number("bytes") < 0x1p23; });
  if (large.size() < 2) return {};
  const Curve times = curve_over("", large, "bytes");
  const core::LineFit line = core::fit_line(times.x, times.y, core::FitWeight::relative);
  if (!(line.slope > 0)) return {};
  return {{"per_gib", core::format_seconds(line.slope * 0x1p30)},
          {"per_100_gib", core::format_seconds(line(100 * 0x1p30))}};
}

// "Linux 6.1.0, pages of 4 KiB, transparent huge pages: madvise": what forks depend on.
std::string kernel_text(const Json& environment) {
  const auto kernel = environment.value("kernel", Json::object());
  const auto memory = environment.value("memory", Json::object());
  for (const char* known : {"base page bytes", "transparent huge pages"})
    if (!kernel.contains("release") || memory.value(known, Json()).is_null()) return "";
  return fmt::format("Linux {}, pages of {}, transparent huge pages: {}", kernel["release"].text(),
                     core::format_bytes(memory["base page bytes"].get<std::uint64_t>()),
                     memory["transparent huge pages"].text());
}

const Result* refusal_of(const Record& record) {
  return record.find(family(record) + ".forks.refused_above");
}

// Where a fork was refused, or up to where none was.
CaptionValues refusal_values(const StudyViews& views) {
  if (const Result* refused = refusal_of(views.record))
    return {{"refused", show(*refused->value, "B")},
            {"reason", refused->details.at(detail::kRemark).text()}};
  const auto sizes = views.points.numbers("bytes", {{"part", "forks"}});
  return {{"allowed", show(sizes.back(), "B")}};
}

}  // namespace

void add_fork_views(const StudyViews& views) {
  if (views.points.where({{"part", "forks"}}).empty()) return;
  const Factors one = forks_of("one", 0), prepared_one = forks_of("one", 0, "prepared"),
                serial = forks_of("serial", 0), tree = forks_of("tree", 0),
                threads = forks_of("threads", 0), prepared = forks_of("tree", 0, "prepared"),
                thread = forks_of("one thread", 0);
  const Column memory{"memory", level_of("bytes", "B")};
  CaptionValues values = extrapolated(views.points);
  values.merge(refusal_values(views));
  values["kernel"] = kernel_text(views.record.environment);
  const std::vector<Factors> both = having(combinations(views.points, {"bytes"}, prepared_one),
                                           views.points, {one, prepared_one});
  if (!both.empty())
    views.record.sentences.push_back(
        views
            .caption("finding.forks",
                     {{"size", show(both.back().number("bytes"), "B")},
                      {"plain", text_of(time_of(one)(views.points, both.back()))},
                      {"prepared", text_of(time_of(prepared_one)(views.points, both.back()))}})
            .note);
  views.table("one_fork",
              {memory,
               {"4 KiB pieces", time_of(one)},
               {"2 MiB pieces", time_of(forks_of("one", 1))},
               {"at once", time_of(forks_of("one", 2))},
               {"prepared: 4 KiB pieces", time_of(prepared_one)},
               {"prepared: at once", time_of(forks_of("one", 2, "prepared"))},
               {"gain by preparing", medians_ratio_of(one, prepared_one)},
               {"one thread", time_of(thread)}},
              combinations(views.points, {"bytes"}), values);
  const Factors in_small = forks_of("one", 2, kSmallPages),
                in_huge = forks_of("one", 2, kHugePages);
  const auto huge_share = [](const Point& point) {
    const double share = *median_beside(point, "huge_page_bytes") / point.number("bytes");
    return Entry(std::min(share, 1.0), "share");  // less than a huge page takes a whole one
  };
  views.table("fork_pages",
              {memory,
               {"small pages", time_of(in_small, true)},
               {"huge pages", time_of(in_huge, true)},
               {"small / huge", medians_ratio_of(in_small, in_huge)},
               {"in huge pages", shown_of(in_huge, huge_share)}},
              combinations(views.points, {"bytes"}, in_small), values);
  views.table("children",
              {memory,
               {"one after the other", time_of(serial)},
               {"tree", time_of(tree)},
               {"from threads", time_of(threads)},
               {"serial / tree", ratio_of(serial, tree)},
               {"tree, prepared", time_of(prepared)},
               {"serial / tree, prepared", medians_ratio_of(serial, prepared)}},
              combinations(views.points, {"bytes"}, serial));
  const std::string children = fmt::format("{} children, ", kForkChildren);
  Curves curves = times_over(views.points, "bytes",
                             {{"one fork, 4 KiB pieces", one},
                              {"one fork, at once", forks_of("one", 2)},
                              {"one fork, prepared", prepared_one},
                              {children + "one after the other", serial},
                              {children + "tree", tree},
                              {children + "from threads", threads},
                              {"one thread, no fork", thread}},
                             "resident memory", "B");
  // There are more curves than colours.
  if (curves.series.back().name.starts_with("one thread")) curves.series.back().shape = 2;
  values["ends"] = ends_of(curves);
  const Result* refused = refusal_of(views.record);
  if (refused != nullptr) curves.marks.push_back({*refused->value, "refused"});
  views.chart("forks", std::move(curves), values);
}

}  // namespace tabane::lab::process_thread
