// tabane mine: itemsets that many transactions hold, counted on encrypted transactions; and tabane
// mine generate.
#include "tabane/tools/mine/verb.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <memory>
#include <optional>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/program/command.h"
#include "tabane/program/passphrase_prompt.h"
#include "tabane/program/run_options.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::program {

using namespace mine;

extern const Verb mine_keygen_verb, mine_encrypt_verb, mine_count_verb, mine_decrypt_verb;

std::vector<Option> itemset_rows(MineRequest& request, const std::string& if_none) {
  return {
      {"--words SEPARATOR",
       [&request](const Words& words) {
         request.between_words = words.back() == "comma" ? ',' : words.back() == "tab" ? '\t' : ' ';
       },
       "The items are words, not numbers, separated by blanks, commas or tabs",
       {.choices = {"blank", "comma", "tab"}}},
      {"--min-support X", &request.min_support,
       "Find itemsets in at least this share of the transactions, more than 0 and at most 1; "
       "0.02 is 2 %"},
      {"--max-length N",
       &request.keys.most_length,
       "Find itemsets of at most N items (default " + if_none +
           "); beyond 2, 4, 8 ... the parameters become larger, and all takes longer",
       {.range = {1, kLongestItemset}}},
      {"--min-confidence X", &request.min_confidence,
       "Give the rules that hold in at least this share of the cases (default 0.5)"}};
}

std::vector<Option> key_rows(KeySpec& keys) {
  return {{"--hide-slots", &keys.hide_slots,
           "Let the server sum each count under encryption, so that only totals can be decrypted; "
           "this needs larger parameters and rotations"},
          {"--ring-degree N", &keys.degree,
           "The degree of the ring, a power of two (default: the least that is large enough and "
           "secure)"},
          {"--insecure-parameters", &keys.allow_insecure,
           "Take a ring degree with less than 128 bits of security; every output is marked"}};
}

Option threads_row(Workers& workers) {
  return {"-t,--threads N",
          &workers.threads,
          "Use N threads in each process (default: as many as suit the work)",
          {.range = {1, 4096}}};
}

std::vector<Option> worker_rows(Workers& workers) {
  return {threads_row(workers),
          {"-p,--processes N",
           &workers.processes,
           "Count with N processes that share the database copy-on-write (default: as many as suit "
           "the work)",
           {.range = {1, 4096}}}};
}

void check_for_ranks(const Workers& workers) {
  if (workers.processes == team::automatic) return;
  throw core::UsageError(
      "-p: ranks take the place of processes, and each counts with threads (-t)");
}

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc allows
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

int with_ranks(const std::function<void(comm::Comm*)>& rank_0,
               const std::function<void(comm::Comm&)>& other) {
  return on_ranks(
      [&](comm::Comm* ranks, bool& lost) {
        try {
          rank_0(ranks);
        } catch (const core::Error&) {
          lost = ranks != nullptr;
          throw;
        }
        return kOk;
      },
      other);
}

std::vector<Option> MineOutput::rows() {
  return {{"--itemsets FILE", &itemsets,
           "Write the frequent itemsets with their supports as CSV to FILE; - is stdout"},
          {"--closed",
           &closed,
           "Give only itemsets that no larger one equals in support",
           {.excludes = {"--maximal"}}},
          {"--maximal", &maximal, "Give only itemsets that are part of no larger frequent one"},
          {"--rules FILE", &rules, "Write the association rules as CSV to FILE; - is stdout"},
          json.row(),
          {"-q,--quiet", &quiet, "Print nothing but errors"}};
}

void MineOutput::check() const {
  require_writable_text("--itemsets ", itemsets);
  require_writable_text("--rules ", rules);
  json.check();
}

void MineOutput::write(MineResult result) const {
  result.kept = closed ? Kept::closed : maximal ? Kept::maximal : Kept::all;
  result.itemsets = kept_of(result.itemsets, result.kept);
  const bool stdout_is_taken = json.to_stdout() || is_stdout(itemsets) || is_stdout(rules);
  if (!quiet && !stdout_is_taken) fmt::print("{}", mine_text(result));
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

Definition define_generate() {
  const auto options = std::make_shared<GenerateOptions>();
  GenerateSettings& settings = options->settings;
  return {{{"FILE", &options->file, "The file to write; - is stdout", {.required = true}},
           {"--transactions N", &settings.transactions, "Make N transactions (default 10000)"},
           {"--items N", &settings.items, "Use the items 1 to N (default 100)"},
           {"--mean-transaction X", &settings.mean_transaction,
            "The mean number of items in a transaction (default 10)"},
           {"--mean-pattern X", &settings.mean_pattern,
            "The mean number of items in a pattern: what is bought together (default 4)"},
           {"--patterns N", &settings.patterns, "Make N patterns (default 100)"},
           {"--correlation X", &settings.correlation,
            "The mean share of items that a pattern takes over from the one before (default 0.5)"},
           {"--corruption X", &settings.corruption,
            "How much of a pattern is left out when it is bought, on average, from 0 to 1 (default "
            "0.5)"},
           {"--density X", &settings.density,
            "No patterns: each item is in a transaction with probability X"},
           {"--seed N", &settings.seed, "The same seed gives the same file (default 1)"}},
          [options](const Given&) {
            mine::check(options->settings);
            if (options->file != "-") require_writable_file("", options->file);
            mine::write_generated(options->settings, options->file);
            return kOk;
          }};
}

constexpr Verb kGenerate{
    .name = "generate",
    .what = "Make a file of random transactions, as the generator of IBM's Quest project does",
    .examples =
        "  tabane mine generate shop.dat\n"
        "  tabane mine generate --transactions 100000 --items 1000 t10i4d100k.dat\n"
        "  tabane mine generate --items 18 --density 0.5 random.dat",
    .define = define_generate};

}  // namespace

// ---- tabane mine ----

namespace {

struct MineOptions {
  bool plain = false;
  std::optional<int> ranks;
  MineRequest request;
  MineOutput output;
};

// Shows on stderr, if that is a terminal, what is being counted.
void show_counting(std::size_t length, std::size_t candidates) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "counting {} candidates of {}\n", core::grouped(candidates),
             core::counted(length, "item"));
}

// Forks ranks, of which the first is the client.
MineResult mine_on_forked_ranks(const MineOptions& options) {
  {
    // Checks here, so that errors in the file do not name a rank.
    const FimiFile file(options.request.database, options.request.between_words);
    check_encryption(file, options.request);
  }
  comm::LaunchOptions launch{.ranks = *options.ranks, .transport = comm::TransportKind::shm};
  if (!options.output.quiet) launch.show_placement = warn_of_turns;
  return *comm::launch_result<MineResult>(launch, [&](comm::Comm& comm) {
    if (comm.rank() == 0)
      return mine_encrypted(FimiFile(options.request.database, options.request.between_words),
                            options.request, &comm);
    help_mining(comm, options.request.workers.threads);
    return MineResult{};
  });
}

MineResult mined_by_rank_0(const MineOptions& options, comm::Comm* ranks) {
  if (ranks != nullptr && options.ranks.value_or(ranks->size()) != ranks->size()) {
    throw core::UsageError("--ranks {}: the MPI launcher has started {}", *options.ranks,
                           ranks->size());
  }
  const FimiFile file(options.request.database, options.request.between_words);
  if (options.plain) return mine_plain(file, options.request);
  return mine_encrypted(file, options.request, ranks);
}

int run(MineOptions& options) {
  if (options.request.database.empty()) {
    throw core::UsageError("FILE is missing, or one of keygen, encrypt, count, decrypt, generate");
  }
  if (!options.output.quiet) options.request.on_counting = show_counting;
  check(options.request);
  options.output.check();
  const bool under_mpi = comm::is_one_of_several();
  comm::require_connected_tasks();
  const bool on_ranks = !options.plain && (under_mpi || options.ranks.value_or(1) > 1);
  const bool forks = on_ranks && !under_mpi;
  if (on_ranks) check_for_ranks(options.request.workers);
  if (forks && options.request.database == "-") {
    throw core::UsageError("--ranks: the transactions are to be in a file, not standard input");
  }
  if (!options.plain) forbid_core_dumps();
  keep_freed_memory();
  if (forks) {
    options.output.write(mine_on_forked_ranks(options));
    return kOk;
  }
  return with_ranks(
      [&](comm::Comm* ranks) { options.output.write(mined_by_rank_0(options, ranks)); },
      [&](comm::Comm& ranks) {
        if (!options.plain) help_mining(ranks, options.request.workers.threads);
      });
}

Definition define() {
  const auto options = std::make_shared<MineOptions>();
  MineRequest& request = options->request;
  return {
      table({{"FILE", &options->request.database,
              "The transactions: one a line, the numbers of its items separated by blanks (names: "
              "--words); - is standard input"}},
            itemset_rows(request),
            std::vector<Option>{
                {"--plain",
                 &options->plain,
                 "Count on the transactions themselves; nothing is encrypted",
                 {.excludes = {"--hide-slots", "--ring-degree", "--insecure-parameters"}}}},
            key_rows(request.keys), worker_rows(request.workers),
            std::vector<Option>{{"--ranks N",
                                 &options->ranks,
                                 "Use N ranks, which share the blocks of the database, instead of "
                                 "a team (under an MPI launcher: all that it has started)",
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
        "  tabane mine groceries.csv --words comma --min-support 0.02 --plain --closed\n"
        "                                                 items that have names\n"
        "  tabane mine keygen client server               the roles apart: one folder for the "
        "owner\n"
        "  tabane mine encrypt client server shop.dat --min-support 0.02\n"
        "                                                 of the data, one for the server\n"
        "  while [ -e server/query ]; do tabane mine count server &&\n"
        "    tabane mine decrypt client server || break; done\n"
        "The implementation of BGV has not been audited.",
    .define = define,
    .below = kBelow};

}  // namespace tabane::program
