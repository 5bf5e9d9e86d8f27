// tabane compare: records of several machines or versions side by side.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "tabane/core/error.h"
#include "tabane/lab/compare/compare.h"
#include "tabane/lab/page/report.h"
#include "tabane/lab/record/published.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/output.h"
#include "tabane/program/run_study.h"

namespace tabane::program {
namespace {

struct CompareArguments {
  std::vector<std::string> inputs;
  std::string baseline = "1";
  std::optional<std::string> threshold;
  bool list = false, all = false, wide = false;
  JsonOption json;
  std::string output;
};

lab::Record read_input(const std::string& input) {
  std::error_code ignored;
  const auto status = std::filesystem::status(input, ignored);
  if (exists(status) && !is_directory(status)) return read_record(input);
  const auto names = lab::published_names();
  if (std::ranges::find(names, input) != names.end()) return lab::published(input);
  throw core::UsageError(
      "there is no file '{}', nor a published machine of that name "
      "(see 'tabane compare --list')",
      input);
}

std::vector<lab::Side> read_sides(const std::vector<std::string>& inputs) {
  std::vector<lab::Record> records;
  std::vector<std::string> stems;
  for (const std::string& input : inputs) {
    records.push_back(read_input(input));
    stems.push_back(std::filesystem::path(input).stem().string());
  }
  std::vector<std::string> names = stems;
  // Studies and surveys name their files alike, so that their folders tell more.
  for (std::size_t i = 0; i < stems.size(); ++i) {
    const std::filesystem::path folder = std::filesystem::path(inputs[i]).parent_path();
    if (!folder.empty() && std::ranges::count(stems, stems[i]) > 1)
      names[i] = (folder.filename() / stems[i]).string();
  }
  const std::vector<std::string> labels = lab::labels_of(records, names);
  std::vector<lab::Side> sides;
  for (std::size_t i = 0; i < records.size(); ++i)
    sides.push_back({labels[i], std::move(records[i])});
  return sides;
}

// A number from 1, an input as it was typed, its file's name without extension, or its label.
std::size_t baseline_index(const CompareArguments& options, const std::vector<lab::Side>& sides) {
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const std::string& input = options.inputs[i];
    if (options.baseline == input || options.baseline == sides[i].label ||
        options.baseline == std::filesystem::path(input).stem().string() ||
        options.baseline == std::to_string(i + 1))
      return i;
  }
  std::vector<std::string> labels;
  for (const lab::Side& side : sides) labels.push_back(side.label);
  throw core::UsageError("--baseline {}: must be 1 to {}, or one of {}", options.baseline,
                         sides.size(), fmt::join(labels, ", "));
}

void print_list(std::size_t width) {
  std::vector<std::vector<std::string>> rows = {{"name", "machine", "source"}};
  for (const std::string& name : lab::published_names()) {
    const lab::Record& record = lab::published(name);
    rows.push_back({name, record.title, record.source});
  }
  fmt::print("{}", fit_table(rows, width));
}

void print(const lab::Comparisons& found, const std::vector<lab::Side>& sides, bool all,
           std::size_t width) {
  for (std::size_t i = 0; i < found.others.size(); ++i) {
    const lab::BesideBaseline& other = found.others[i];
    const lab::Rows table = lab::figure_table(sides, found.baseline, other, all);
    if (i > 0) fmt::print("\n");
    fmt::print("{} compared with {}\n\n", sides[other.side].label, sides[found.baseline].label);
    if (!table.rows.empty()) fmt::print("{}\n", table_text(table, width));
    if (const std::size_t none = other.count(lab::Finding::none); none > 0)
      fmt::print("{} {}: no difference seen\n", none, none == 1 ? "figure" : "figures");
    fmt::print("{}\n", wrap_text(found.record.sentences[i], width));
  }
}

int run(const CompareArguments& options, const Given& given) {
  const std::size_t width = layout_width(STDOUT_FILENO, options.wide);
  if (options.list) {
    print_list(width);
    return kOk;
  }
  const double threshold = share_of("--threshold", options.threshold.value_or("5%"), 1000, "5%");
  if (options.inputs.size() < 2)
    throw core::UsageError("give at least two records or names of published machines");
  options.json.check();
  const std::vector<lab::Side> sides = read_sides(options.inputs);
  const std::size_t baseline = baseline_index(options, sides);
  if (!options.output.empty()) require_writable_directory(options.output);
  const lab::Comparisons found = lab::compare(
      sides,
      {.baseline = baseline, .threshold = threshold, .command_line = command_line_of(given)});
  if (!options.json.to_stdout()) print(found, sides, options.all, width);
  std::fflush(stdout);
  options.json.write(lab::to_json(found.record));
  for (const lab::Skipped& skipped : found.record.skipped)
    fmt::print(stderr, "tabane: not compared: {}: {}\n", skipped.name, skipped.reason);
  if (!options.output.empty()) {
    if (const auto remark = lab::write_report(found.record, options.output))
      fmt::print(stderr, "tabane: {}\n", *remark);
    fmt::print(stderr, "tabane: the page is {}/report.html\n", options.output);
  }
  return options.threshold && found.regression() ? kFailed : kOk;
}

Definition define() {
  const auto options = std::make_shared<CompareArguments>();
  return {{{"RECORD", &options->inputs,
            "JSON files of surveys, studies or benches, or names of published machines"},
           {"--list", &options->list, "List the published machines", {.excludes = {"--json"}}},
           {"--baseline NAME|N", &options->baseline,
            "Compare all others with this record: a name, or its number (default 1)"},
           {"--threshold PERCENT", &options->threshold,
            "Ignore differences below this (default 5%). If it is given, the exit code is 1 where "
            "a figure with its whole interval is worse by more"},
           {"--all", &options->all, "Show also figures where no difference was seen"},
           {"--wide", &options->wide, "Do not fit tables into the terminal"},
           {"-o,--output DIR", &options->output, "Write a page with all charts into DIR"},
           options->json.row()},
          [options](const Given& given) { return run(*options, given); }};
}

}  // namespace

extern constinit const Verb compare_verb{
    .name = "compare",
    .what = "Compare records of several machines or of two versions",
    .group = "Measure",
    .examples =
        "  tabane compare before.json after.json --threshold 5%\n"
        "  tabane compare study.json ha8000 -o compared\n"
        "  tabane compare --list",
    .define = define};

}  // namespace tabane::program
