#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/record/share_text.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/present.h"

namespace tabane::lab {
namespace {

std::string family(const std::string& name) { return name.substr(0, name.find('.')); }

// Families in the order of the survey, the best share first inside each.
std::vector<Bar> sorted_bars(const Record& record) {
  std::vector<std::string> order;
  std::vector<Bar> bars;
  for (const Result& result : record.results) {
    const auto share = result.share_of_limit();
    if (!share || !std::isfinite(share->value)) continue;
    Bar bar{family(result.name), result.name, share->value};
    if (share->pairs > 1) bar.interval = share->interval;
    bar.remark =
        fmt::format("{} of {}, {}: {}", show(*result.value, result.unit),
                    show(result.limit->value, result.unit), show_share(result), result.limit->how);
    if (std::find(order.begin(), order.end(), bar.group) == order.end()) order.push_back(bar.group);
    bars.push_back(std::move(bar));
  }
  const auto place = [&](const Bar& bar) {
    return std::find(order.begin(), order.end(), bar.group) - order.begin();
  };
  std::stable_sort(bars.begin(), bars.end(), [&](const Bar& a, const Bar& b) {
    return place(a) != place(b) ? place(a) < place(b) : *a.value > *b.value;
  });
  return bars;
}

std::string note(const std::vector<Bar>& bars) {
  const Bar *closest = nullptr, *farthest = &bars.front();
  for (const Bar& bar : bars) {
    if (*bar.value <= kAtTheLimit && (closest == nullptr || *bar.value > *closest->value))
      closest = &bar;
    if (*bar.value < *farthest->value) farthest = &bar;
  }
  if (bars.size() == 1)
    return fmt::format("{} reaches {} of its limit.", farthest->label,
                       show_percent(*farthest->value));
  std::string text = "Each bar is one figure as a share of the machine's own limit for it.";
  if (closest != nullptr && closest != farthest)
    text +=
        fmt::format(" {} comes closest with {}; {} is farthest with {}.", closest->label,
                    show_percent(*closest->value), farthest->label, show_percent(*farthest->value));
  const auto above = std::count_if(bars.begin(), bars.end(),
                                   [](const Bar& bar) { return *bar.value > kAtTheLimit; });
  if (above > 0)
    text += fmt::format(" {} more than 3 % above the limit: there it was too low.",
                        above == 1 ? "One bar is" : fmt::format("{} bars are", above));
  return text;
}

}  // namespace

std::optional<View> present_shares(const Record& record) {
  Bars bars{.unit = "share", .bars = sorted_bars(record), .reference = 1};
  if (bars.bars.empty()) return std::nullopt;
  std::string text = note(bars.bars);
  return View{.name = "share_of_limit",
              .title = "How close to the limit",
              .note = std::move(text),
              .content = std::move(bars)};
}

}  // namespace tabane::lab
