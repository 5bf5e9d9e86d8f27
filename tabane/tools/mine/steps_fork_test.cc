#include "tabane/tools/mine/steps.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/files.h"
#include "tabane/tools/mine/server.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {
namespace {

namespace fs = std::filesystem;

class Steps : public testing::Test {
 protected:
  Steps() {
    write_generated({.transactions = 600, .items = 30, .mean_transaction = 6, .patterns = 20},
                    shop());
  }

  std::string shop() const { return (folder_ / "shop.dat").string(); }
  Folder client() const { return folder_ / "client"; }
  Folder server() const { return folder_ / "server"; }

  MineRequest request() const {
    return {.database = "shop",
            .min_support = 0.1,
            .keys = {.most_length = 4, .degree = 128, .allow_insecure = true},
            .workers = {.threads = 2}};
  }
  void keys() { make_keys(client(), server(), spec()); }
  KeySpec spec() const {
    return {.most_length = 4, .transactions = 1000, .degree = 128, .allow_insecure = true};
  }
  QueryReport encrypted() {
    return encrypt_database(client(), server(), FimiFile(shop()), request());
  }
  QueryReport counted(int threads = 1) const {
    return count_query(server(), {.processes = 1, .threads = threads});
  }
  MineResult plain() const { return mine_plain(FimiFile(shop()), request()); }

  // The sentence of what is thrown.
  template <class F>
  std::string complaint(F&& f) {
    return core::text_of_error<core::Error>(f);
  }

  core::ScratchFolder folder_{"mine-steps"};
};

TEST_F(Steps, FindWhatPlainMiningFinds) {
  keys();
  QueryReport asked = encrypted();
  MineResult found;
  for (std::size_t length = 1; asked.candidates > 0; ++length) {
    EXPECT_EQ(asked.length, length);
    EXPECT_EQ(counted(2).candidates, asked.candidates);
    const DecryptedAnswer done = decrypt_answer(client(), server(), 2);
    asked = done.next;
    found = done.result;
  }
  EXPECT_FALSE(std::filesystem::exists(server() / "query"));
  EXPECT_EQ(found.itemsets, plain().itemsets);
  EXPECT_GE(found.itemsets.back().items.size(), 3);
  EXPECT_TRUE(found.encryption->insecure());
  EXPECT_GT(found.encryption->work.key_switches, 0);
  // Asked again, it tells the results again.
  EXPECT_EQ(decrypt_answer(client(), server(), 1).result.itemsets, found.itemsets);
}

TEST_F(Steps, AllInOneGoFindTheSame) {
  const MineResult expected = plain();
  const FimiFile file(shop());
  const MineResult found = mine_encrypted(file, request());
  EXPECT_EQ(found.itemsets, expected.itemsets);
  EXPECT_EQ(found.rules.size(), expected.rules.size());
  MineRequest hidden = request();
  hidden.keys = {.most_length = 2, .hide_slots = true, .allow_insecure = true};
  const MineResult totals = mine_encrypted(file, hidden);
  EXPECT_EQ(totals.itemsets, mine_plain(file, hidden).itemsets);
  EXPECT_TRUE(totals.encryption->hide_slots);
}

TEST_F(Steps, MoreCandidatesThanABatchHasAreAllCounted) {
  MineRequest pairs = request();
  pairs.min_support = 0.002;
  pairs.keys.most_length = 2;
  std::size_t most = 0;
  pairs.on_counting = [&](std::size_t, std::size_t candidates) {
    most = std::max(most, candidates);
  };
  const FimiFile file(shop());
  EXPECT_EQ(mine_encrypted(file, pairs).itemsets, mine_plain(file, pairs).itemsets);
  EXPECT_GT(most, kMostCandidates);
}

TEST_F(Steps, RanksFindTheSame) {
  const MineResult expected = plain();
  for (const int ranks : {2, 3, 7}) {  // there are 5 blocks
    const auto found = comm::launch_result<MineResult>(
        {.ranks = ranks, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
          if (comm.rank() == 0) return mine_encrypted(FimiFile(shop()), request(), &comm);
          help_mining(comm, 1);
          return MineResult{};
        });
    EXPECT_EQ(found->itemsets, expected.itemsets) << ranks;
    EXPECT_EQ(found->encryption->ranks, ranks);
  }
}

TEST_F(Steps, RanksOfAMachineShareItsMemory) {
  const bgv::Parameters parameters = choose_parameters(spec());
  const double of_block = database_bytes(parameters, {.items = 1, .blocks = 1});
  // Two ranks with half of the blocks each, of which together they take `share` of what is free.
  const auto result = [&](double share) {
    const double blocks = share * comm::usable_memory() / of_block;
    return complaint([&] {
      comm::launch({.ranks = 2, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
        check_memory_of_ranks(comm, parameters,
                              {.items = 1, .blocks = static_cast<std::size_t>(blocks)});
      });
    });
  };
  EXPECT_EQ(result(0.3), "");
  EXPECT_NE(result(1.8).find("are free"), std::string::npos);
}

TEST_F(Steps, RanksCountAQuery) {
  keys();
  encrypted();
  comm::launch({.ranks = 2, .transport = comm::TransportKind::shm},
               [&](comm::Comm& comm) { count_query(server(), {.threads = 1}, &comm); });
  const DecryptedAnswer done = decrypt_answer(client(), server(), 1);
  const MineResult expected = plain();
  for (std::size_t i = 0; i < done.result.itemsets.size(); ++i) {
    EXPECT_EQ(done.result.itemsets[i], expected.itemsets[i]);
  }
  EXPECT_FALSE(done.result.itemsets.empty());
}

TEST_F(Steps, SecretsAreTheOwnersAlone) {
  keys();
  encrypted();
  for (const char* name : {"secret.key", "state"}) {
    struct stat seen {};
    ASSERT_EQ(::stat((client() / name).c_str(), &seen), 0);
    EXPECT_EQ(seen.st_mode & 0777, 0600) << name;
  }
  EXPECT_EQ(core::names_in(server()), (std::set<std::string>{"database", "public.keys", "query"}));
}

TEST_F(Steps, KeysAreNeverReplaced) {
  keys();
  EXPECT_NE(complaint([&] { keys(); }).find("secret.key exists"), std::string::npos);
}

TEST_F(Steps, FoldersThatAreNotApartAreRefused) {
  const auto refused = [&](const Folder& owner, const Folder& counts) {
    const std::string told = complaint([&] { make_keys(owner, counts, spec()); });
    EXPECT_NE(told.find("must not be the same, nor one inside the other"), std::string::npos)
        << told;
    EXPECT_FALSE(std::filesystem::exists(owner / "secret.key")) << owner;
    EXPECT_FALSE(std::filesystem::exists(counts / "public.keys")) << counts;
  };
  std::filesystem::create_directory(server());
  std::filesystem::create_directory_symlink(server(), folder_ / "link");
  refused(server(), server());
  refused(server() / "client", server());
  refused(server(), server() / "inner");
  refused(folder_ / "link", server());
  refused(server() / ".." / "server" / "client", folder_ / "link");
  make_keys(folder_ / "server2", server(), spec());  // the name alone begins alike
}

TEST_F(Steps, LaterStepsRefuseFoldersThatAreNotApart) {
  keys();
  const auto told = [](const std::string& sentence) {
    return sentence.find("nor one inside the other") != std::string::npos;
  };
  EXPECT_TRUE(
      told(complaint([&] { encrypt_database(client(), client(), FimiFile(shop()), request()); })));
  EXPECT_TRUE(told(complaint([&] { decrypt_answer(client(), client() / "inner", 1); })));
  EXPECT_FALSE(std::filesystem::exists(client() / "database"));
}

TEST_F(Steps, ASecretKeyDoesNotStayWithoutItsPublicOnes) {
  // Nobody can make a file there.
  EXPECT_NE(complaint([&] { make_keys(client(), "/proc", spec()); }), "");
  EXPECT_FALSE(std::filesystem::exists(client() / "secret.key"));
}

TEST_F(Steps, DamageIsToldWithTheFile) {
  keys();
  encrypted();
  counted();
  const auto of = [&](const Folder& file) {
    const std::string whole = core::read_file(file);
    const bool is_counted = file.filename() != "answer" && file.parent_path() == server();
    const auto expect_told = [&] {
      const std::string sentence = complaint([&] {
        if (is_counted) {
          counted();
        } else {
          decrypt_answer(client(), server(), 1);
        }
      });
      EXPECT_NE(sentence.find(file.filename().string()), std::string::npos)
          << file << ": " << sentence;
      core::write_file(file, whole);
    };
    for (const std::size_t at :
         {std::size_t{3}, std::size_t{9}, std::size_t{13}, whole.size() / 2, whole.size() - 1}) {
      core::flip_bits(file, at);
      expect_told();
    }
    for (const std::size_t size : {std::size_t{0}, std::size_t{10}, whole.size() - 1}) {
      core::write_file(file, whole.substr(0, size));
      expect_told();
    }
  };
  for (const char* name : {"public.keys", "database", "query", "answer"}) of(server() / name);
  for (const char* name : {"secret.key", "state"}) of(client() / name);
}

TEST_F(Steps, KeysForLengthsThatTheyCannotHaveAreRefused) {
  keys();
  const fs::path path = server() / "public.keys";
  PublicKeys shown = read_public_keys(path);
  ASSERT_EQ(shown.context->primes(), 2);  // 8 take 3
  for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{9}}) {
    shown.spec.most_length = length;
    fs::remove(path);
    write_public_keys(path, shown);
    EXPECT_NE(complaint([&] { read_public_keys(path); }).find("public.keys: says that"),
              std::string::npos)
        << length;
  }
}

TEST_F(Steps, RecordsThatCannotBeAreNoDatabase) {
  keys();
  const PublicKeys shown = read_public_keys(server() / "public.keys");
  const bgv::Context& context = *shown.context;
  const auto told = [&](std::uint64_t residue, std::size_t residues) {
    std::string record(sizeof(bgv::Seed), 's');
    const std::vector<std::uint64_t> c0(residues, residue);
    record.append(reinterpret_cast<const char*>(c0.data()), 8 * residues);
    add_digest(record);
    const DatabaseHead head{
        .key = shown.id, .items = 1, .blocks = 1, .record_bytes = record.size()};
    core::write_file(server() / "database", framed(FileKind::database, bytes_of(head)) + record);
    team::Team threads({.processes = 1, .threads = 1});
    return complaint([&] { read_database(server() / "database", shown, 0, 1, threads); });
  };
  const std::size_t all = context.primes() * context.degree();
  const std::uint64_t least = std::ranges::min(context.parameters().primes());
  EXPECT_EQ(told(least - 1, all), "");
  EXPECT_NE(told(std::uint64_t{1} << 50, all).find("is damaged"), std::string::npos);
  EXPECT_NE(told(1, all - 1).find("is damaged"), std::string::npos);
  EXPECT_NE(told(1, all + context.degree()).find("is damaged"), std::string::npos);
}

TEST_F(Steps, FilesOfAnotherKindOrVersionAreTold) {
  keys();
  encrypted();
  const std::string query = core::read_file(server() / "query");
  core::write_file(server() / "query", core::read_file(server() / "public.keys"));
  EXPECT_NE(complaint([&] { counted(); }).find("query: holds public keys, where a query is wanted"),
            std::string::npos);
  std::string later = query;
  later[12] = 2;
  core::write_file(server() / "query", later);
  EXPECT_NE(complaint([&] { counted(); }).find("is of version 2"), std::string::npos);
  core::write_file(server() / "query", "1 2 3\n");
  EXPECT_NE(complaint([&] { counted(); }).find("is not a file of tabane mine"), std::string::npos);
}

TEST_F(Steps, AnotherClientsKeysAreTold) {
  keys();
  encrypted();
  const Folder others = folder_ / "others", their_server = folder_ / "their server";
  make_keys(others, their_server, spec());
  std::filesystem::copy_file(their_server / "public.keys", server() / "public.keys",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(complaint([&] { counted(); }).find("was encrypted with other keys than these"),
            std::string::npos);
}

TEST_F(Steps, AnAnswerOfAnotherKeyIsTold) {
  keys();
  encrypted();
  counted();
  make_keys(folder_ / "others", folder_ / "their server", spec());
  fs::copy_file(folder_ / "others" / "secret.key", client() / "secret.key",
                fs::copy_options::overwrite_existing);
  const std::string told = complaint([&] { decrypt_answer(client(), server(), 1); });
  EXPECT_NE(told.find("answer: was made with other keys than"), std::string::npos) << told;
  EXPECT_NE(told.find("secret.key"), std::string::npos) << told;
}

TEST_F(Steps, WithoutALengthItIsThatOfTheKeys) {
  keys();
  MineRequest open = request();
  open.keys.most_length = of_keys;
  QueryReport asked = encrypt_database(client(), server(), FimiFile(shop()), open);
  MineResult found;
  while (asked.candidates > 0) {
    counted(2);
    const DecryptedAnswer done = decrypt_answer(client(), server(), 2);
    asked = done.next;
    found = done.result;
  }
  EXPECT_EQ(found.most_length, spec().most_length);
  EXPECT_EQ(found.itemsets, plain().itemsets);
}

TEST_F(Steps, AnAnswerToAnotherQueryIsTold) {
  keys();
  encrypted();
  counted();
  const std::string answer = core::read_file(server() / "answer");
  decrypt_answer(client(), server(), 1);
  EXPECT_NE(complaint([&] {
              decrypt_answer(client(), server(), 1);
            }).find("answer: is no answer to the last query"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(server() / "query"));
  counted();
  EXPECT_EQ(decrypt_answer(client(), server(), 1).next.length, 3);
}

TEST_F(Steps, KeysForShorterItemsetsOrFewerTransactionsAreTold) {
  KeySpec pairs = spec();
  pairs.most_length = 2;
  make_keys(client(), server(), pairs);
  EXPECT_NE(complaint([&] { encrypted(); }).find("keys are made for itemsets of up to 2 items"),
            std::string::npos);
}

}  // namespace
}  // namespace tabane::mine
