#include "tabane/tools/mine/verb_output.h"

#include <fmt/format.h>

#include <cstdio>

#include "tabane/core/output_path.h"
#include "tabane/tools/mine/mine_text.h"

namespace tabane::program {
namespace {

void check_file(const char* flag, const std::string& file) {
  if (!file.empty() && file != "-") require_writable_file(flag, file);
}

void write_text(const std::string& file, const std::string& text) {
  if (file == "-") {
    std::fputs(text.c_str(), stdout);
  } else if (!file.empty()) {
    core::write_output(file, text);
  }
}

}  // namespace

std::vector<Option> MineOutput::rows() {
  return {{"--itemsets FILE", &itemsets,
           "Write the frequent itemsets with their supports as CSV to FILE; - is stdout"},
          {"--rules FILE", &rules, "Write the association rules as CSV to FILE; - is stdout"},
          json.row(),
          {"-q,--quiet", &quiet, "Print nothing but errors"}};
}

void MineOutput::check() const {
  check_file("--itemsets ", itemsets);
  check_file("--rules ", rules);
  json.check();
}

bool MineOutput::stdout_is_taken() const {
  return json.to_stdout() || itemsets == "-" || rules == "-";
}

void MineOutput::write(const mine::Outcome& outcome) const {
  if (!quiet && !stdout_is_taken()) fmt::print("{}", mine_text(outcome));
  write_text(itemsets, csv_of_itemsets(outcome));
  write_text(rules, csv_of_rules(outcome));
  json.write(mine_json(outcome));
}

}  // namespace tabane::program
