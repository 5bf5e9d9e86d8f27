#include "tabane/tools/encrypt/bench_programs.h"

#include <exception>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::bench {
namespace {

// The unmounting program of FUSE 3 or 2.
std::string fusermount() { return in_path("fusermount3") ? "fusermount3" : "fusermount"; }

// Makes `contender` one that says why it is missing.
void leave_out(Contender& contender, const std::exception& reason) {
  contender.missing = reason.what();
}

}  // namespace

OtherPrograms::OtherPrograms(const Workplace& place)
    : place_(place),
      folder_(place.folder() / "programs"),
      password_(folder_ / "password"),
      mount_(folder_ / "mounted") {
  make_empty(folder_);
  core::write_file(password_, "example\n");
}

OtherPrograms::~OtherPrograms() {
  if (!mounted_) return;
  try {
    run_command({fusermount(), "-u", mount_});
  } catch (const std::exception&) {  // the folder stays; there is nobody to tell
  }
}

Contender OtherPrograms::age(double target) const {
  const fs::path identity = folder_ / "age-identity", recipient = folder_ / "age-recipient";
  const std::string processes = place_.processes();
  Contender e = place_.contender(
      "xargs -P" + processes + " age",
      {"xargs", "-0", "-a", place_.list("age names", place_.names()), "-P", processes, "-I{}",
       "age", "-R", recipient, "-o", place_.out() / "{}", place_.plain() / "{}"},
      target);
  if (!in_path("age") || !in_path("age-keygen")) e.missing = "age was not found";
  if (!e.missing.empty()) return e;
  try {
    run_command({"age-keygen", "-o", identity});
    run_command({"age-keygen", "-y", "-o", recipient, identity});
  } catch (const core::Error& error) {
    leave_out(e, error);
  }
  e.before = [&place = place_] {
    make_empty(place.out());
    for (const std::string& name : place.names()) {
      fs::create_directories((place.out() / name).parent_path());
    }
  };
  return e;
}

Contender OtherPrograms::gocryptfs(double target) {
  const fs::path copy = mount_ / "copy";
  Contender e =
      place_.contender("cp -r into gocryptfs", {"cp", "-r", place_.plain(), copy}, target);
  if (!in_path("gocryptfs")) e.missing = "gocryptfs was not found";
  if (!in_path(fusermount())) e.missing = "fusermount3 was not found";
  if (!e.missing.empty()) return e;
  try {
    mount_gocryptfs();
  } catch (const core::Error& error) {
    leave_out(e, error);
  }
  e.before = [copy] { remove_tree(copy); };
  e.how += "; " + version_of("gocryptfs");
  return e;
}

void OtherPrograms::mount_gocryptfs() {
  const fs::path store = folder_ / "gocryptfs";
  make_empty(store);
  make_empty(mount_);
  run_command({"gocryptfs", "-q", "-init", "-passfile", password_, store});
  run_command({"gocryptfs", "-q", "-nosyslog", "-passfile", password_, store, mount_});
  mounted_ = true;
}

Contender OtherPrograms::rclone(double target) const {
  const fs::path config = folder_ / "rclone.conf", store = folder_ / "rclone";
  Contender e =
      place_.contender("rclone copy to crypt",
                       {"rclone", "--config", config, "copy", place_.plain(), "bench:"}, target);
  if (!e.missing.empty()) return e;
  try {
    run_command({"rclone", "--config", config, "config", "create", "bench", "crypt", "remote",
                 store, "password", "example"});
  } catch (const core::Error& error) {
    leave_out(e, error);
  }
  e.before = [store] { make_empty(store); };
  return e;
}

Contender OtherPrograms::restic(double target) const {
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

}  // namespace tabane::bench
