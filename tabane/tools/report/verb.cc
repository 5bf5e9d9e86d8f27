// tabane report: makes the pages of records again from their JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/lab/page/report.h"
#include "tabane/program/command.h"
#include "tabane/program/output.h"

namespace tabane::program {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::vector<std::string> files;
  std::string output;
};

std::string page_of(const lab::Record& record) {
  std::vector<lab::Figure> figures = lab::make_figures(record);
  if (const auto remark = lab::draw(figures)) fmt::print(stderr, "tabane: {}\n", *remark);
  return lab::render_html(record, figures);
}

void write_page(const lab::Record& record, const fs::path& page) {
  core::write_output(page, page_of(record));
  fmt::print("{}\n", page.string());
}

// "comm.html"; where several files have one name, with their folders: "pages-study.html".
std::vector<std::string> page_names(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const std::string& file : files) {
    const fs::path path = fs::absolute(file).lexically_normal();
    const auto same = std::ranges::count_if(
        files, [&](const std::string& other) { return fs::path(other).stem() == path.stem(); });
    std::string stem = path.stem().string();
    if (same > 1) stem = path.parent_path().filename().string() + "-" + stem;
    std::string name = stem;
    for (int again = 2; !taken.insert(name).second; ++again)
      name = fmt::format("{}-{}", stem, again);
    names.push_back(name + ".html");
  }
  return names;
}

int run(const ReportOptions& options) {
  std::error_code ignored;
  const bool one = options.files.size() == 1 && !fs::is_directory(options.output, ignored);
  const bool to_stdout = one && is_stdout(options.output);
  if (!one && options.output == "-")
    throw core::UsageError("--output -: several pages do not go to stdout; name a directory");
  const fs::path output =
      options.output.empty() ? fs::path(one ? "report.html" : ".") : fs::path(options.output);
  if (!one)
    require_writable_directory(output);
  else if (!to_stdout)
    require_writable_file("--output ", output);
  std::vector<lab::Record> records;  // all are read before anything is written
  for (const std::string& file : options.files) records.push_back(read_record(file));
  if (to_stdout) {
    std::fputs(page_of(records.front()).c_str(), stdout);
  } else if (one) {
    write_page(records.front(), output);
  } else {
    const auto names = page_names(options.files);
    for (std::size_t i = 0; i < records.size(); ++i) write_page(records[i], output / names[i]);
  }
  return kOk;
}

Definition define() {
  const auto options = std::make_shared<ReportOptions>();
  return {{{"FILE.json", &options->files, "Read these records", {.required = true}},
           {"-o,--output FILE|DIR", &options->output,
            "Write the page to FILE (default report.html; - for stdout), or the pages of several "
            "records into the directory DIR"}},
          [options](const Given&) { return run(*options); }};
}

}  // namespace

extern constinit const Verb report_verb{
    .name = "report",
    .what = "Make the page of a survey, a study or a comparison again from its JSON",
    .group = "Measure",
    .examples =
        "  tabane report tabane-report/survey.json -o report.html\n"
        "  tabane report build/bench/*.json -o pages",
    .define = define};

}  // namespace tabane::program
