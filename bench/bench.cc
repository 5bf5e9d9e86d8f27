#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"
#include "tabane/program/layout.h"
#include "tabane/program/run_study.h"

namespace tabane::bench {
namespace {

// By name and file.
std::map<std::pair<std::string, std::string>, Topic>& known_topics() {
  static std::map<std::pair<std::string, std::string>, Topic> topics;
  return topics;
}

std::vector<double> seconds_per_amount(const core::Series& series, double amount) {
  std::vector<double> cost = series.samples;
  for (double& c : cost) c /= amount;
  return cost;
}

lab::Comparison beside(const Question& question, const Contender& peer) {
  return {.question = question.name,
          .unit = question.unit,
          .peer_name = peer.name,
          .peer_how = peer.how,
          .target = peer.target > 0 ? std::optional(peer.target) : std::nullopt,
          .skipped = peer.missing};
}

lab::Comparison compare(const Question& question, const Contender& peer,
                        const std::vector<double>& ours, const std::vector<double>& theirs) {
  lab::Comparison c = beside(question, peer);
  c.ours = 1 / core::median(ours);
  c.peer = 1 / core::median(theirs);
  c.ratio = core::interleaved_ratio(theirs, ours);
  return c;
}

// A contender of a question cannot go on.
struct Failed {
  Contender* contender;
  std::string why;
};

// f, which throws Failed in place of what it throws itself.
template <class F>
F accountable(F f, Contender& contender) {
  if (!f) return f;
  return [f = std::move(f), &contender](auto&&... arguments) {
    try {
      return f(std::forward<decltype(arguments)>(arguments)...);
    } catch (const std::exception& error) {
      throw Failed{&contender, error.what()};
    }
  };
}

core::Contender measured(Contender& contender, const std::string& name) {
  return {name, accountable(contender.work, contender), accountable(contender.before, contender),
          accountable(contender.timed, contender)};
}

lab::Comparison left_out(const std::string& question, const std::string& peer,
                         const std::string& reason) {
  return {.question = question, .peer_name = peer, .skipped = reason};
}

struct Answers {
  std::vector<lab::Comparison> comparisons;
  std::vector<std::pair<std::string, std::vector<double>>> costs;  // s per unit, ours first
};

struct MeasuredCost {
  const Contender* contender = nullptr;
  std::vector<double> cost;  // s per unit
};

// Measures all contenders of a question in turn. throws: Failed.
Answers answer(Question& question, const core::MeasureOptions& options) {
  std::vector<core::Contender> contenders{measured(question.ours, question.ours.name)};
  std::vector<const Contender*> present;
  Answers answers;
  for (Contender& peer : question.peers) {
    if (peer.missing.empty()) peer.missing = question.ours.missing;
    if (peer.missing.empty()) {
      contenders.push_back(measured(peer, peer.name));
      present.push_back(&peer);
    } else {
      answers.comparisons.push_back(beside(question, peer));
    }
  }
  if (present.empty()) return answers;
  const auto series = core::measure_interleaved(std::move(contenders), options);
  const auto ours = seconds_per_amount(series[0], question.ours.amount);
  answers.costs.emplace_back("tabane", ours);
  std::map<std::string, MeasuredCost> roofs;  // by what they limit, the highest
  for (std::size_t i = 0; i < present.size(); ++i) {
    auto cost = seconds_per_amount(series[i + 1], present[i]->amount);
    answers.costs.emplace_back(present[i]->name, cost);
    if (!present[i]->roof) {
      answers.comparisons.push_back(compare(question, *present[i], ours, cost));
      continue;
    }
    MeasuredCost& highest = roofs[present[i]->limits];
    if (!highest.contender || core::median(cost) < core::median(highest.cost)) {
      highest = {present[i], std::move(cost)};
    }
  }
  const auto lowest = std::ranges::max_element(
      roofs, {}, [](const auto& roof) { return core::median(roof.second.cost); });
  if (lowest != roofs.end()) {
    answers.comparisons.push_back(
        compare(question, *lowest->second.contender, ours, lowest->second.cost));
  }
  return answers;
}

std::string text_of(double value, const std::string& unit) {
  if (unit == "share") return lab::show_percent(value);
  return unit == "B" ? core::format_bytes(static_cast<std::uint64_t>(value))
                     : core::format_value(value, unit);
}

std::string before_comma(const std::string& text) { return text.substr(0, text.find(", ")); }

}  // namespace

RegisteredTopic::RegisteredTopic(Topic topic, const char* file) {
  known_topics()[{topic.name, file}] = std::move(topic);
}

std::vector<Topic> registered_topics() {
  std::vector<Topic> topics;
  for (const auto& [name_and_file, topic] : known_topics()) {
    if (topics.empty() || topics.back().name != topic.name) {
      topics.push_back(topic);
    } else {
      topics.back().run = [first = topics.back().run, next = topic.run](Panel& panel) {
        first(panel);
        next(panel);
      };
    }
  }
  return topics;
}

core::MeasureOptions long_runs(const Settings& settings, int epochs, double seconds) {
  return {.budget_seconds = settings.quick ? 1 : seconds,
          .min_epochs = settings.quick ? 3 : epochs,
          .max_epochs = settings.quick ? 3 : 4 * epochs,
          .warmup_epochs = 1,
          .single_iteration = true};
}

bool Panel::wants(const std::string& question) const {
  if (!settings_.wanted(question)) return false;
  if (settings_.list_only) fmt::print("{}: {}\n", topic_.name, question);
  return !settings_.list_only;
}

void Panel::run() {
  if (settings_.list_only) topic_.passes = 1;
  settings_.measure.budget_seconds /= topic_.passes;
  settings_.measure.min_epochs = std::max(3, settings_.measure.min_epochs / topic_.passes);
  for (pass_ = 0; pass_ < topic_.passes; ++pass_) {
    if (topic_.passes > 1)
      fmt::print(stderr, "{}: pass {} of {}\n", topic_.name, pass_ + 1, topic_.passes);
    part("the rest of " + topic_.name, [&] { topic_.run(*this); });
  }
}

void Panel::PooledComparison::add(const lab::Comparison& pass) {
  joined = pass;
  if (!pass.ratio) return;
  ratios.push_back(*pass.ratio);
  ours.push_back(*pass.ours);
  peers.push_back(*pass.peer);
  joined.ours = core::median(ours);
  joined.peer = core::median(peers);
  if (ratios.size() == 1) return;
  std::vector<double> values;
  joined.ratio->pairs = 0;
  for (const core::Ratio& ratio : ratios) {
    values.push_back(ratio.value);
    joined.ratio->pairs += ratio.pairs;
  }
  joined.ratio->value = core::median(values);
  joined.ratio->interval = core::median_interval(values);
}

// Which loop is the roof may change from pass to pass; there is one a question.
Panel::PooledComparison& Panel::pooled(const Question& question,
                                       const lab::Comparison& comparison) {
  const auto kind = [](const std::string& peer) {
    return peer.starts_with("roof: ") ? std::string("roof") : peer;
  };
  for (PooledComparison& one : pooled_)
    if (one.joined.question == comparison.question && one.joined.figure.empty() &&
        kind(one.joined.peer_name) == kind(comparison.peer_name))
      return one;
  groups_.push_back(question.group.empty() ? before_comma(question.name) : question.group);
  return pooled_.emplace_back();
}

void Panel::keep(lab::Result result) {
  const auto known = std::ranges::find(results_, result.name, &lab::Result::name);
  if (known == results_.end())
    results_.push_back(std::move(result));
  else
    lab::add_pass(*known, std::move(result));
}

void Panel::skip(const std::string& question, const std::string& reason, const std::string& peer) {
  if (wants(question))
    note({.name = question, .unit = "1/s", .ours = {}, .peers = {}},
         left_out(question, peer, reason));
}

void Panel::part(const std::string& name, const std::function<void()>& questions) {
  try {
    questions();
  } catch (const std::exception& error) {
    failed_ = true;
    note({.name = name, .unit = "1/s", .ours = {}, .peers = {}},
         left_out(name, "all", std::string("failed: ") + error.what()));
  }
}

// Measures again without the peers that fail.
std::vector<lab::Comparison> Panel::ask(Question question) {
  if (!wants(question.name)) return {};
  std::optional<Answers> measured;
  while (!measured) {
    try {
      measured = answer(question, question.measure.value_or(settings_.measure));
    } catch (const Failed& failure) {
      failed_ |= failure.contender == &question.ours;
      failure.contender->missing =
          (failure.contender == &question.ours ? "tabane failed: " : "failed: ") + failure.why;
    }
  }
  Answers& answers = *measured;
  for (const auto& [name, costs] : answers.costs)
    keep(rates_result(topic_.name, question, name, costs));
  for (const lab::Comparison& c : answers.comparisons) note(question, c);
  return std::move(answers.comparisons);
}

void Panel::note(const Question& question, const lab::Comparison& comparison) {
  PooledComparison& one = pooled(question, comparison);
  one.add(comparison);
  skipped_ |= !comparison.skipped.empty();
  if (pass_ + 1 == topic_.passes) print(one.joined);
  std::fflush(stdout);
}

std::vector<lab::Comparison> Panel::comparisons() const {
  std::vector<lab::Comparison> all;
  for (const PooledComparison& one : pooled_) all.push_back(one.joined);
  return all;
}

void Panel::tell(const std::string& question, const std::string& unit, const std::string& figure,
                 std::vector<double> samples, const Goal& goal) {
  tell({.question = question,
        .unit = unit,
        .figure = figure,
        .value = core::median(samples),
        .limit = goal.limit,
        .at_least = goal.at_least,
        .samples = std::move(samples)});
}

void Panel::tell(lab::Comparison figure) {
  print_header();
  fmt::print("{:<44} {:<34} {:>11}", figure.question, figure.figure,
             text_of(*figure.value, figure.unit));
  if (figure.limit) {
    fmt::print(" at {} {}: {}", figure.at_least ? "least" : "most",
               text_of(*figure.limit, figure.unit), *figure.met() ? "yes" : "NO");
  }
  fmt::print("\n");
  std::fflush(stdout);
  results_.push_back(figure_result(topic_.name, figure));
  groups_.push_back(before_comma(figure.question));
  pooled_.push_back({.joined = std::move(figure), .ratios = {}, .ours = {}, .peers = {}});
}

void Panel::show(lab::View view) {
  const auto& rows = std::get<lab::Rows>(view.content);
  fmt::print("\n{}{}\n", view.title, rows.rows.empty() ? ": none" : "");
  if (!rows.rows.empty()) fmt::print("{}", program::table_text(rows, program::kNoLimit));
  fmt::print("\n");
  std::fflush(stdout);
  shown_.push_back(std::move(view));
}

void Panel::print_header() {
  if (header_printed_) return;
  fmt::print("{}: ratio = our rate / the peer's rate; 1 or more: ours is at least as fast\n",
             topic_.name);
  fmt::print("{:<44} {:<34} {:>11} {:>11} {:>6}  {:<15} {:>6}  {}\n", "question", "peer", "ours",
             "peer", "ratio", "95 % interval", "target", "met");
  header_printed_ = true;
}

void Panel::print(const lab::Comparison& c) {
  print_header();
  if (!c.ratio) {
    fmt::print("{:<44} {:<34} skipped: {}\n", c.question, c.peer_name, c.skipped);
    return;
  }
  fmt::print("{:<44} {:<34} {:>11} {:>11} {:>6.3f}  [{:.3f}, {:.3f}]", c.question, c.peer_name,
             core::format_value(*c.ours, c.unit), core::format_value(*c.peer, c.unit),
             c.ratio->value, c.ratio->interval.low, c.ratio->interval.high);
  if (c.target) fmt::print("  {:>6.2f}  {}", *c.target, *c.met() ? "yes" : "NO");
  fmt::print("{}\n", c.ratio->undecided() ? " (no difference seen)" : "");
}

lab::Record Panel::record() const {
  lab::Record record = begin_panel_record(topic_, settings_);
  record.duration_s = clock_.now() - start_;
  record.comparisons = comparisons();
  record.results = results_;
  add_panel_views(record, groups_);
  record.views.insert(record.views.end(), shown_.begin(), shown_.end());
  return record;
}

}  // namespace tabane::bench
