// tabane mine keygen, encrypt, count, decrypt: the roles as separate steps.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "tabane/cli/command_mine.h"
#include "tabane/cli/mine_options.h"
#include "tabane/cli/mine_output.h"
#include "tabane/cli/options.h"
#include "tabane/cli/printable.h"
#include "tabane/cli/several_ranks.h"
#include "tabane/cli/unreadable_memory.h"
#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/workloads/fhe_mining/steps.h"

namespace tabane::cli {
namespace {

using namespace workloads::fhe_mining;

struct Folders {
  std::string client, server;

  void add_client_to(CLI::App& verb, const char* what) {
    verb.add_option("CLIENT", client, what)->required();
  }
  void add_server_to(CLI::App& verb, const char* what) {
    verb.add_option("SERVER", server, what)->required();
  }
};

constexpr const char* kMark = "INSECURE PARAMETERS\n";

std::string text_of(const Asked& asked, const Folders& folders) {
  const char* const mark = asked.insecure ? kMark : "";
  if (asked.length == 0) return fmt::format("{}nothing is left to count\n", mark);
  return fmt::format("{}{}/query asks for {} candidates of {} {}\n", mark,
                     printable(folders.server), grouped(asked.candidates), asked.length,
                     asked.length == 1 ? "item" : "items");
}

std::string text_of(const Encryption& how, const Folders& folders) {
  return fmt::format(
      "{}{}/secret.key is a new key, which stays there; {} is for the server\n"
      "BGV, ring degree {}, plaintext modulus {}, modulus of {:.0f} bits{}; not audited\n",
      how.insecure() ? kMark : "", printable(folders.client), printable(folders.server),
      how.ring_degree, how.plaintext_modulus, how.log2_modulus,
      how.insecure() ? "" : fmt::format(": {}-bit security", how.security_bits));
}

}  // namespace

void add_mine_keygen(CLI::App& mine) {
  struct Options {
    Folders folders;
    SchemeOptions scheme;
    std::size_t max_length = 3, transactions = 2'000'000;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      mine.add_subcommand("keygen", "Make the client's secret key and the server's public keys");
  show_examples_first(*verb, "  tabane mine keygen --max-length 2 client server");
  options->folders.add_client_to(*verb, "The folder for the secret key; it stays with its owner");
  options->folders.add_server_to(*verb, "The folder for all that the server may see");
  verb->add_option("--max-length", options->max_length,
                   "For itemsets of at most N items (default 3)")
      ->check(CLI::Range(1, 8))
      ->type_name("N");
  verb->add_option("--transactions", options->transactions,
                   "For databases of at most N transactions (default 2000000)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  options->scheme.add_to(*verb);
  verb->callback([options] {
    make_memory_unreadable();
    const Encryption how = make_keys(options->folders.client, options->folders.server,
                                     {.most_length = options->max_length,
                                      .hide_slots = options->scheme.hide_slots,
                                      .transactions = options->transactions,
                                      .degree = options->scheme.degree,
                                      .allow_insecure = options->scheme.allow_insecure});
    fmt::print("{}", text_of(how, options->folders));
  });
}

void add_mine_encrypt(CLI::App& mine) {
  struct Options {
    Folders folders;
    std::string file;
    MineOptions mine;
    WorkerOptions workers;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = mine.add_subcommand(
      "encrypt", "Encrypt transactions for the server, and ask for the first counts");
  show_examples_first(*verb, "  tabane mine encrypt client server shop.dat --min-support 0.02");
  options->folders.add_client_to(*verb, "The folder with the secret key");
  options->folders.add_server_to(*verb, "The folder for the encrypted database");
  verb->add_option("FILE", options->file, "The transactions; - is standard input")->required();
  options->mine.add_to(*verb, "as many as the keys are made for");
  options->workers.add_threads_to(*verb);
  verb->callback([options] {
    make_memory_unreadable();
    MineRequest request = options->mine.request(options->file, of_keys);
    options->workers.fill(request);
    const Folders& folders = options->folders;
    fmt::print("{}", text_of(encrypt_database(folders.client, folders.server,
                                              FimiFile(options->file), request),
                             folders));
  });
}

void add_mine_count(CLI::App& mine) {
  struct Options {
    Folders folders;
    WorkerOptions workers;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      mine.add_subcommand("count", "Count what the query asks for, on the encrypted database");
  show_examples_first(*verb,
                      "  tabane mine count server\n"
                      "  mpirun -n 4 tabane mine count server    on the ranks of MPI, each with "
                      "some of the blocks");
  options->folders.add_server_to(*verb, "The folder with public keys, database and query");
  options->workers.add_to(*verb);
  verb->callback([options] {
    const Folders& folders = options->folders;
    const WorkerOptions& workers = options->workers;
    const auto report = [&](const Counted& counted) {
      fmt::print(
          "{}{}/answer has the counts of {} candidates of {} {}: {} products, {} key "
          "switches, {}\n",
          counted.insecure ? kMark : "", printable(folders.server), grouped(counted.candidates),
          counted.length, counted.length == 1 ? "item" : "items", grouped(counted.work.products),
          grouped(counted.work.key_switches), core::format_seconds(counted.work.seconds));
    };
    if (comm::is_one_of_several()) workers.check_for_ranks();
    on_ranks(
        [&](comm::Comm* ranks, bool& lost) {
          try {
            report(ranks != nullptr
                       ? count_query_on_ranks(*ranks, folders.server, workers.threads)
                       : count_query(folders.server, workers.processes, workers.threads));
          } catch (const core::Error&) {
            lost = ranks != nullptr;
            throw;
          }
          return 0;
        },
        [&](comm::Comm& ranks) { count_query_on_ranks(ranks, folders.server, workers.threads); });
  });
}

void add_mine_decrypt(CLI::App& mine) {
  struct Options {
    Folders folders;
    WorkerOptions workers;
    MineOutput output;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = mine.add_subcommand(
      "decrypt", "Decrypt the server's counts, and ask for the next ones or give the results");
  show_examples_first(*verb, "  tabane mine decrypt client server --rules rules.csv");
  options->folders.add_client_to(*verb, "The folder with the secret key");
  options->folders.add_server_to(*verb, "The folder with the answer");
  options->workers.add_threads_to(*verb);
  options->output.add_to(*verb);
  verb->callback([options] {
    make_memory_unreadable();
    options->output.check();
    const Folders& folders = options->folders;
    const Decrypted done = decrypt_answer(folders.client, folders.server, options->workers.threads);
    if (done.asked.length == 0) return options->output.write(done.outcome);
    if (!options->output.quiet) fmt::print("{}", text_of(done.asked, folders));
  });
}

}  // namespace tabane::cli
