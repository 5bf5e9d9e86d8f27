#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/bench_place.h"

namespace tabane::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// A command that is run when this goes. If it fails, the folder stays; there is nobody to tell.
class AtEnd {
 public:
  explicit AtEnd(Command command) : command_(std::move(command)) {}
  ~AtEnd() {
    try {
      run_command(command_);
    } catch (const std::exception&) {
    }
  }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  Command command_;
};

// The unmounting program of FUSE 3 or 2.
std::string fusermount() { return in_path("fusermount3") ? "fusermount3" : "fusermount"; }

// Runs the commands that a contender needs before it can take part; one that fails says why it is
// missing.
void prepare(Contender& contender, const std::function<void()>& commands) {
  if (!contender.missing.empty()) return;
  try {
    commands();
  } catch (const core::Error& error) {
    contender.missing = error.what();
  }
}

// Keys, repositories and a mount in the folder of a place; each program gets its plain files.
class OtherPrograms {
 public:
  // The place outlives the programs.
  explicit OtherPrograms(const Workplace& place)
      : place_(place),
        folder_(place.folder() / "programs"),
        password_(folder_ / "password"),
        mount_(folder_ / "mounted") {
    make_empty(folder_);
    core::write_file(password_, "example\n");
  }

  // One age for each file, as many at once as PUs, to a public key.
  Contender age(double target) const {
    const fs::path identity = folder_ / "age-identity", recipient = folder_ / "age-recipient";
    const std::string processes = place_.processes();
    const auto age_of = [&](const std::string& name) {
      return Command{"age", "-R", recipient, "-o", place_.out() / name, place_.plain() / name};
    };
    Command many{"xargs", "-0",      "-a",  place_.list("age names", place_.names()),
                 "-P",    processes, "-I{}"};
    std::ranges::copy(age_of("{}"), std::back_inserter(many));
    Contender e = place_.files() == 1
                      ? place_.contender("age", age_of(place_.names()[0]), target)
                      : place_.contender("xargs -P" + processes + " age", many, target);
    if (!in_path("age") || !in_path("age-keygen")) e.missing = "age was not found";
    prepare(e, [&] {
      run_command({"age-keygen", "-o", identity});
      run_command({"age-keygen", "-y", "-o", recipient, identity});
    });
    e.before = [&place = place_] {
      make_empty(place.out());
      for (const std::string& name : place.names()) {
        fs::create_directories((place.out() / name).parent_path());
      }
    };
    return e;
  }

  // cp -r into a mounted folder, which is mounted and made empty outside the time.
  Contender gocryptfs(double target) {
    const fs::path copy = mount_ / "copy";
    Contender e =
        place_.contender("cp -r into gocryptfs", {"cp", "-r", place_.plain(), copy}, target);
    if (!in_path("gocryptfs")) e.missing = "gocryptfs was not found";
    if (!in_path(fusermount())) e.missing = "fusermount3 was not found";
    prepare(e, [&] {
      mount_gocryptfs();
      e.before = [copy] { remove_tree(copy); };
      e.how += "; " + version_of("gocryptfs");
    });
    return e;
  }

  // rclone copy to a remote of kind crypt that is a folder.
  Contender rclone(double target) const {
    const fs::path config = folder_ / "rclone.conf", store = folder_ / "rclone";
    Contender e =
        place_.contender("rclone copy to crypt",
                         {"rclone", "--config", config, "copy", place_.plain(), "bench:"}, target);
    prepare(e, [&] {
      run_command({"rclone", "--config", config, "config", "create", "bench", "crypt", "remote",
                   store, "password", "example"});
    });
    e.before = [store] { make_empty(store); };
    return e;
  }

  // restic backup into a repository that is made outside the time.
  Contender restic(double target) const {
    const fs::path store = folder_ / "restic";
    const Command restic{"restic",          "-q",      "-r",          store,
                         "--password-file", password_, "--cache-dir", folder_ / "restic-cache"};
    const auto with = [&](std::initializer_list<std::string> words) {
      Command command = restic;
      command.insert(command.end(), words);
      return command;
    };
    Contender e = place_.contender("restic backup", with({"backup", place_.plain()}), target);
    e.before = [store, init = with({"init"})] {
      remove_tree(store);
      run_command(init);
    };
    return e;
  }

 private:
  void mount_gocryptfs() {
    const fs::path store = folder_ / "gocryptfs";
    make_empty(store);
    make_empty(mount_);
    run_command({"gocryptfs", "-q", "-init", "-passfile", password_, store});
    run_command({"gocryptfs", "-q", "-nosyslog", "-passfile", password_, store, mount_});
    unmounted_.emplace(Command{fusermount(), "-u", mount_});
  }

  const Workplace& place_;
  fs::path folder_, password_, mount_;
  std::optional<AtEnd> unmounted_;  // what gocryptfs has mounted
};

void ask_about_large_files(Asking& asking) {
  const std::string name = "100 files of 4 MiB beside other programs, encrypt aes-256-gcm";
  at_workplace(asking, {name}, 2 * 100 * 4 * kMiB, [&](Workplace& place) {
    place.fill(0, 100, 4 * kMiB);
    OtherPrograms programs(place);
    Question question = place.question(
        name, "B/s", place.tabane(gcm(), Direction::encrypt, {}),
        {programs.age(2), programs.gocryptfs(3), programs.rclone(3), programs.restic(3)});
    // Programs that are many times slower tell enough in a few runs.
    question.measure = long_runs(asking.panel.settings(), 7, 5);
    asking.panel.ask(question);
  });
}

void ask_about_small_files(Asking& asking) {
  const std::string name = "20000 files of 1 KiB beside other programs, encrypt aes-256-gcm";
  at_workplace(asking, {name}, std::uint64_t{20000} * 2 * 4096, [&](Workplace& place) {
    place.fill(100, 200, 1024);
    OtherPrograms programs(place);
    Question question = place.question(name, "files/s", place.tabane(gcm(), Direction::encrypt, {}),
                                       {programs.age(5)});
    question.measure->min_epochs = 3;
    asking.panel.ask(question);
  });
}

void ask_about_one_small_file(Asking& asking) {
  const std::string name = "1 file of 1 KiB beside age, encrypt aes-256-gcm";
  at_workplace(asking, {name}, 1024, [&](Workplace& place) {
    place.fill(0, 1, 1024);
    OtherPrograms programs(place);
    asking.panel.ask(
        place.question(name, "B/s", place.tabane_one_file(gcm()), {programs.age(1 / 1.5)}));
  });
}

// One command against one other on trees that no run changes.
void ask_one(Panel& panel, const Workplace& place, const std::string& name, Contender ours,
             Contender peer) {
  if (!panel.wants(name)) return;
  Question question = place.question(name, "files/s", std::move(ours), {std::move(peer)});
  question.ours.before = question.peers[0].before = {};
  panel.ask(question);
}

void ask_about_unchanged_trees(Asking& asking) {
  const std::string what = "200000 files, nothing changed, ";
  const std::string update = what + "encrypt --update", verify = what + "verify --quick";
  at_workplace(asking, {update, verify}, std::uint64_t{200000} * 4096, [&](Workplace& place) {
    place.fill(400, 500, 1024);
    place.seal_once(gcm());
    const fs::path copy = place.folder() / "copy";
    Contender rsync =
        place.contender("rsync -a", {"rsync", "-a", place.plain().string() + "/", copy}, 1);
    if (asking.panel.wants(update)) prepare(rsync, [&] { rsync.work(1); });
    ask_one(asking.panel, place, update, place.update(gcm()), rsync);
    ask_one(
        asking.panel, place, verify, place.quick_verify(gcm()),
        place.contender("find -type f, with stat",
                        {"find", place.sealed(), "-type", "f", "-printf", "%s %T@ %p\\n"}, 1 / 3.));
  });
}

Contender copy_to_disk(const Workplace& place, bool sync) {
  if (!sync) return place.parallel_cp(Direction::encrypt, 0.95);
  return place.contender("cp -r, then sync of each file",
                         {"sh", "-c",
                          fmt::format("cp -r '{0}/.' '{1}' && sync '{1}'/*", place.plain().string(),
                                      place.out().string())},
                         0.95);
}

}  // namespace

void ask_disk(Asking& asking) {
  constexpr std::uint64_t kFiles = 50;
  // Four times the files, what a place keeps free, and what the file system needs for itself.
  constexpr std::uint64_t kDisk = 4 * kFiles * 4 * kMiB + 1536 * kMiB;
  Panel& panel = asking.panel;
  const std::string what = fmt::format("{} files of 4 MiB on ext4, encrypt aes-256-gcm", kFiles);
  const std::string synced = what + ", --fsync";
  if (!asking.wants_any({what, synced})) return;
  try {
    const core::ScratchFolder folder("tabane-bench", panel.settings().directory);
    const fs::path image = folder / "image", disk = folder / "disk";
    fs::create_directory(disk);
    run_command({"truncate", "-s", std::to_string(kDisk), image});
    run_command({"mkfs.ext4", "-q", "-F", image});
    run_command({"mount", "-o", "loop", image, disk});
    const AtEnd unmounted({"umount", disk});
    Settings settings = panel.settings();
    settings.directory = disk;
    Workplace place(settings, asking);
    const std::string missing = place.missing(kFiles * 4 * kMiB);
    if (!missing.empty()) throw core::Error(missing);
    place.fill(0, kFiles, 4 * kMiB);
    for (const bool sync : {false, true}) {
      if (!panel.wants(sync ? synced : what)) continue;
      std::vector<std::string> options{"-q"};
      if (sync) options.push_back("--fsync");
      panel.ask(place.question(sync ? synced : what, "B/s",
                               place.tabane(gcm(), Direction::encrypt, options),
                               {copy_to_disk(place, sync)}));
    }
  } catch (const std::exception& reason) {
    asking.skip({what, synced}, reason.what());
  }
}

void ask_trees(Asking& asking) {
  ask_about_large_files(asking);
  ask_about_small_files(asking);
  ask_about_one_small_file(asking);
  ask_about_unchanged_trees(asking);
}

}  // namespace tabane::bench
