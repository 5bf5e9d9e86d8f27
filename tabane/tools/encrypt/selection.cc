#include "tabane/tools/encrypt/selection.h"

#include <fnmatch.h>

#include <algorithm>

namespace tabane::encrypt {
namespace {

// Calls each(path) for the directories that a path lies in, from the outermost on, and for itself,
// until it returns true; returns whether it did.
bool any_on_the_way(std::string_view path, const auto& each) {
  for (std::size_t from = 0, end = 0; end != path.npos; from = end + 1) {
    end = path.find('/', from);
    if (each(std::string(path.substr(0, end)))) return true;
  }
  return false;
}

// "./a/b/" is a/b.
std::string path_of(std::string pattern) {
  while (pattern.starts_with("./")) pattern.erase(0, 2);
  while (pattern.ends_with('/')) pattern.pop_back();
  return pattern;
}

}  // namespace

Selection::Selection(const std::vector<std::string>& excludes,
                     const std::vector<std::string>& paths, bool one_file_system)
    : one_file_system_(one_file_system) {
  for (std::string pattern : excludes) {
    Rule rule;
    rule.takes = pattern.starts_with('!');
    if (rule.takes) pattern.erase(0, 1);
    rule.of_directories = pattern.ends_with('/');
    if (rule.of_directories) pattern.pop_back();
    rule.of_path = pattern.find('/') != pattern.npos;
    rule.pattern = pattern.substr(pattern.starts_with('/') ? 1 : 0);
    needs_paths_ = needs_paths_ || rule.of_path;
    rules_.push_back(std::move(rule));
  }
  for (const std::string& pattern : paths) {
    paths_.push_back(path_of(pattern));
    any_on_the_way(paths_.back(), [this](std::string way) {
      ways_.push_back(std::move(way));
      return false;
    });
    ways_.pop_back();  // the pattern itself
  }
  needs_paths_ = needs_paths_ || !paths_.empty();
}

bool Selection::fits(const std::string& pattern, const std::string& path) {
  return pattern == path || ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
}

bool Selection::is_named(std::string_view path) const {
  return paths_.empty() || any_on_the_way(path, [this](const std::string& outer) {
           return std::ranges::any_of(
               paths_, [&](const std::string& pattern) { return fits(pattern, outer); });
         });
}

bool Selection::leaves_out(const std::string& name, const std::string& path, bool directory) const {
  const auto rule = std::find_if(rules_.rbegin(), rules_.rend(), [&](const Rule& each) {
    if (each.of_directories && !directory) return false;
    return each.of_path ? ::fnmatch(each.pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0
                        : ::fnmatch(each.pattern.c_str(), name.c_str(), 0) == 0;
  });
  if (rule != rules_.rend() && !rule->takes) return true;
  const bool leads_on = directory && std::ranges::any_of(ways_, [&](const std::string& way) {
                          return fits(way, path);
                        });
  return !leads_on && !is_named(path);
}

bool Selection::leaves_out(std::string_view path, bool directory) const {
  if (path.empty() || (rules_.empty() && paths_.empty())) return false;
  return any_on_the_way(path, [&](const std::string& outer) {
    return leaves_out(outer.substr(outer.rfind('/') + 1), outer,
                      directory || outer.size() < path.size());
  });
}

bool Selection::takes(std::string_view path, bool directory) const {
  return !leaves_out(path, directory) && (path.empty() || is_named(path));
}

}  // namespace tabane::encrypt
