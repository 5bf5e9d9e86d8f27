#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/units.h"

namespace tabane::bench {
namespace {

std::vector<double> seconds_per_amount(const core::Series& series, double amount) {
  std::vector<double> cost = series.samples;
  for (double& c : cost) c /= amount;
  return cost;
}

Answer compare(const Question& question, const Entrant& peer, const std::vector<double>& ours,
               const std::vector<double>& theirs) {
  Answer a;
  a.question = question.name;
  a.unit = question.unit;
  a.peer_name = peer.name;
  a.ours = 1 / core::median(ours);
  a.peer = 1 / core::median(theirs);
  a.ratio = core::interleaved_ratio(theirs, ours);
  a.target = peer.target;
  // "Never slower" (a target of 1) also holds where no difference is seen; a share must be reached.
  a.met = a.ratio.value >= a.target || (a.target == 1 && a.ratio.undecided());
  return a;
}

Answer skip(const Question& question, const Entrant& peer) {
  Answer a;
  a.question = question.name;
  a.unit = question.unit;
  a.peer_name = peer.name;
  a.skipped = peer.missing;
  a.target = peer.target;
  return a;
}

}  // namespace

std::vector<Answer> answer(const Question& question, const core::MeasureOptions& options) {
  std::vector<core::Competitor> competitors{
      {question.ours.name, question.ours.work, question.ours.before}};
  std::vector<const Entrant*> present;
  std::vector<Answer> answers;
  for (const Entrant& peer : question.peers) {
    if (peer.missing.empty()) {
      competitors.push_back({peer.name, peer.work, peer.before});
      present.push_back(&peer);
    } else {
      answers.push_back(skip(question, peer));
    }
  }
  if (present.empty()) return answers;
  const auto series = core::measure_interleaved(std::move(competitors), options);
  const auto ours = seconds_per_amount(series[0], question.ours.amount);
  const Entrant* lowest_roof = nullptr;
  std::vector<double> roof_cost;
  for (std::size_t i = 0; i < present.size(); ++i) {
    auto cost = seconds_per_amount(series[i + 1], present[i]->amount);
    if (!present[i]->roof) {
      answers.push_back(compare(question, *present[i], ours, cost));
    } else if (!lowest_roof || core::median(cost) > core::median(roof_cost)) {
      lowest_roof = present[i];
      roof_cost = std::move(cost);
    }
  }
  if (lowest_roof) answers.push_back(compare(question, *lowest_roof, ours, roof_cost));
  return answers;
}

bool Panel::wants(const std::string& question) const {
  if (!settings_.wanted(question)) return false;
  if (settings_.list_only) fmt::print("{}: {}\n", topic_, question);
  return !settings_.list_only;
}

std::vector<Answer> Panel::ask(const Question& question) {
  if (!wants(question.name)) return {};
  const auto answers = answer(question, question.measure.value_or(settings_.measure));
  for (const Answer& a : answers) print(a);
  answers_.insert(answers_.end(), answers.begin(), answers.end());
  std::fflush(stdout);
  return answers;
}

void Panel::tell(Figure figure) {
  print_header();
  const auto text = [&](double value) {
    return figure.unit == "B" ? core::format_bytes(static_cast<std::uint64_t>(value))
                              : core::format_value(value, figure.unit);
  };
  fmt::print("{:<44} {:<34} {:>11}", figure.question, figure.name, text(figure.value));
  if (figure.limit) {
    fmt::print(" at {} {}: {}", figure.at_least ? "least" : "most", text(*figure.limit),
               figure.met() ? "yes" : "NO");
  }
  fmt::print("\n");
  std::fflush(stdout);
  figures_.push_back(std::move(figure));
}

void Panel::print_header() {
  if (header_printed_) return;
  fmt::print("{}: ratio = our rate / the peer's rate; 1 or more: ours is at least as fast\n",
             topic_);
  fmt::print("{:<44} {:<34} {:>11} {:>11} {:>6}  {:<15} {:>6}  {}\n", "question", "peer", "ours",
             "peer", "ratio", "95 % interval", "target", "met");
  header_printed_ = true;
}

void Panel::print(const Answer& a) {
  print_header();
  if (!a.skipped.empty()) {
    fmt::print("{:<44} {:<34} skipped: {}\n", a.question, a.peer_name, a.skipped);
    return;
  }
  fmt::print("{:<44} {:<34} {:>11} {:>11} {:>6.3f}  [{:.3f}, {:.3f}]", a.question, a.peer_name,
             core::format_value(a.ours, a.unit), core::format_value(a.peer, a.unit), a.ratio.value,
             a.ratio.interval.low, a.ratio.interval.high);
  if (a.target > 0) fmt::print("  {:>6.2f}  {}", a.target, a.met ? "yes" : "NO");
  fmt::print("{}\n", a.ratio.undecided() ? " (no difference seen)" : "");
}

void Panel::write(const std::string& directory) const {
  auto list = nlohmann::ordered_json::array();
  for (const Answer& a : answers_) {
    nlohmann::ordered_json j;
    j["question"] = a.question;
    j["peer_name"] = a.peer_name;
    j["unit"] = a.unit;
    j["target"] = nullptr;
    if (a.target > 0) j["target"] = a.target;
    for (const char* key : {"ours", "peer", "ratio", "ratio_interval", "met"}) j[key] = nullptr;
    if (a.skipped.empty()) {
      j["ours"] = a.ours;
      j["peer"] = a.peer;
      j["ratio"] = a.ratio.value;
      j["ratio_interval"] = {a.ratio.interval.low, a.ratio.interval.high};
      if (a.target > 0) j["met"] = a.met;
    } else {
      j["skipped"] = a.skipped;
    }
    list.push_back(std::move(j));
  }
  for (const Figure& f : figures_) {
    nlohmann::ordered_json j;
    j["question"] = f.question;
    j["figure"] = f.name;
    j["unit"] = f.unit;
    j["value"] = f.value;
    j[f.at_least ? "at_least" : "at_most"] = nullptr;
    j["met"] = nullptr;
    if (f.limit) {
      j[f.at_least ? "at_least" : "at_most"] = *f.limit;
      j["met"] = f.met();
    }
    if (!f.samples.empty()) j["samples"] = f.samples;
    list.push_back(std::move(j));
  }
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  const std::string path = (std::filesystem::path(directory) / (topic_ + ".json")).string();
  core::write_file(path, list.dump(2) + '\n');
}

std::vector<Topic> all_topics() {
  return {{"simd", ask_simd}, {"aes", ask_aes}, {"team", ask_team}, {"comm", ask_comm}};
}

}  // namespace tabane::bench
