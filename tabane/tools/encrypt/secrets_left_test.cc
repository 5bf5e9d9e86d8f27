// What a process still has of its secrets when a job has ended, as another process reads it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/tools/encrypt/rekey.h"
#include "tabane/tools/encrypt/tree_home.h"
#include "tabane/tools/encrypt/tree_job_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::write_file;
using Secrets = std::map<std::string, Bytes>;

// The memory that a stopped child may have written to.
void search(pid_t child, const Secrets& secrets, Lines& found) {
  const std::string process = "/proc/" + std::to_string(child);
  const core::Descriptor memory(open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(memory.valid());
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long from = 0, to = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, access) != 3) continue;
    if (access[1] != 'w') continue;
    Bytes bytes(to - from);
    const ssize_t there = pread(memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(from));
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, there)));
    for (const auto& [name, secret] : secrets) {
      const auto at = std::ranges::search(bytes, secret);
      if (!at.empty()) found.push_back(name + " in " + line);
    }
  }
}

// Does the work in a process of its own, and returns which secrets are left there. secrets: found
// out afterwards, in this process.
Lines left_of(const std::function<void()>& work, const std::function<Secrets()>& secrets) {
  int ended[2];
  EXPECT_EQ(pipe2(ended, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    work();
    const char done = 1;
    static_cast<void>(write(ended[1], &done, 1));
    for (;;) pause();
  }
  close(ended[1]);
  char done = 0;
  EXPECT_EQ(read(ended[0], &done, 1), 1) << "the work has failed";
  close(ended[0]);
  Lines found;
  if (done != 0) search(child, secrets(), found);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return found;
}

Bytes copy_of(std::span<const std::byte> secret) { return {secret.begin(), secret.end()}; }

class SecretsLeft : public SealsATree {
 protected:
  SecretsLeft() {
    threads = 2;
    fs::create_directory(in);
    write_file(in / "a", "a file");
    write_file(in / "b", std::string(300'000, 'b'));
  }
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers have terabytes of memory of their own";
#endif
  }

  // In a process of its own, so that this one has nothing that others get from it.
  void draw_secrets() {
    for (const char* old : {"sealed", "opened", "identity", "key", "words"}) {
      fs::remove_all(root / old);
    }
    const auto draw = [&] {
      write_new_identity(root / "identity");
      crypto::write_new_key_file(root / "key");
      write_new_identity(root / "other");
      fs::rename(root / "other", root / "words");
    };
    EXPECT_EQ(left_of(draw, [] { return Secrets(); }), Lines{});
    const std::string comment = "# public key: ";
    const std::string text = core::read_file(root / "identity");
    recipient = parse_recipient(text.substr(comment.size(), text.find('\n') - comment.size()));
  }

  void give(Request& request, bool by_words) const {
    request.has_key = !by_words;
    if (by_words) {
      request.passphrase = crypto::read_passphrase_file(root / "words").passphrase;
    } else {
      request.key = crypto::read_key_file(root / "key", 32).key;
    }
  }
  void encrypt(bool by_words) const {
    Request there = request(Direction::encrypt, in, sealed);
    there.resume = true;
    there.recipients = {recipient};
    give(there, by_words);
    run_job(there);
  }

  Secrets secrets(bool by_words) const {
    Secrets all;
    const auto text = core::read_file(sealed / ".tabane/keys");
    const KeysFile file = decode_keys_file(std::as_bytes(std::span(text)));
    const Slot& slot = file.slots[0];
    MasterKey master = crypto::read_key_file(root / "key", 32).key;
    if (by_words) {
      const crypto::Passphrase words = crypto::read_passphrase_file(root / "words").passphrase;
      master = crypto::scrypt_key(words.bytes(), slot.scrypt);
      all["passphrase"] = copy_of(words.bytes());
    }
    all["master key"] = copy_of(master.bytes());
    const auto tree = open_slot(slot, file.tree, master);
    all["tree key"] = copy_of(tree->bytes());
    all["identity"] = copy_of(read_identity_file(root / "identity").identities[0].secret.bytes());
    all["identity's text"] = from_text(core::read_file(root / "identity").substr(100, 50));
    for (const char* name : {"a", "b", ".tabane/manifest"}) {
      const auto content = name[0] == '.' ? Content::manifest : Content::file;
      all[std::string("key of ") + name] =
          copy_of(derive_file_keys(header_of(sealed / name), *tree, content).key.bytes());
    }
    return all;
  }

  Recipient recipient{};
};

TEST_F(SecretsLeft, AreNoneOfAJobThatEncrypts) {
  for (const bool by_words : {false, true}) {
    draw_secrets();
    EXPECT_EQ(left_of([&] { encrypt(by_words); }, [&] { return secrets(by_words); }), Lines{});
  }
}

TEST_F(SecretsLeft, AreNoneOfAJobThatDecrypts) {
  for (const bool by_words : {false, true}) {
    draw_secrets();
    ASSERT_EQ(left_of([&] { encrypt(by_words); }, [] { return Secrets(); }), Lines{});
    const auto decrypt = [&] {
      Request back = request(Direction::decrypt, sealed, root / "opened");
      give(back, by_words);
      back.identities = read_identity_file(root / "identity").identities;
      run_job(back);
    };
    EXPECT_EQ(left_of(decrypt, [&] { return secrets(by_words); }), Lines{});
  }
}

}  // namespace
}  // namespace tabane::encrypt
