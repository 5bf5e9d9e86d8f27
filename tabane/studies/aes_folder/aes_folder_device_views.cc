// What the coprocessor's times say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/core/statistics.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/studies/aes_folder/aes_folder_device.h"

namespace tabane::lab::aes_folder {
namespace {

constexpr std::uint64_t kBlock = 16;  // bytes; of the launch with hardly any work

struct DeviceData {
  const Points& points;

  const Point* find(const Chains& chains, const char* who) const {
    const Point* point = points.find(chains.point(who));
    return point != nullptr && !point->samples.empty() ? point : nullptr;
  }
  // The median of what was seen beside the device's times; NaN: it was not measured.
  double seen(const Chains& chains, const char* name) const {
    const Point* point = find(chains, "device");
    return point == nullptr ? std::nan("") : median_beside(*point, name).value_or(std::nan(""));
  }
  std::vector<Chains> works() const {
    std::vector<Chains> found;
    for (const Factors& factors :
         combinations(points, {"chain_bytes", "chains"}, {{"chains_by", "device"}})) {
      const Chains chains{static_cast<std::uint64_t>(factors.find("chains")->number()),
                          static_cast<std::uint64_t>(factors.find("chain_bytes")->number())};
      if (ratio_in_turn(find(chains, "cpu"), find(chains, "device"))) found.push_back(chains);
    }
    return found;
  }
};

std::vector<Chains> of_length(const std::vector<Chains>& works, std::uint64_t bytes) {
  std::vector<Chains> found;
  std::ranges::copy_if(works, std::back_inserter(found),
                       [&](const Chains& chains) { return chains.bytes == bytes; });
  return found;
}

std::vector<std::uint64_t> lengths(const std::vector<Chains>& works) {
  std::vector<std::uint64_t> found;
  for (const Chains& chains : works)
    if (chains.bytes > kBlock && std::ranges::find(found, chains.bytes) == found.end())
      found.push_back(chains.bytes);
  return found;
}

std::string size_text(std::uint64_t bytes) { return show(static_cast<double>(bytes), "B"); }

// A part of the device's time, never below 0: the parts are of runs of their own.
Entry share(double part, double whole) { return {std::max(0.0, part / whole), "share"}; }

void where_time_goes(Record& record, const DeviceData& data, const std::string& about) {
  const std::vector<Chains> works = data.works();
  const double launch = data.seen({1, kBlock}, kKernel);
  const Rows rows =
      rows_of({"chains", "coprocessor", "to it", "launch", "waiting in the chain", "more chains",
               "from it", "CPU, all PUs", "CPU / coprocessor"},
              works, [&](const Chains& chains) -> std::vector<Entry> {
                if (chains.bytes == kBlock) return {};
                const Point *device = data.find(chains, "device"), *cpu = data.find(chains, "cpu");
                const double whole = device->median(), kernel = data.seen(chains, kKernel);
                const double alone = data.seen({1, chains.bytes}, kKernel);
                return {chains.label(),
                        median_entry(device),
                        share(data.seen(chains, kToDevice), whole),
                        share(launch, whole),
                        share(alone - launch, whole),
                        share(kernel - alone, whole),
                        share(data.seen(chains, kFromDevice), whole),
                        median_entry(cpu),
                        ratio_entry(cpu, device)};
              });
  add_table(record, "Where the coprocessor's time goes", rows,
            fmt::format("{}. AES-128-CBC of chains in memory, one in each work item. A chain is "
                        "serial: waiting in it is what one alone takes, and no number of units "
                        "shortens it. More chains cost nothing until the units are busy; then "
                        "they, their local memory and the device's memory are what is shared.",
                        about));
}

// The best that the device reaches.
struct Best {
  core::Ratio ratio;  // CPU / device
  Chains chains;
};

struct Answer {
  std::vector<std::string> crossings;  // "from 800 chains of 64 KiB on"
  Best best;
};

// With transfers, in turn.
core::Ratio speed(const DeviceData& data, const Chains& chains) {
  return *ratio_in_turn(data.find(chains, "cpu"), data.find(chains, "device"));
}

Curve with_transfers(const DeviceData& data, const std::vector<Chains>& works) {
  Curve curve{.name = size_text(works.front().bytes), .x = {}, .y = {}};
  for (const Chains& chains : works) {
    const core::Ratio ratio = speed(data, chains);
    add_place(curve, static_cast<double>(chains.count), ratio.value, ratio.interval);
  }
  return curve;
}

Curve without_transfers(const DeviceData& data, const std::vector<Chains>& works) {
  Curve curve{.name = size_text(works.front().bytes) + ", no transfers", .x = {}, .y = {}};
  for (const Chains& chains : works) {
    add_place(curve, static_cast<double>(chains.count),
              data.find(chains, "cpu")->median() / data.seen(chains, kKernel), {});
  }
  return curve;
}

// Adds the crossing of one length to the answer, and a mark.
void look_for_crossing(const DeviceData& data, const std::vector<Chains>& works, Curves& curves,
                       Answer& answer) {
  std::vector<double> counts, ratios;
  for (const Chains& chains : works) {
    counts.push_back(static_cast<double>(chains.count));
    const core::Ratio ratio = speed(data, chains);
    ratios.push_back(ratio.value);
    if (ratio.value > answer.best.ratio.value) answer.best = {ratio, chains};
  }
  const auto at = crossover(counts, std::vector<double>(ratios.size(), 1), ratios);
  if (!at) return;
  const std::string size = size_text(works.front().bytes);
  answer.crossings.push_back(fmt::format("from {:.0f} of {} on", *at, size));
  curves.marks.push_back({*at, size});
}

std::string text_of(const Answer& answer) {
  constexpr const char* kOnlyAsked =
      "tabane encrypt takes it only where --engine opencl asks for it.";
  const std::string best = fmt::format("with {}, it is {:.3g} times as fast",
                                       answer.best.chains.label(), answer.best.ratio.value);
  if (!answer.crossings.empty())
    return fmt::format(
        "On this machine the coprocessor beats the CPU on chains in memory {}; at its best, {}. {}",
        join(answer.crossings), best, kOnlyAsked);
  if (answer.best.ratio.value <= 1)
    return fmt::format("On this machine the coprocessor never wins: at its best, {} as the CPU. {}",
                       best, kOnlyAsked);
  const core::Interval& interval = answer.best.ratio.interval;
  return fmt::format(
      "On this machine there is no number of chains from which on the coprocessor beats the CPU; "
      "but at its best, {} [{:.3g}, {:.3g}]. {}",
      best, interval.low, interval.high, kOnlyAsked);
}

// "2.4 to 5.8": how many times as long the report's coprocessor took as its host.
std::string published_range() {
  const Record &host = published("aes-folder-xeon"), &phi = published("aes-folder-phi");
  double least = INFINITY, most = 0;
  for (const Result& result : phi.results) {
    const Result* beside = host.find(result.name);
    if (!result.name.starts_with("aes_folder.best.") || beside == nullptr) continue;
    if (!result.value || !beside->value) continue;
    least = std::min(least, *result.value / *beside->value);
    most = std::max(most, *result.value / *beside->value);
  }
  return fmt::format("{:.2g} to {:.2g}", least, most);
}

Answer chart(Record& record, const DeviceData& data, const std::string& about) {
  const std::vector<Chains> works = data.works();
  Curves curves{{"chains", "", true}, {"CPU time / device time", "", true}, {}};
  Answer answer;
  for (const std::uint64_t bytes : lengths(works)) {
    const std::vector<Chains> mine = of_length(works, bytes);
    add_curve(curves, with_transfers(data, mine));
    add_curve(curves, without_transfers(data, mine));
    look_for_crossing(data, mine, curves, answer);
  }
  curves.marks.push_back({.at = 1, .label = "as fast", .vertical = false});
  add_chart(record, "device", "How many chains it takes to beat the CPU",
            fmt::format("{} Above the line the coprocessor ({}) is faster than all PUs together. "
                        "The report's Xeon Phi took {} times as long as its host.",
                        text_of(answer), about, published_range()),
            std::move(curves));
  return answer;
}

}  // namespace

std::optional<double> crossover(const std::vector<double>& counts, const std::vector<double>& a,
                                const std::vector<double>& b) {
  // The last place where a is above b; all behind it count.
  std::size_t from = counts.size();
  while (from > 0 && a[from - 1] <= b[from - 1]) --from;
  if (from == counts.size()) return std::nullopt;
  if (from == 0) return counts.front();
  const double before = std::log(a[from - 1] / b[from - 1]), after = std::log(a[from] / b[from]);
  const double part = before / (before - after);
  return counts[from - 1] * std::pow(counts[from] / counts[from - 1], part);
}

void add_device_views(Record& record, const Points& points, const std::string& about) {
  const DeviceData data{points};
  if (about.empty() || points.size() == 0 || data.works().empty()) return;
  where_time_goes(record, data, about);
  const Answer answer = chart(record, data, about);
  record.sentences.push_back(text_of(answer));
}

}  // namespace tabane::lab::aes_folder
