#include "tabane/lab/record/published.h"

#include <fmt/format.h>

#include <map>

#include "tabane/core/error.h"

namespace tabane::lab {

std::vector<std::string> published_names() {
  std::vector<std::string> names;
  for (const PublishedFile& file : published_files()) names.emplace_back(file.name);
  return names;
}

const Record& published(std::string_view name) {
  static const std::map<std::string, Record, std::less<>> all = [] {
    std::map<std::string, Record, std::less<>> records;
    for (const PublishedFile& file : published_files())
      records.emplace(file.name, record_from_json(Json::parse(file.json)));
    return records;
  }();
  const auto found = all.find(name);
  if (found == all.end())
    throw core::UsageError("'{}' is no published machine; there are {}", name,
                           fmt::join(published_names(), ", "));
  return found->second;
}

}  // namespace tabane::lab
