// tabane mine: itemsets that many transactions hold, counted on encrypted transactions; and tabane
// mine generate.
#include "tabane/tools/mine/verb.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/program/command.h"
#include "tabane/program/output.h"
#include "tabane/program/passphrase_prompt.h"
#include "tabane/program/printable.h"
#include "tabane/program/run_options.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/generate.h"
#include "tabane/tools/mine/mine.h"
#include "tabane/tools/mine/results.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::program {

using namespace mine;

extern const Verb mine_keygen_verb, mine_encrypt_verb, mine_count_verb, mine_decrypt_verb;

std::vector<Option> ItemsetOptions::rows(const std::string& if_none) {
  return {{"--min-support X", &min_support,
           "Find itemsets in at least this share of the transactions, more than 0 and at most 1; "
           "0.02 is 2 %"},
          {"--max-length N",
           &max_length,
           "Find itemsets of at most N items (default " + if_none +
               "); more take larger parameters at each doubling beyond 2",
           {.range = {1, kLongestItemset}}},
          {"--min-confidence X", &min_confidence,
           "Give the rules that hold in at least this share of the cases (default 0.5)"}};
}

MineRequest ItemsetOptions::request(const std::string& file, std::size_t if_none) const {
  if (!min_support) {
    throw core::UsageError(
        "--min-support is missing: 0.02 asks for itemsets in 2 % of the transactions");
  }
  MineRequest request;
  request.database = file;
  request.min_support = *min_support;
  request.most_length = max_length.value_or(if_none);
  request.min_confidence = min_confidence;
  return request;
}

std::vector<Option> KeyOptions::rows() {
  return {
      {"--hide-slots", &hide_slots,
       "Let the server sum each count under encryption, so that only totals can be decrypted; "
       "takes larger parameters and rotations"},
      {"--ring-degree N", &degree,
       "The degree of the ring, a power of two (default: the least that is secure and suffices)"},
      {"--insecure-parameters", &allow_insecure,
       "Take a ring degree with less than 128 bits of security; every output is marked"}};
}

void KeyOptions::fill(MineRequest& request) const {
  request.hide_slots = hide_slots;
  request.allow_insecure = allow_insecure;
  request.degree = degree;
}

Option WorkerOptions::threads_row() {
  return {"-t,--threads N",
          &threads,
          "Use N threads in each process (default: as many as suit the work)",
          {.range = {1, 4096}}};
}

std::vector<Option> WorkerOptions::rows() {
  return {threads_row(),
          {"-p,--processes N",
           &processes,
           "Count with N processes that share the database copy-on-write (default: as many as suit "
           "the work)",
           {.range = {1, 4096}}}};
}

void WorkerOptions::fill(MineRequest& request) const {
  request.processes = processes;
  request.threads = threads;
}

void WorkerOptions::check_for_ranks() const {
  if (processes == team::automatic) return;
  throw core::UsageError(
      "-p: ranks take the place of processes, and each counts with threads (-t)");
}

void show_counting(std::size_t length, std::size_t candidates) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "counting {} candidates of {} {}\n", grouped(candidates), length,
             length == 1 ? "item" : "items");
}

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

void MineOutput::write(const MineResult& result) const {
  if (!quiet && !stdout_is_taken()) fmt::print("{}", mine_text(result));
  write_text(itemsets, csv_of_itemsets(result));
  write_text(rules, csv_of_rules(result));
  json.write(mine_json(result));
}

// ---- tabane mine generate ----

namespace {

struct GenerateOptions {
  std::string file;
  GenerateSettings settings;
};

void run_generate(const GenerateOptions& options) {
  mine::check(options.settings);
  if (options.file != "-") require_writable_file("", options.file);
  mine::write_generated(options.settings, options.file);
}

Definition define_generate() {
  const auto options = std::make_shared<GenerateOptions>();
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
            run_generate(*options);
            return kOk;
          }};
}

constexpr Verb kGenerate{
    .name = "generate",
    .what = "Make a file of transactions up, as the generator of IBM's Quest project does",
    .examples =
        "  tabane mine generate shop.dat\n"
        "  tabane mine generate --transactions 100000 --items 1000 t10i4d100k.dat\n"
        "  tabane mine generate --items 18 --density 0.5 random.dat",
    .define = define_generate};

}  // namespace

// ---- tabane mine ----

namespace {

struct Options {
  std::string file;
  bool plain = false;
  std::optional<int> ranks;
  ItemsetOptions mine;
  KeyOptions keys;
  WorkerOptions workers;
  MineOutput output;

  MineRequest request() const {
    MineRequest request = mine.request(file);
    keys.fill(request);
    workers.fill(request);
    if (!output.quiet) request.on_counting = show_counting;
    return request;
  }
};

int report(const Options& options, const MineResult& result) {
  options.output.write(result);
  return kOk;
}

// Forks ranks, of which the first is the client.
int mine_on_forked_ranks(const Options& options, const MineRequest& request) {
  {
    // Checks here, so that errors in the file do not name a rank.
    const FimiFile file(options.file);
    check_encryption(file, request);
  }
  forbid_core_dumps();
  const auto result = comm::launch_result<MineResult>(
      {.ranks = *options.ranks, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
        if (comm.rank() == 0) return mine_encrypted(FimiFile(options.file), request, &comm);
        help_mining(comm, request.threads);
        return MineResult{};
      });
  return report(options, *result);
}

MineResult mined_by_rank_0(const Options& options, const MineRequest& request, comm::Comm* ranks) {
  if (ranks != nullptr && options.ranks.value_or(ranks->size()) != ranks->size()) {
    throw core::UsageError(
        fmt::format("--ranks {}: the MPI launcher has started {}", *options.ranks, ranks->size()));
  }
  const FimiFile file(options.file);
  if (options.plain) return mine_plain(file, request);
  return mine_encrypted(file, request, ranks);
}

int mine_under_mpi(const Options& options, const MineRequest& request) {
  forbid_core_dumps();
  return on_ranks(
      [&](comm::Comm* ranks, bool& lost) {
        try {
          return report(options, mined_by_rank_0(options, request, ranks));
        } catch (const core::Error&) {
          lost = ranks != nullptr;  // the others wait for keys, blocks or candidates
          throw;
        }
      },
      [&](comm::Comm& ranks) {
        if (!options.plain) help_mining(ranks, request.threads);
      });
}

int run(const Options& options) {
  if (options.file.empty()) {
    throw core::UsageError("FILE is missing, or one of keygen, encrypt, count, decrypt, generate");
  }
  const MineRequest request = options.request();
  check(request);
  options.output.check();
  const bool several = comm::is_one_of_several() || options.ranks.value_or(1) > 1;
  if (several && !options.plain) options.workers.check_for_ranks();
  if (comm::is_one_of_several()) return mine_under_mpi(options, request);
  if (options.plain) return report(options, mine_plain(FimiFile(options.file), request));
  if (options.ranks.value_or(1) > 1) {
    if (options.file == "-") {
      throw core::UsageError("--ranks: the transactions are to be in a file, not standard input");
    }
    return mine_on_forked_ranks(options, request);
  }
  forbid_core_dumps();
  return report(options, mine_encrypted(FimiFile(options.file), request));
}

Definition define() {
  const auto options = std::make_shared<Options>();
  return {
      table({{"FILE", &options->file,
              "The transactions: one a line, the numbers of its items separated by blanks; - is "
              "standard input"}},
            options->mine.rows(),
            std::vector<Option>{
                {"--plain",
                 &options->plain,
                 "Count on the transactions themselves; nothing is encrypted",
                 {.excludes = {"--hide-slots", "--ring-degree", "--insecure-parameters"}}}},
            options->keys.rows(), options->workers.rows(),
            std::vector<Option>{
                {"--ranks N",
                 &options->ranks,
                 "Use N ranks that share the blocks of the database instead of a team; under an "
                 "MPI launcher those that it has started",
                 {.range = {1, 4096}, .excludes = {"--plain"}}}},
            options->output.rows()),
      [options](const Given&) { return run(*options); }};
}

constexpr const Verb* kBelow[] = {&mine_keygen_verb,  &mine_encrypt_verb, &mine_count_verb,
                                  &mine_decrypt_verb, &kGenerate,         nullptr};

}  // namespace

extern constinit const Verb mine_verb{
    .name = "mine",
    .what = "Find items that are often bought together, in encrypted transactions",
    .group = "Solve",
    .examples =
        "  tabane mine shop.dat --min-support 0.02        all roles in one go, BGV encryption\n"
        "  tabane mine shop.dat --min-support 0.02 --plain --rules rules.csv\n"
        "                                                 without encryption, to compare\n"
        "  tabane mine keygen client server               the roles apart: one folder for the "
        "owner\n"
        "  tabane mine encrypt client server shop.dat --min-support 0.02\n"
        "                                                 of the data, one for who counts\n"
        "  while [ -e server/query ]; do tabane mine count server &&\n"
        "    tabane mine decrypt client server || break; done\n"
        "The implementation of BGV has not been audited.",
    .define = define,
    .below = kBelow};

}  // namespace tabane::program
