#include "tabane/tools/time/time_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

// Null where it is not known.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json numbers(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double value : values) all.push_back(number(value));
  return all;
}

Json interval(const core::Interval& ends) { return {number(ends.low), number(ends.high)}; }

double median_of_sum(const Point& point, const char* a, const char* b) {
  std::vector<double> sum = seen_with(point, a);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += seen_with(point, b)[i];
  return core::median(sum);
}

// What hyperfine tells of a command, and what is told beside it.
struct Told {
  Json first, parameters = Json::object(), then;
};

Told told(const TimeContender& contender, const Timings& timings, std::size_t i) {
  const Point& point = timings.points[i];
  const core::Summary summary = core::summarize(point.samples);
  Told all;
  all.first = {{"command", contender.name},
               {"mean", summary.mean},
               {"stddev", summary.count > 1 ? Json(summary.standard_deviation) : Json(nullptr)},
               {"median", summary.median},
               {"user", core::mean(seen_with(point, seen::kUser))},
               {"system", core::mean(seen_with(point, seen::kSystem))},
               {"min", summary.min},
               {"max", summary.max}};
  for (const Factor& factor : contender.factors) {
    if (factor.name != kCommandFactor) all.parameters[factor.name] = factor.level.text();
  }
  const core::Ratio& ratio = timings.to_first[i];
  all.then = {{"median_interval", interval(timings.medians[i])},
              {"ratio", ratio.value},
              {"ratio_interval", interval(ratio.interval)},
              {"context_switches",
               median_of_sum(point, seen::kVoluntarySwitches, seen::kInvoluntarySwitches)},
              {"page_faults", median_of_sum(point, seen::kMinorFaults, seen::kMajorFaults)},
              {"rounds", timings.rounds()}};
  return all;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  return csv_cell(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  return out;
}

// Adds a row of names or of values; an interval has two columns.
void add_columns(std::vector<std::string>& names, std::vector<std::string>& values,
                 const Json& from, const std::string& prefix) {
  for (const auto& [name, value] : from.items()) {
    if (value.is_array()) {
      for (std::size_t end = 0; end < 2; ++end) {
        names.push_back(prefix + name + (end == 0 ? "_low" : "_high"));
        values.push_back(csv_cell(value[end]));
      }
    } else {
      names.push_back(csv_cell(prefix + name));
      values.push_back(csv_cell(value));
    }
  }
}

}  // namespace

std::string export_json(const std::vector<TimeContender>& contenders, const Timings& timings) {
  Json results = Json::array();
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Point& point = timings.points[i];
    Told all = told(contenders[i], timings, i);
    Json result = std::move(all.first);
    result["times"] = point.samples;
    Json codes = Json::array();
    for (const double code : seen_with(point, seen::kExitCode))
      codes.push_back(static_cast<int>(code));
    result["exit_codes"] = std::move(codes);
    if (!all.parameters.empty()) result["parameters"] = std::move(all.parameters);
    result["memory_usage_byte"] = numbers(seen_with(point, seen::kPeakBytes));
    result.update(all.then);
    results.push_back(std::move(result));
  }
  return Json{{"results", std::move(results)}}.dump(2, Json::Invalid::replaced) + "\n";
}

std::string export_csv(const std::vector<TimeContender>& contenders, const Timings& timings) {
  std::string out;
  // Contenders may have different factors: each column is that of any of them.
  Json all_parameters = Json::object();
  for (const TimeContender& contender : contenders) {
    for (const Factor& factor : contender.factors) {
      if (factor.name != kCommandFactor) all_parameters[factor.name] = nullptr;
    }
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Told all = told(contenders[i], timings, i);
    Json parameters = all_parameters;
    parameters.update(all.parameters);
    std::vector<std::string> names, values;
    add_columns(names, values, all.first, "");
    add_columns(names, values, parameters, "parameter_");
    add_columns(names, values, all.then, "");
    if (i == 0) out += fmt::format("{}\n", fmt::join(names, ","));
    out += fmt::format("{}\n", fmt::join(values, ","));
  }
  return out;
}

std::string export_markdown(const std::vector<TimeContender>& contenders, const Timings& timings) {
  std::string out = "| Command | Median | Min | Max | Ratio |\n|:---|---:|---:|---:|---:|\n";
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const core::Summary summary = core::summarize(timings.points[i].samples);
    const core::Ratio& ratio = timings.to_first[i];
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", markdown_cell(contenders[i].name),
                       text_of(Entry(summary.median, "s", timings.medians[i])),
                       text_of(Entry(summary.min, "s")), text_of(Entry(summary.max, "s")),
                       i == 0 ? "1.00" : text_of(Entry(ratio.value, "ratio", ratio.interval)));
  }
  return out;
}

}  // namespace tabane::lab
