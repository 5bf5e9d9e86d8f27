// tabane explain: what holds a command back.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "tabane/core/error.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/survey/disturbances.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/run_options.h"
#include "tabane/program/run_study.h"
#include "tabane/tools/explain/conclude.h"
#include "tabane/tools/explain/experiments.h"
#include "tabane/tools/explain/explain_record.h"

namespace tabane::program {
namespace {

using lab::explain::Explanation;

struct ExplainOptions : StudyOptions {
  lab::explain::Request request;
  std::vector<unsigned> threads;
  std::string time = "2m";
};

constexpr std::size_t kReadable = 100;  // columns

void print_answer(const std::vector<std::string>& sentences, bool wide) {
  const std::size_t width = layout_width(STDOUT_FILENO, wide);
  for (const std::string& sentence : sentences) {
    const bool is_line = sentence.starts_with(' ');  // for the shell
    fmt::print("{}\n", is_line || width == kNoLimit
                           ? sentence
                           : wrap_text(sentence, std::min(width, kReadable)));
  }
}

int run(ExplainOptions& options, const Given& given) {
  lab::explain::Request& request = options.request;
  if (request.command.empty()) throw core::UsageError("give a command after --");
  request.seconds = seconds_of("--time", options.time);
  if (request.seconds <= 0) throw core::UsageError("--time 0: use a time above 0");
  if (!request.input.empty()) require_readable_input(request.input);
  request.threads.assign(options.threads.begin(), options.threads.end());
  const core::Topology topology = core::Topology::detect();
  lab::require_this_machine(topology);
  options.tables = false;
  Explanation found;
  run_study(
      options,
      [&](const lab::Hooks& hooks) -> std::optional<lab::Record> {
        const lab::StolenTime stolen;
        const lab::explain::Evidence evidence = lab::explain::gather(request, topology, hooks);
        found = lab::explain::conclude(evidence);
        lab::Record record =
            lab::explain::explain_record(topology, evidence, found, command_line_of(given));
        std::ranges::move(stolen.warnings(), std::back_inserter(record.warnings));
        return record;
      },
      [&] {
        if (!options.json.to_stdout()) print_answer(found.sentences, options.wide);
      });
  return kOk;
}

Definition define() {
  const auto options = std::make_shared<ExplainOptions>();
  return {
      {{"--time TIME", &options->time,
        "Take about this time; where it is short, fewer things are tried (default 2m)"},
       {"-t,--threads LIST",
        &options->threads,
        "Try these numbers of threads, by {threads} in the command and by the variables of "
        "OpenMP and others (default: 1, a quarter, half and all of the PUs)",
        {.range = {1, 4096}, .commas = true}},
       {"-p,--prepare LINE", &options->request.prepare,
        "Run LINE before each run, outside its time: it restores what the command changes"},
       {"--input FILE", &options->request.input,
        "Give the command FILE as its standard input (default: nothing)"},
       {"-o,--output DIR", &options->output, "Write the page, the figures and the JSON into DIR"},
       options->json.row(),
       {"--wide", &options->wide, "Do not fit the text to the width of the terminal"},
       {"-q,--quiet", &options->quiet, "Show no progress and no warnings"},
       {"COMMAND",
        &options->request.command,
        "The command with its arguments, after --",
        {.is_command = true}}},
      [options](const Given& given) { return run(*options, given); }};
}

}  // namespace

extern constinit const Verb explain_verb{
    .name = "explain",
    .what = "Find what holds a command back, by taking resources away from it",
    .group = "Tune",
    .examples =
        "  tabane explain -- ./solver input\n"
        "                                       memory, caches, threads, files: what makes it "
        "slower\n"
        "  tabane explain --time 5m -o page -- ./solver input\n"
        "                                       with more runs, and a page with every figure\n"
        "  tabane explain -t 1,2,4 -- xz -T{threads} -kc data\n"
        "                                       the number of threads is part of the command\n"
        "  tabane explain --prepare 'make clean' -- make -j{threads}",
    .define = define};

}  // namespace tabane::program
