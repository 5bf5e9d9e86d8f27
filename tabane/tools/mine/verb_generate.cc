// tabane mine generate: makes transactions up.
#include <memory>
#include <string>

#include "tabane/program/command.h"
#include "tabane/program/output.h"
#include "tabane/tools/mine/fimi.h"
#include "tabane/tools/mine/generate.h"

namespace tabane::program {
namespace {

using mine::GenerateSettings;

struct Options {
  std::string file;
  GenerateSettings settings;
};

void run(const Options& options) {
  mine::check(options.settings);
  if (options.file != "-") require_writable_file("", options.file);
  mine::write_generated(options.settings, options.file);
}

Definition define() {
  const auto options = std::make_shared<Options>();
  GenerateSettings& settings = options->settings;
  return {{{"FILE", &options->file, "The file to write; - is stdout", {.required = true}},
           {"--transactions N", &settings.transactions, "Make N transactions (default 10000)"},
           {"--items N", &settings.items, "Of the items 1 to N (default 100)"},
           {"--mean-transaction X", &settings.mean_transaction,
            "The mean number of items in a transaction (default 10)"},
           {"--mean-pattern X", &settings.mean_pattern,
            "The mean number of items in a pattern: what is bought together (default 4)"},
           {"--patterns N", &settings.patterns, "Make N patterns (default 100)"},
           {"--correlation X", &settings.correlation,
            "The mean share of items that a pattern has of the one before (default 0.5)"},
           {"--corruption X", &settings.corruption,
            "How much of a pattern is left out when it is bought, on average, from 0 to 1 (default "
            "0.5)"},
           {"--density X", &settings.density,
            "No patterns: each item is in a transaction with probability X"},
           {"--seed N", &settings.seed, "The same seed gives the same file (default 1)"}},
          [options](const Given&) {
            run(*options);
            return kOk;
          }};
}

}  // namespace

extern constinit const Verb mine_generate_verb{
    .name = "generate",
    .what = "Make a file of transactions up, as the generator of IBM's Quest project does",
    .examples =
        "  tabane mine generate shop.dat\n"
        "  tabane mine generate --transactions 100000 --items 1000 t10i4d100k.dat\n"
        "  tabane mine generate --items 18 --density 0.5 random.dat",
    .define = define};

}  // namespace tabane::program
