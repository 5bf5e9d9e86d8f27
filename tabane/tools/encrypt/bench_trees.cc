#include "tabane/tools/encrypt/bench_trees.h"

#include "tabane/tools/encrypt/bench_memory.h"
#include "tabane/tools/encrypt/bench_place.h"
#include "tabane/tools/encrypt/bench_programs.h"

namespace tabane::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Programs that are many times slower tell enough in a few runs.
core::MeasureOptions few_commands(const Settings& settings) {
  core::MeasureOptions options = whole_commands(settings);
  options.min_epochs = settings.quick ? 3 : 7;
  return options;
}

void ask_about_large_files(Panel& panel, core::PinnedPool& pool, Usage& total) {
  const std::string name = "100 files of 4 MiB beside other programs, encrypt aes-256-gcm";
  if (!panel.wants(name)) return;
  Workplace place(panel.settings(), pool, total);
  const std::string missing = place.missing(2 * 100 * 4 * kMiB);
  if (!missing.empty()) return panel.skip(name, missing);
  place.fill(0, 100, 4 * kMiB);
  OtherPrograms programs(place);
  Question question{name, "B/s", place.tabane(gcm(), Direction::encrypt, {}), {}};
  question.measure = few_commands(panel.settings());
  question.peers = {programs.age(2), programs.gocryptfs(3), programs.rclone(3), programs.restic(3)};
  panel.ask(question);
}

void ask_about_small_files(Panel& panel, core::PinnedPool& pool, Usage& total) {
  const std::string name = "20000 files of 1 KiB beside other programs, encrypt aes-256-gcm";
  if (!panel.wants(name)) return;
  Workplace place(panel.settings(), pool, total);
  const std::string missing = place.missing(std::uint64_t{20000} * 2 * 4096);
  if (!missing.empty()) return panel.skip(name, missing);
  place.fill(100, 200, 1024);
  OtherPrograms programs(place);
  Question question{name, "files/s", place.tabane(gcm(), Direction::encrypt, {}), {}};
  question.measure = few_commands(panel.settings());
  question.measure->min_epochs = 3;
  question.peers = {programs.age(5)};
  question.ours.amount = static_cast<double>(place.files());
  for (Contender& peer : question.peers) peer.amount = question.ours.amount;
  panel.ask(question);
}

// One command against one other on trees that no run changes.
void ask_one(Panel& panel, const Workplace& place, const std::string& name, Contender ours,
             Contender peer) {
  if (!panel.wants(name)) return;
  Question question{name, "files/s", std::move(ours), {std::move(peer)}};
  question.measure = whole_commands(panel.settings());
  question.ours.amount = question.peers[0].amount = static_cast<double>(place.files());
  question.ours.before = question.peers[0].before = {};
  panel.ask(question);
}

void ask_about_unchanged_trees(Panel& panel, core::PinnedPool& pool, Usage& total) {
  const std::string what = "200000 files, nothing changed, ";
  const std::string update = what + "encrypt --update", verify = what + "verify --quick";
  const bool updates = panel.wants(update), verifies = panel.wants(verify);
  if (!updates && !verifies) return;
  Workplace place(panel.settings(), pool, total);
  const std::string missing = place.missing(std::uint64_t{200000} * 4096);
  if (!missing.empty()) {
    panel.skip(update, missing);
    panel.skip(verify, missing);
    return;
  }
  place.fill(400, 500, 1024);
  place.seal_once(gcm());
  const fs::path copy = place.folder() / "copy";
  Contender rsync =
      place.contender("rsync -a", {"rsync", "-a", place.plain().string() + "/", copy}, 1);
  try {
    if (updates && rsync.missing.empty()) rsync.work(1);
  } catch (const core::Error& error) {
    rsync.missing = error.what();
  }
  ask_one(panel, place, update, place.update(gcm()), rsync);
  ask_one(
      panel, place, verify, place.quick_verify(gcm()),
      place.contender("find -type f, with stat",
                      {"find", place.sealed(), "-type", "f", "-printf", "%s %T@ %p\\n"}, 1 / 3.));
}

}  // namespace

void ask_trees(Panel& panel, core::PinnedPool& pool, Usage& total) {
  ask_about_large_files(panel, pool, total);
  ask_about_small_files(panel, pool, total);
  ask_about_unchanged_trees(panel, pool, total);
}

}  // namespace tabane::bench
