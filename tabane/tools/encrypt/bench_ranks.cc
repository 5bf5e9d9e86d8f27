// Encrypting and decrypting a tree by two ranks against one process with two threads, on a memory
// file system. The time is that of the job, without the start of ranks.
#include <algorithm>
#include <string>

#include "bench/bench.h"
#include "bench/remote.h"
#include "bench/scratch.h"
#include "tabane/core/error.h"
#include "tabane/core/temporary_file.h"

namespace tabane::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Tree {
  std::string name;
  std::size_t folders, files;  // in each; 0 folders: one flat folder
  std::uint64_t bytes;         // of each file

  double total() const {
    return static_cast<double>(std::max<std::size_t>(1, folders) * files * bytes);
  }
};

Contender contender(std::string name, Remote& server, const std::string& verb, double bytes) {
  return {.name = std::move(name),
          .work = {},
          .amount = bytes,
          .target = 0.95,
          .timed = [&server, verb](std::uint64_t) {
            return 1e-9 * static_cast<double>(server.ask(verb));
          }};
}

void ask_one(Panel& panel, const std::string& name, Remote& server, double bytes) {
  if (!panel.wants(name)) return;
  Question question{name, "B/s", contender("tabane, 2 ranks", server, "ranks", bytes), {}};
  question.peers = {contender("tabane, 2 threads", server, "alone", bytes)};
  question.measure = long_runs(panel.settings(), 15, 10);
  panel.ask(question);
}

void ask_about(Panel& panel, const Tree& tree) {
  const std::string encrypt = tree.name + ", encrypt", decrypt = tree.name + ", decrypt";
  const bool wants_encrypt = panel.wants(encrypt), wants_decrypt = panel.wants(decrypt);
  if (!wants_encrypt && !wants_decrypt) return;
  const core::ScratchFolder folder("tabane-bench", panel.settings().directory);
  const fs::path in = folder.path() / "in", sealed = folder.path() / "sealed",
                 again = folder.path() / "again";
  write_random_tree(in, tree.folders, tree.files, tree.bytes);
  const std::string program = beside_this_program("tabane_bench_aes_ranks");
  Remote there("encrypting", {program, "encrypt", in, sealed});
  ask_one(panel, encrypt, there, tree.total());
  there.ask("ranks");
  Remote back("decrypting", {program, "decrypt", sealed, again});
  ask_one(panel, decrypt, back, tree.total());
  back.ask("alone");
  if (!same(in, again)) throw core::Error("what two ranks have sealed opens to another tree");
}

void ask_all(Panel& panel) {
  for (const Tree& tree :
       {Tree{"100 files of 4 MiB", 0, 100, 4 * kMiB}, Tree{"1 file of 400 MiB", 0, 1, 400 * kMiB},
        Tree{"20000 files of 1 KiB", 100, 200, 1024}})
    panel.part(tree.name, [&] { ask_about(panel, tree); });
}

const RegisteredTopic kTopic({"aes_ranks", "encrypting files on several ranks", ask_all});

}  // namespace
}  // namespace tabane::bench
