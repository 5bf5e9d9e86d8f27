// tabane mine keygen, encrypt, count, decrypt: the roles as separate steps.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "tabane/comm/launch.h"
#include "tabane/core/units.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/passphrase_prompt.h"
#include "tabane/tools/mine/steps.h"
#include "tabane/tools/mine/verb.h"

namespace tabane::program {
namespace {

using namespace mine;

// The options of the steps; each has some of them.
struct StepOptions {
  std::string client, server;  // folders
  KeySpec keys{.transactions = 2'000'000};
  MineRequest request{.keys = {.most_length = of_keys}};
  Workers workers;
  MineOutput output;

  Option client_row(const char* what) { return {"CLIENT", &client, what, {.required = true}}; }
  Option server_row(const char* what) { return {"SERVER", &server, what, {.required = true}}; }
};

constexpr const char* kMark = "INSECURE PARAMETERS\n";

std::string text_of(const QueryReport& asked, const StepOptions& options) {
  const char* const mark = asked.insecure ? kMark : "";
  if (asked.candidates == 0) return fmt::format("{}nothing is left to count\n", mark);
  return fmt::format("{}{}/query asks for {} candidates of {}\n", mark, printable(options.server),
                     core::grouped(asked.candidates), core::counted(asked.length, "item"));
}

std::string text_of(const Encryption& how, const StepOptions& options) {
  return fmt::format(
      "{}{}/secret.key is a new key, which stays there; {} is for the server\n"
      "BGV, ring degree {}, plaintext modulus {}, modulus of {:.0f} bits{}; not audited\n",
      how.insecure() ? kMark : "", printable(options.client), printable(options.server),
      how.ring_degree, how.plaintext_modulus, how.log2_modulus,
      how.insecure() ? "" : fmt::format(": {}-bit security", how.security_bits));
}

Definition define_keygen() {
  const auto options = std::make_shared<StepOptions>();
  return {table({options->client_row("The folder for the secret key; it stays with its owner"),
                 options->server_row("The folder for all that the server may see"),
                 {"--max-length N",
                  &options->keys.most_length,
                  "For itemsets of at most N items (default 3)",
                  {.range = {1, kLongestItemset}}},
                 {"--transactions N",
                  &options->keys.transactions,
                  "For databases of at most N transactions (default 2000000)",
                  {.range = kAboveZero}}},
                key_rows(options->keys)),
          [options](const Given&) {
            make_memory_unreadable();
            const Encryption how = make_keys(options->client, options->server, options->keys);
            fmt::print("{}", text_of(how, *options));
            return kOk;
          }};
}

Definition define_encrypt() {
  const auto options = std::make_shared<StepOptions>();
  MineRequest& request = options->request;
  return {table({options->client_row("The folder with the secret key"),
                 options->server_row("The folder for the encrypted database"),
                 {"FILE",
                  &request.database,
                  "The transactions; - is standard input",
                  {.required = true}}},
                itemset_rows(request, "as many as the keys are made for"),
                std::vector<Option>{threads_row(request.workers)}),
          [options](const Given&) {
            make_memory_unreadable();
            const MineRequest& asked = options->request;
            const QueryReport report =
                encrypt_database(options->client, options->server,
                                 FimiFile(asked.database, asked.between_words), asked);
            fmt::print("{}", text_of(report, *options));
            return kOk;
          }};
}

int run_count(const StepOptions& options) {
  const std::string& server = options.server;
  if (comm::is_one_of_several()) check_for_ranks(options.workers);
  keep_freed_memory();
  return with_ranks(
      [&](comm::Comm* ranks) {
        const QueryReport counted = count_query(server, options.workers, ranks);
        fmt::print(
            "{}{}/answer has the counts of {} candidates of {}: {} products, {} key "
            "switches, {}\n",
            counted.insecure ? kMark : "", printable(server), core::grouped(counted.candidates),
            core::counted(counted.length, "item"), core::grouped(counted.work.products),
            core::grouped(counted.work.key_switches), core::format_seconds(counted.work.seconds));
      },
      [&](comm::Comm& ranks) { count_query(server, options.workers, &ranks); });
}

Definition define_count() {
  const auto options = std::make_shared<StepOptions>();
  return {table({options->server_row("The folder with public keys, database and query")},
                worker_rows(options->workers)),
          [options](const Given&) { return run_count(*options); }};
}

int run_decrypt(const StepOptions& options) {
  make_memory_unreadable();
  options.output.check();
  const DecryptedAnswer done =
      decrypt_answer(options.client, options.server, options.workers.threads);
  if (done.next.candidates == 0)
    options.output.write(done.result);
  else if (!options.output.quiet)
    fmt::print("{}", text_of(done.next, options));
  return kOk;
}

Definition define_decrypt() {
  const auto options = std::make_shared<StepOptions>();
  return {table({options->client_row("The folder with the secret key"),
                 options->server_row("The folder with the answer"), threads_row(options->workers)},
                options->output.rows()),
          [options](const Given&) { return run_decrypt(*options); }};
}

}  // namespace

extern constinit const Verb mine_keygen_verb{
    .name = "keygen",
    .what = "Make the client's secret key and the server's public keys",
    .examples = "  tabane mine keygen --max-length 2 client server",
    .define = define_keygen};

extern constinit const Verb mine_encrypt_verb{
    .name = "encrypt",
    .what = "Encrypt transactions for the server, and ask for the first counts",
    .examples = "  tabane mine encrypt client server shop.dat --min-support 0.02",
    .define = define_encrypt};

extern constinit const Verb mine_count_verb{
    .name = "count",
    .what = "Count what the query asks for, on the encrypted database",
    .examples =
        "  tabane mine count server\n"
        "  mpirun -n 4 tabane mine count server    on the ranks of MPI, each with some of "
        "the blocks",
    .define = define_count};

extern constinit const Verb mine_decrypt_verb{
    .name = "decrypt",
    .what = "Decrypt the server's counts, and ask for the next ones or give the results",
    .examples = "  tabane mine decrypt client server --rules rules.csv",
    .define = define_decrypt};

}  // namespace tabane::program
