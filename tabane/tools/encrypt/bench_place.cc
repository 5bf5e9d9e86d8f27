#include "tabane/tools/encrypt/bench_place.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/units.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::bench {
namespace {

using core::Descriptor;

constexpr std::uint64_t kReserve = std::uint64_t{1} << 30;  // for the programs
// One for all files, nothing stored: what openssl enc does.
constexpr const char* kIv = "000102030405060708090a0b0c0d0e0f";

std::vector<std::byte> example_key() {
  std::vector<std::byte> key(32);
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(7 * i + 1);
  return key;
}

// The program that a command is about, also below xargs.
std::string program_of(const Command& command) {
  for (const char* name : {"openssl", "age", "rclone", "restic", "rsync", "find"}) {
    if (std::find(command.begin(), command.end(), name) != command.end()) return name;
  }
  return "cp";
}

// Returns 0 or errno.
int copy_by_range(const fs::path& from, const fs::path& to) {
  const Descriptor in(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor out(open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!in.valid() || !out.valid()) return errno;
  for (;;) {
    const ssize_t n = copy_file_range(in.get(), nullptr, out.get(), nullptr, 1 << 30, 0);
    if (n == 0) return 0;
    if (n < 0 && errno != EINTR) return errno;
  }
}

}  // namespace

std::string verb(Direction direction) {
  return direction == Direction::encrypt ? "encrypt" : "decrypt";
}

std::string version_of(const std::string& program) {
  const bool by_word = program == "openssl" || program == "rclone" || program == "restic";
  return version_said_by(program + (by_word ? " version" : " --version"));
}

bool Asking::wants_any(const std::vector<std::string>& questions) const {
  return std::ranges::any_of(questions, [&](const auto& name) { return panel.wants(name); });
}

void Asking::skip(const std::vector<std::string>& questions, const std::string& reason) const {
  for (const std::string& question : questions) panel.skip(question, reason);
}

void at_workplace(Asking& asking, const std::vector<std::string>& questions, std::uint64_t bytes,
                  const std::function<void(Workplace&)>& ask) {
  if (!asking.wants_any(questions)) return;
  Workplace place(asking.panel.settings(), asking);
  const std::string missing = place.missing(bytes);
  missing.empty() ? ask(place) : asking.skip(questions, missing);
}

Workplace::Workplace(const Settings& settings, Asking& asking)
    : settings_(settings),
      pool_(asking.pool),
      total_(asking.total),
      scratch_("tabane-bench", settings.directory),
      plain_(scratch_ / "plain"),
      sealed_(scratch_ / "sealed"),
      sealed_by_openssl_(scratch_ / "sealed-by-openssl"),
      out_(scratch_ / "out") {
  const std::vector<std::byte> key = example_key();
  for (const std::byte b : key) hex_key_ += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{32}}) {
    core::write_file(key_path(bytes), {reinterpret_cast<const char*>(key.data()), bytes});
    fs::permissions(key_path(bytes), fs::perms::owner_read | fs::perms::owner_write);
  }
}

std::string Workplace::missing(std::uint64_t bytes) const {
  if (settings_.program.empty())
    return "no tabane in the folder above this program (see --program)";
  const std::uint64_t needed = 4 * bytes + kReserve;
  const std::uint64_t free = core::writable_bytes(scratch_.path());
  if (free >= needed) return "";
  return fmt::format("needs {} in {}, {} are free", core::format_bytes(needed),
                     scratch_.path().parent_path().parent_path().string(),
                     core::format_bytes(free));
}

void Workplace::fill(std::size_t folders, std::size_t files, std::uint64_t bytes_each) {
  make_empty(plain_);
  names_ = write_random_tree(plain_, folders, files, bytes_each);
  bytes_ = names_.size() * bytes_each;
  for (const auto& entry : fs::directory_iterator(plain_)) {
    tops_.push_back(entry.path().filename().string());
  }
  std::sort(tops_.begin(), tops_.end());
}

void Workplace::fill_one_file(std::uint64_t bytes) {
  write_random_file(plain_, bytes, 1);
  names_ = {""};
  bytes_ = bytes;
}

void Workplace::seal(const CipherKind& kind) {
  seal_once(kind);
  remove_tree(out_);
  total_ += run_command(tabane_command(kind, Direction::decrypt, sealed_, out_));
  if (!same(plain_, out_)) {
    throw core::Error("tabane decrypt does not give back what tabane encrypt got: " + kind.name);
  }
  const Contender peer = openssl_enc(kind, Direction::encrypt, 0);
  if (!peer.missing.empty()) return remove_tree(out_);
  try {
    peer.before();
    peer.work(1);
  } catch (const core::Error&) {  // decrypting by openssl enc then fails and says why
    return remove_tree(out_);
  }
  if (kind.chained() && !same(sealed_, out_)) {
    throw core::Error("tabane and openssl enc do not encrypt alike: " + kind.name);
  }
  remove_tree(sealed_by_openssl_);
  fs::rename(out_, sealed_by_openssl_);
}

void Workplace::seal_once(const CipherKind& kind) {
  remove_tree(sealed_);
  total_ += run_command(tabane_command(kind, Direction::encrypt, plain_, sealed_));
}

Command Workplace::tabane_command(const CipherKind& kind, Direction direction, const fs::path& in,
                                  const fs::path& out) const {
  Command command{settings_.program, verb(direction),          in,         out,
                  "--key-file",      key_path(kind.key_bytes), "--cipher", kind.name};
  if (kind.chained()) command.insert(command.end(), {"--iv", kIv});
  return command;
}

fs::path Workplace::key_path(std::size_t bytes) const {
  return scratch_ / fmt::format("key{}", bytes);
}

Contender Workplace::contender(std::string name, Command command, double target, Usage* own) const {
  const bool ours = command[0] == settings_.program;
  Contender e{.name = std::move(name), .amount = static_cast<double>(bytes_), .target = target};
  if (ours || in_path(command[0]))
    e.how = started_as(command, ours ? "this build" : version_of(program_of(command)));
  else
    e.missing = command[0] + " was not found";
  e.work = [command = std::move(command), own, total = ours ? &total_ : nullptr](auto times) {
    for (; times > 0; --times) {
      const Usage usage = run_command(command);
      for (Usage* const sum : {own, total}) {
        if (sum) *sum += usage;
      }
    }
  };
  e.before = [out = out_] { make_empty(out); };
  return e;
}

Contender Workplace::tabane(const CipherKind& kind, Direction direction,
                            const std::vector<std::string>& more, Usage* own) const {
  Command command = tabane_command(kind, direction, input(direction), out_);
  std::string name = "tabane";
  for (const std::string& word : more) name += " " + word;
  command.insert(command.end(), more.begin(), more.end());
  Contender e = contender(std::move(name), std::move(command), 0, own);
  e.before = [out = out_] { remove_tree(out); };
  return e;
}

Contender Workplace::tabane_one_file(const CipherKind& kind) const {
  return contender("tabane", tabane_command(kind, Direction::encrypt, plain_ / names_[0], out_), 0);
}

Contender Workplace::update(const CipherKind& kind) const {
  return contender("tabane encrypt --update",
                   {settings_.program, "encrypt", "--update", plain_, sealed_, "--key-file",
                    key_path(kind.key_bytes)},
                   0);
}

Contender Workplace::quick_verify(const CipherKind& kind) const {
  return contender(
      "tabane verify --quick",
      {settings_.program, "verify", "--quick", sealed_, "--key-file", key_path(kind.key_bytes)}, 0);
}

Question Workplace::question(const std::string& name, const char* unit, Contender ours,
                             std::vector<Contender> peers) const {
  Question question{name, unit, std::move(ours), std::move(peers), long_runs(settings_, 11, 5)};
  if (question.unit != "files/s") return question;
  question.ours.amount = static_cast<double>(files());
  for (Contender& peer : question.peers) peer.amount = question.ours.amount;
  return question;
}

Contender Workplace::cp(Direction direction, double target, Usage* own) const {
  Contender e = contender("cp -r", {"cp", "-r", input(direction), out_}, target, own);
  if (!fs::is_directory(plain_)) e.name = "cp";
  e.before = [out = out_] { remove_tree(out); };
  return e;
}

Contender Workplace::parallel_cp(Direction direction, double target) const {
  std::vector<std::string> paths;
  for (const std::string& top : tops_) paths.push_back(input(direction) / top);
  const std::size_t share = (paths.size() + pool_.size() - 1) / pool_.size();
  const fs::path names = list("paths of " + verb(direction), paths);
  const bool folders = names_.size() != tops_.size();
  Command command{
      "xargs", "-0", "-a", names, "-P", std::to_string(pool_.size()), "-n", std::to_string(share),
      "cp"};
  if (folders) command.push_back("-r");
  command.insert(command.end(), {"-t", out_});
  return contender(fmt::format("xargs -P{} cp{} -t", pool_.size(), folders ? " -r" : ""),
                   std::move(command), target, nullptr);
}

Contender Workplace::openssl_enc(const CipherKind& kind, Direction direction, double target) const {
  const bool encrypts = direction == Direction::encrypt;
  const std::string processes = std::to_string(pool_.size());
  Command command{"xargs", "-0", "-a", list("names", names_), "-P", processes, "-I{}"};
  command.insert(command.end(), {"openssl", "enc", encrypts ? "-e" : "-d", kind.openssl});
  command.insert(command.end(), {"-K", hex_key_.substr(0, 2 * kind.key_bytes), "-iv", kIv});
  command.insert(command.end(), {"-in", (encrypts ? plain_ : sealed_by_openssl_) / "{}"});
  command.insert(command.end(), {"-out", out_ / "{}"});
  Contender e = contender("xargs -P" + processes + " openssl enc " + kind.openssl,
                          std::move(command), target, nullptr);
  if (!in_path("openssl")) e.missing = "openssl was not found";
  if (names_.size() != tops_.size()) e.missing = "not for folders";
  return e;
}

Contender Workplace::copy_alone(Direction direction) const {
  const auto once = [&pool = pool_, names = names_, in = input(direction), out = out_] {
    std::atomic<std::size_t> taken{0};
    std::atomic<int> error{0};
    pool.run([&](std::size_t) {
      for (std::size_t i; (i = taken.fetch_add(1)) < names.size();) {
        if (const int code = copy_by_range(in / names[i], out / names[i])) error = code;
      }
    });
    if (error != 0) throw core::SystemError("copy_file_range", in.string(), error);
  };
  return {.name = "copying alone, all cores",
          .work = core::repeat(once),
          .amount = static_cast<double>(bytes_),
          .target = 0,
          .before = [out = out_] { make_empty(out); },
          .how = "copy_file_range in this process, one worker per PU"};
}

fs::path Workplace::list(const std::string& name, const std::vector<std::string>& entries) const {
  std::string text;
  for (const std::string& entry : entries) text += entry + '\0';
  core::write_file(scratch_ / name, text);
  return scratch_ / name;
}

}  // namespace tabane::bench
