// tabane mine generate: makes transactions up.
#include <memory>
#include <string>

#include "tabane/cli/command_mine.h"
#include "tabane/cli/options.h"
#include "tabane/cli/output.h"
#include "tabane/workloads/fhe_mining/fimi.h"
#include "tabane/workloads/fhe_mining/generate.h"

namespace tabane::cli {
namespace {

using workloads::fhe_mining::GenerateSettings;

struct Options {
  std::string file;
  GenerateSettings settings;
};

void add_options(CLI::App& verb, Options& options) {
  GenerateSettings& settings = options.settings;
  verb.add_option("FILE", options.file, "The file to write; - is stdout")->required();
  verb.add_option("--transactions", settings.transactions, "Make N transactions (default 10000)")
      ->check(whole_number())
      ->type_name("N");
  verb.add_option("--items", settings.items, "Of the items 1 to N (default 100)")
      ->check(whole_number())
      ->type_name("N");
  verb.add_option("--mean-transaction", settings.mean_transaction,
                  "The mean number of items in a transaction (default 10)")
      ->type_name("X");
  verb.add_option("--mean-pattern", settings.mean_pattern,
                  "The mean number of items in a pattern: what is bought together (default 4)")
      ->type_name("X");
  verb.add_option("--patterns", settings.patterns, "Make N patterns (default 100)")
      ->check(whole_number())
      ->type_name("N");
  verb.add_option("--correlation", settings.correlation,
                  "The mean share of items that a pattern has of the one before (default 0.5)")
      ->type_name("X");
  verb.add_option("--corruption", settings.corruption,
                  "How much of a pattern is left out when it is bought, on average, from 0 to 1 "
                  "(default 0.5)")
      ->type_name("X");
  verb.add_option("--density", settings.density,
                  "No patterns: each item is in a transaction with probability X")
      ->type_name("X");
  verb.add_option("--seed", settings.seed, "The same seed gives the same file (default 1)")
      ->check(whole_number())
      ->type_name("N");
}

void run(const Options& options) {
  workloads::fhe_mining::check(options.settings);
  if (options.file != "-") require_writable_file("", options.file);
  workloads::fhe_mining::write_generated(options.settings, options.file);
}

}  // namespace

void add_mine_generate(CLI::App& mine) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = mine.add_subcommand(
      "generate", "Make a file of transactions up, as the generator of IBM's Quest project does");
  show_examples_first(*verb,
                      "  tabane mine generate shop.dat\n"
                      "  tabane mine generate --transactions 100000 --items 1000 t10i4d100k.dat\n"
                      "  tabane mine generate --items 18 --density 0.5 random.dat");
  add_options(*verb, *options);
  verb->callback([options] { run(*options); });
}

}  // namespace tabane::cli
