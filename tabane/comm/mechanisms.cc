#include "tabane/comm/mechanisms.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "tabane/comm/collective/choice.h"
#include "tabane/core/error.h"

namespace tabane::comm {
namespace {

struct ByMessages {
  Kind kind;
  std::string_view algorithm;
  Mechanisms until;  // the last set that still does it so
};
constexpr std::array<ByMessages, 12> kByMessages{{
    {Kind::broadcast, "binomial", Mechanisms::messages},
    {Kind::reduce, "tree", Mechanisms::broadcast},
    {Kind::all_reduce, "tree", Mechanisms::broadcast},
    {Kind::scan, "doubling", Mechanisms::broadcast},
    {Kind::exscan, "doubling", Mechanisms::broadcast},
    {Kind::reduce_scatter, "pairwise", Mechanisms::broadcast},
    {Kind::barrier, "messages", Mechanisms::global},
    {Kind::scatter, "polling", Mechanisms::global},
    {Kind::gather, "polling", Mechanisms::global},
    {Kind::all_gather, "ring", Mechanisms::global},
    {Kind::all_gather_varying, "ring", Mechanisms::global},
    {Kind::all_to_all, "pairwise", Mechanisms::global},
}};

}  // namespace

Mechanisms mechanisms_named(std::string_view name) {
  const auto found = std::ranges::find(kMechanismNames, name);
  if (found == kMechanismNames.end()) {
    throw core::UsageError(fmt::format("there are no mechanisms \"{}\": say {}", name,
                                       fmt::join(kMechanismNames, ", ")));
  }
  return static_cast<Mechanisms>(found - kMechanismNames.begin());
}

std::string rules_of(Mechanisms mechanisms) {
  std::string text;
  for (int setting = 0; setting < kSettings; ++setting) {
    for (const ByMessages& rule : kByMessages) {
      if (mechanisms > rule.until) continue;
      text += fmt::format("{} {} * * {}\n", name_of(static_cast<Setting>(setting)),
                          name_of(rule.kind), rule.algorithm);
    }
  }
  return text;
}

}  // namespace tabane::comm
