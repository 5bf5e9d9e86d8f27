// tabane report: makes the page of a survey again from its JSON.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "tabane/cli/command.h"
#include "tabane/cli/options.h"
#include "tabane/cli/output.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/lab/report.h"

namespace tabane::cli {
namespace {

struct Options {
  std::string survey;
  std::string page = "report.html";
};

lab::SurveyRecord read_survey(const std::string& file) {
  const lab::Json json = lab::Json::parse(core::read_file(file), nullptr, false);
  if (json.is_discarded()) throw core::UsageError(fmt::format("{}: not JSON", file));
  try {
    return lab::survey_from_json(json);
  } catch (const core::UsageError& error) {
    throw core::UsageError(fmt::format("{}: {}", file, error.what()));
  }
}

void run(const Options& options) {
  const bool to_stdout = options.page == "-";
  if (!to_stdout) require_writable_file("--output ", options.page);
  const lab::SurveyRecord record = read_survey(options.survey);
  std::vector<lab::Figure> figures = lab::make_figures(record);
  if (const auto remark = lab::draw(figures)) fmt::print(stderr, "tabane: {}\n", *remark);
  const std::string page = lab::render_html(record, figures);
  if (to_stdout) {
    std::fputs(page.c_str(), stdout);
    return;
  }
  write_whole_file(options.page, page);
  fmt::print("{}\n", options.page);
}

}  // namespace

void add_report_command(CLI::App& app, int&) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("report", "Make the page of a survey again from its JSON");
  show_examples_first(*verb, "  tabane report tabane-report/survey.json -o report.html");
  verb->add_option("FILE.json", options->survey, "The survey.json of a survey")->required();
  verb->add_option("-o,--output", options->page,
                   "Write the page to FILE.html (default report.html), or with - to stdout")
      ->type_name("FILE.html");
  verb->callback([options] { run(*options); });
}

}  // namespace tabane::cli
