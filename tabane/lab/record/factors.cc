#include "tabane/lab/record/factors.h"

#include <fmt/format.h>

#include <algorithm>

namespace tabane::lab {

std::string Level::text() const { return is_number() ? fmt::format("{:.15g}", number()) : word(); }

const Level* Factors::find(std::string_view name) const {
  for (const Factor& factor : all_) {
    if (factor.name == name) return &factor.level;
  }
  return nullptr;
}

void Factors::set(std::string_view name, Level level) {
  const auto at =
      std::find_if(all_.begin(), all_.end(), [&](const Factor& f) { return f.name == name; });
  if (at != all_.end())
    at->level = std::move(level);
  else
    all_.push_back({std::string(name), std::move(level)});
}

bool Factors::match(const Factors& wanted) const {
  return std::all_of(wanted.begin(), wanted.end(), [&](const Factor& factor) {
    const Level* level = find(factor.name);
    return level != nullptr && *level == factor.level;
  });
}

Factors Factors::with(const Factors& more) const {
  Factors all = *this;
  for (const Factor& factor : more) all.set(factor.name, factor.level);
  return all;
}

}  // namespace tabane::lab
