// tabane mine: itemsets that many transactions hold, counted on encrypted transactions.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/program/command.h"
#include "tabane/program/several_ranks.h"
#include "tabane/program/unreadable_memory.h"
#include "tabane/tools/mine/mine.h"
#include "tabane/tools/mine/verb_options.h"
#include "tabane/tools/mine/verb_output.h"

namespace tabane::program {

extern const Verb mine_keygen_verb, mine_encrypt_verb, mine_count_verb, mine_decrypt_verb,
    mine_generate_verb;

namespace {

using namespace mine;

struct Options {
  std::string file;
  bool plain = false;
  std::optional<int> ranks;
  MineOptions mine;
  SchemeOptions scheme;
  WorkerOptions workers;
  MineOutput output;

  MineRequest request() const {
    MineRequest request = mine.request(file);
    scheme.fill(request);
    workers.fill(request);
    if (!output.quiet) request.told = show_counting;
    return request;
  }
};

int report(const Options& options, const Outcome& outcome) {
  options.output.write(outcome);
  return kOk;
}

// Ranks that are forked here, of which the first is the client.
int mine_on_forked_ranks(const Options& options, const MineRequest& request) {
  {
    // What is wrong with the file is told without the name of a rank.
    const FimiFile file(options.file);
    check_encryption(file, request);
  }
  forbid_core_dumps();
  const auto outcome = comm::launch_result<Outcome>(
      {.ranks = *options.ranks, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
        if (comm.rank() == 0) return mine_on_ranks(comm, FimiFile(options.file), request);
        help_mining(comm, request.threads);
        return Outcome{};
      });
  return report(options, *outcome);
}

Outcome mined_by_rank_0(const Options& options, const MineRequest& request, comm::Comm* ranks) {
  if (ranks != nullptr && options.ranks.value_or(ranks->size()) != ranks->size()) {
    throw core::UsageError(
        fmt::format("--ranks {}: the MPI launcher has started {}", *options.ranks, ranks->size()));
  }
  const FimiFile file(options.file);
  if (options.plain) return mine_plain(file, request);
  return ranks == nullptr ? mine_encrypted(file, request) : mine_on_ranks(*ranks, file, request);
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
            options->scheme.rows(), options->workers.rows(),
            std::vector<Option>{
                {"--ranks N",
                 &options->ranks,
                 "Use N ranks that share the blocks of the database instead of a team; under an "
                 "MPI launcher those that it has started",
                 {.range = {1, 4096}, .excludes = {"--plain"}}}},
            options->output.rows()),
      [options](const Given&) { return run(*options); }};
}

constexpr const Verb* kBelow[] = {&mine_keygen_verb,  &mine_encrypt_verb,  &mine_count_verb,
                                  &mine_decrypt_verb, &mine_generate_verb, nullptr};

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
