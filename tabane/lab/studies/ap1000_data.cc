#include "tabane/lab/studies/ap1000_data.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tabane::lab::ap1000 {

std::optional<core::Ratio> ratio_in_turn(const Point& a, const Point& b) {
  if (!a.measured() || a.seconds.size() != b.seconds.size()) return {};
  return core::interleaved_ratio(a.seconds, b.seconds);
}

const Point* Findings::find(std::string_view part, std::string_view way, int ranks,
                            std::uint64_t bytes, std::string_view group) const {
  for (const Point& point : points) {
    if (point.part == part && point.way == way && point.ranks == ranks && point.bytes == bytes &&
        point.group == group && point.measured())
      return &point;
  }
  return nullptr;
}

std::vector<const Point*> Findings::over_bytes(std::string_view part, std::string_view way,
                                               int ranks) const {
  std::vector<const Point*> found;
  for (const Point& point : points) {
    if (point.part == part && point.way == way && point.ranks == ranks && point.measured())
      found.push_back(&point);
  }
  std::sort(found.begin(), found.end(),
            [](const Point* a, const Point* b) { return a->bytes < b->bytes; });
  return found;
}

std::vector<std::string> Findings::ways(std::string_view part) const {
  std::vector<std::string> all;
  for (const Point& point : points) {
    if (point.part == part && point.measured() &&
        std::find(all.begin(), all.end(), point.way) == all.end())
      all.push_back(point.way);
  }
  return all;
}

std::vector<int> Findings::ranks(std::string_view part) const {
  std::set<int> all;
  for (const Point& point : points) {
    if (point.part == part && point.measured()) all.insert(point.ranks);
  }
  return {all.begin(), all.end()};
}

std::vector<FitSegment> fit(const std::vector<const Point*>& points, std::size_t most_segments) {
  std::vector<double> x, y;
  for (const Point* point : points) {
    x.push_back(static_cast<double>(point->bytes));
    y.push_back(point->median());
  }
  return fit_segments(x, y, most_segments);
}

std::optional<LogFit> fit_log(const Findings& findings, std::string_view part,
                              std::string_view way) {
  std::vector<double> x, y;
  for (const int ranks : findings.ranks(part)) {
    const Point* point = findings.find(part, way, ranks);
    if (point == nullptr) continue;
    x.push_back(std::log2(ranks));
    y.push_back(point->median());
  }
  if (x.size() < 2) return {};
  const core::LineFit line = core::fit_line(x, y, core::FitWeight::relative, 1);
  return LogFit{line.slope, line.intercept};
}

std::string title_of_way(std::string_view way) {
  if (way == "recv") return "recv (copy)";
  if (way == "view") return "recv_view (in place)";
  if (way == "flags") return "flags in shared memory";
  if (way == "messages" || way == "binomial" || way == "tree") return "tree of messages";
  if (way == "native") return "MPI's own";
  if (way == "chosen") return "chosen";
  if (way == "elements") return "element by element";
  if (way == "vector") return "one vector";
  if (way == "vector tree") return "one vector, tree of messages";
  if (way == "polling") return "polling";
  return std::string(way);
}

}  // namespace tabane::lab::ap1000
