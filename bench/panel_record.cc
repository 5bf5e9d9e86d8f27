// What a topic found, as a record: raw samples, charts of the ratios, tables of peers and figures.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "bench/bench.h"
#include "tabane/core/file.h"
#include "tabane/core/topology.h"
#include "tabane/lab/page/report.h"
#include "tabane/lab/record_head.h"

namespace tabane::bench {
namespace {

// "1024 doubles in L1" is "1024_doubles_in_l1".
std::string name_part(const std::string& text) {
  std::string name;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

std::string result_name(const std::string& topic, const std::string& question,
                        const std::string& last) {
  return fmt::format("{}.{}.{}", topic, name_part(question), name_part(last));
}

// The question without the name of its group: "sum" of "sum, 1024 doubles in L1".
std::string within(const std::string& group, std::string question) {
  if (question.starts_with(group))
    question.erase(0, group.size());
  else if (question.ends_with(group))
    question.erase(question.size() - group.size());
  while (question.starts_with(", ")) question.erase(0, 2);
  while (question.ends_with(", ")) question.erase(question.size() - 2);
  return question;
}

lab::Bar bar_of(const lab::Comparison& c, const std::string& group) {
  const std::string question = within(group, c.question);
  lab::Bar bar{.group = question,
               .label = question.empty() ? c.peer_name : question + ": " + c.peer_name,
               .value = {},
               .remark = c.peer_how,
               .target = c.target};
  if (c.ratio) bar.value = c.ratio->value, bar.interval = c.ratio->interval;
  return bar;
}

lab::View chart_of(const lab::Record& record, const std::vector<std::string>& groups,
                   const std::string& group) {
  lab::Bars bars{.unit = "ratio", .bars = {}, .reference = 1.0, .log = true};
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i] == group && record.comparisons[i].ratio)
      bars.bars.push_back(bar_of(record.comparisons[i], group));
  return {.name = fmt::format("{}.{}", record.name, name_part(group)),
          .title = fmt::format("{}: tabane and its peers", group),
          .note =
              "Our rate over the peer's rate with its 95 % interval, measured in turn: 1 or "
              "more means that tabane is at least as fast. Short marks are targets.",
          .content = std::move(bars)};
}

lab::Entry yes_no(const std::optional<bool>& met) {
  return met ? lab::Entry(*met ? "yes" : "no") : lab::Entry();
}

lab::View comparisons_table(const lab::Record& record) {
  lab::Rows rows{{"question", "peer", "tabane", "peer's rate", "ratio", "target", "met"}, {}};
  for (const lab::Comparison& c : record.comparisons) {
    if (!c.figure.empty()) continue;
    lab::Entry ratio = c.skipped.empty() ? lab::Entry() : lab::Entry("skipped: " + c.skipped);
    if (c.ratio) ratio = {c.ratio->value, "ratio", c.ratio->interval};
    rows.rows.push_back({c.question,
                         c.peer_name,
                         {c.ours, c.unit},
                         {c.peer, c.unit},
                         std::move(ratio),
                         {c.target, "ratio"},
                         yes_no(c.met())});
  }
  return {.name = record.name + ".comparisons",
          .title = "All ratios",
          .note = "A target of 1 is also met where no difference is seen.",
          .content = std::move(rows)};
}

lab::View figures_table(const lab::Record& record) {
  lab::Rows rows{{"question", "figure", "value", "at most", "at least", "met"}, {}};
  for (const lab::Comparison& c : record.comparisons) {
    if (c.figure.empty()) continue;
    const lab::Entry limit(c.limit, c.unit);
    rows.rows.push_back({c.question,
                         c.figure,
                         {c.value, c.unit},
                         c.at_least ? lab::Entry() : limit,
                         c.at_least ? limit : lab::Entry(),
                         yes_no(c.met())});
  }
  return {.name = record.name + ".figures", .title = "Figures", .content = std::move(rows)};
}

lab::View peers_table(const lab::Record& record) {
  lab::Rows rows{{"peer", "what it is, how it was started, its version"}, {}};
  for (const lab::Comparison& c : record.comparisons) {
    const std::vector<lab::Entry> row = {c.peer_name, c.peer_how};
    if (!c.peer_how.empty() && std::ranges::find(rows.rows, row) == rows.rows.end())
      rows.rows.push_back(row);
  }
  return {.name = record.name + ".peers", .title = "The peers", .content = std::move(rows)};
}

std::string targets_met(const lab::Record& record) {
  const auto count = [&](bool wanted) {
    return std::ranges::count_if(record.comparisons,
                                 [&](const lab::Comparison& c) { return c.met() == wanted; });
  };
  return fmt::format("{} of {} targets are met.", count(true), count(true) + count(false));
}

}  // namespace

lab::Result rates_result(const std::string& topic, const Question& question,
                         const std::string& contender, const std::vector<double>& costs) {
  lab::Result result{.name = result_name(topic, question.name, contender),
                     .what = fmt::format("{}: {}", question.name, contender),
                     .unit = question.unit,
                     .better = lab::Better::higher};
  std::vector<double> rates = costs;
  for (double& x : rates) x = 1 / x;
  lab::set_samples(result, std::move(rates));
  return result;
}

lab::Result figure_result(const std::string& topic, const lab::Comparison& figure) {
  lab::Result result{.name = result_name(topic, figure.question, figure.figure),
                     .what = fmt::format("{}: {}", figure.question, figure.figure),
                     .unit = figure.unit};
  if (figure.limit || figure.unit == "s")
    result.better = figure.at_least ? lab::Better::higher : lab::Better::lower;
  if (!figure.samples.empty()) lab::set_samples(result, figure.samples);
  result.value = figure.value;
  return result;
}

lab::Record begin_panel_record(const Topic& topic, const Settings& settings) {
  const std::string title = "tabane and its peers: " + topic.title;
  lab::Record record = lab::begin_record(core::Topology::detect(), lab::Kind::bench,
                                         {topic.name.c_str(), title.c_str(), ""},
                                         settings.command_line, settings.quick);
  record.complete = true;
  return record;
}

void add_panel_views(lab::Record& record, const std::vector<std::string>& groups) {
  record.sentences.push_back(targets_met(record));
  std::vector<std::string> shown;
  for (const std::string& group : groups) {
    if (std::ranges::find(shown, group) != shown.end()) continue;
    shown.push_back(group);
    lab::View chart = chart_of(record, groups, group);
    if (!std::get<lab::Bars>(chart.content).bars.empty()) record.views.push_back(std::move(chart));
  }
  for (lab::View table : {comparisons_table(record), figures_table(record), peers_table(record)})
    if (!std::get<lab::Rows>(table.content).rows.empty()) record.views.push_back(std::move(table));
  for (const lab::Comparison& c : record.comparisons)
    if (!c.skipped.empty())
      record.skipped.push_back({fmt::format("{}: {}", c.question, c.peer_name), c.skipped});
}

std::string write(const lab::Record& record, const std::string& directory) {
  const std::filesystem::path folder = std::filesystem::path(directory) / record.name;
  if (const auto remark = lab::write_report(record, folder))
    fmt::print(stderr, "tabane_bench: {}\n", *remark);
  const std::string path = folder.string() + ".json";
  core::write_file(path, lab::to_json(record).dump(1) + "\n");
  return (folder / "report.html").string();
}

}  // namespace tabane::bench
