// tabane encrypt, decrypt, verify: files and directory trees under AES.
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/core/units.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/output.h"
#include "tabane/program/passphrase_prompt.h"
#include "tabane/program/progress.h"
#include "tabane/program/run_options.h"
#include "tabane/tools/encrypt/coordinator.h"
#include "tabane/tools/encrypt/input_manifest.h"
#include "tabane/tools/encrypt/job.h"
#include "tabane/tools/encrypt/job_text.h"
#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/places.h"
#include "tabane/tools/encrypt/rekey.h"

namespace tabane::program {
namespace {

using namespace encrypt;

constexpr std::size_t kFailuresShown = 100;

struct Options {
  Request request;
  std::string cipher = "aes-256-gcm";
  std::string engine = "auto";
  std::optional<std::string> iv;
  std::optional<std::string> root;
  std::optional<std::string> key_file;
  std::optional<std::string> passphrase_file;
  std::vector<std::string> recipients;  // files or texts
  std::vector<std::string> identities;  // files
  std::vector<std::string> excludes;
  std::vector<std::string> exclude_files;
  std::vector<std::string> paths;
  bool one_file_system = false;
  std::optional<int> threads;
  bool list = false;
  bool quiet = false;
  bool verbose = false;
  bool output_on_stdout = false;  // nothing else goes there
  bool trace_on_stdout = false;
  JsonOption json;
  std::optional<std::string> trace_file;
  std::optional<Trace> trace;
};

constexpr std::array kCiphers = {Cipher::aes_256_gcm, Cipher::aes_128_cbc, Cipher::aes_256_cbc};
constexpr std::array kEngines = {crypto::Engine::automatic, crypto::Engine::openssl,
                                 crypto::Engine::ipsec_mb, crypto::Engine::opencl};

std::vector<std::string> names_of(const auto& values) {
  std::vector<std::string> names;
  for (const auto value : values) names.push_back(name_of(value));
  return names;
}

// The value of a name that is one of the choices.
auto value_of(const std::string& name, const auto& values) {
  return *std::ranges::find_if(values, [&](const auto value) { return name_of(value) == name; });
}

// "opencl:1": the device stands behind the colon.
void take_engine(const std::string& given, Request& request) {
  const std::size_t colon = given.find(':');
  request.engine = value_of(given.substr(0, colon), kEngines);
  if (colon != std::string::npos) request.device = given.substr(colon + 1);
}

crypto::Block block_of(const std::string& hex) {
  crypto::Block block;
  if (!crypto::from_hexadecimal(hex, block)) {
    throw core::UsageError("--iv: an initialisation vector is 32 hexadecimal digits");
  }
  return block;
}

void note_key_files(Options& options) {
  Request& request = options.request;
  const auto note = [&](const char* option, const std::string& file, bool is_secret = true) {
    if (request.in == kStandardStream && core::leads_to(file, STDIN_FILENO)) {
      throw core::UsageError("IN and {} cannot both be standard input; give another FILE", option);
    }
    request.key_files.add(file, is_secret);
  };
  if (options.key_file) note("--key-file", *options.key_file);
  if (options.passphrase_file) note("--passphrase-file", *options.passphrase_file);
  for (const std::string& path : options.recipients) note("--recipient", path, false);
  for (const std::string& path : options.identities) note("--identity", path);
}

void check_standard_streams(Options& options) {
  const Request& request = options.request;
  options.output_on_stdout =
      request.out == kStandardStream || core::leads_to(request.out, STDOUT_FILENO);
  options.trace_on_stdout =
      options.trace_file && core::leads_to(*options.trace_file, STDOUT_FILENO);
  if (options.trace_on_stdout && options.json.to_stdout()) {
    throw core::UsageError("--json and --trace cannot both go to stdout; give --json=FILE");
  }
  if (!options.output_on_stdout) return;
  if (options.json.to_stdout()) {
    throw core::UsageError("OUT and --json cannot both go to stdout; give --json=FILE");
  }
  if (options.trace_on_stdout) {
    throw core::UsageError("OUT and --trace cannot both go to stdout; give another FILE");
  }
  if (request.encrypts() && !request.force && isatty(STDOUT_FILENO)) {
    throw core::UsageError(
        "OUT is a terminal, which encrypted bytes would only confuse; --force writes them there");
  }
}

// One in each line; empty lines and those with # in front are comments.
void read_patterns(const std::string& file, std::vector<std::string>& patterns) {
  std::istringstream lines(core::read_file(file));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !line.starts_with('#')) patterns.push_back(line);
  }
}

Selection selection_of(const Options& options) {
  std::vector<std::string> excludes;
  for (const std::string& file : options.exclude_files) read_patterns(file, excludes);
  std::ranges::copy(options.excludes, std::back_inserter(excludes));
  return Selection(excludes, options.paths, options.one_file_system);
}

void complete_request(Options& options) {
  Request& request = options.request;
  request.cipher = value_of(options.cipher, kCiphers);
  take_engine(options.engine, request);
  request.threads = static_cast<unsigned>(options.threads.value_or(0));
  const bool cbc = !request.is_sealed();
  if (options.iv && !cbc) {
    throw core::UsageError(
        "--iv goes with --cipher aes-128-cbc or aes-256-cbc; aes-256-gcm makes its own");
  }
  if (options.iv) request.fixed_iv = block_of(*options.iv);
  if (request.update) request.resume = true;
  if (options.root) request.root = parse_manifest_hash(*options.root);
  if (cbc && !options.key_file) {
    throw core::UsageError(
        "--cipher {0} takes a key of {1} bytes and no passphrase: give --key-file FILE",
        options.cipher, key_bytes(request.cipher));
  }
  note_key_files(options);
  check_standard_streams(options);
  request.selection = selection_of(options);
  if (const std::string file = options.json.file(); !file.empty()) {
    request.records.push_back({"--json", file});
  }
  if (options.trace_file) request.records.push_back({"--trace", *options.trace_file});
  // Nobody would read it.
  request.measure_copy = !options.quiet || options.json.given();
}

void warn(const std::string& text) {
  if (!text.empty()) fmt::print(stderr, "warning: {}\n", printable(text));
}

void read_pairs(const Options& options, Request& request) {
  for (const std::string& recipient : options.recipients) {
    std::ranges::copy(read_recipients(recipient), std::back_inserter(request.recipients));
  }
  for (const std::string& path : options.identities) {
    IdentityFile file = read_identity_file(path);
    warn(file.warning);
    std::ranges::move(file.identities, std::back_inserter(request.identities));
  }
}

// IN may be missing, or a stream.
void warn_of_keys_inside(const Request& request) {
  const bool encrypts = request.encrypts();
  warn(text_of_keys_inside(request.key_files, "IN", request.in, !encrypts));
  if (request.direction == Direction::verify) return;
  warn(text_of_keys_inside(request.key_files, "OUT", request.out, encrypts));
}

void read_key(const Options& options, Request& request) {
  warn_of_keys_inside(request);
  const bool encrypts = request.encrypts();
  request.has_key = options.key_file.has_value();
  read_pairs(options, request);
  if (options.key_file) {
    crypto::KeyFile file = crypto::read_key_file(*options.key_file, key_bytes(request.cipher));
    warn(file.warning);
    // What was encrypted with it once can be opened.
    if (encrypts && !file.weakness.empty()) throw core::UsageError(file.weakness);
    warn(file.weakness);
    request.key = std::move(file.key);
    return;
  }
  if (options.passphrase_file) {
    crypto::PassphraseFile file = crypto::read_passphrase_file(*options.passphrase_file);
    warn(file.warning);
    request.passphrase = std::move(file.passphrase);
  } else if (!options.recipients.empty() || !options.identities.empty()) {
    return;
  } else {
    // Nobody likes to type a passphrase for nothing.
    options.list ? static_cast<void>(look_at_root(request)) : check_job(request);
    const std::string recipients = encrypts ? "" : recipients_alone(request.in);
    if (!recipients.empty())
      throw core::UsageError("IN ({}) is sealed for {}: give --identity FILE", request.in,
                             recipients);
    request.passphrase = ask_passphrase(encrypts);
  }
  if (encrypts) warn(crypto::weakness_of(request.passphrase));
}

// Draws the progress, with the rate of the last seconds and the time left as that gives it.
class JobProgress {
 public:
  explicit JobProgress(bool quiet) : line_(quiet) {}

  void show(const Progress& progress) {
    const Moment now{Clock::now(), static_cast<double>(progress.bytes), progress_share(progress)};
    while (!last_.empty() && now.at - last_.front().at > kLastSeconds) last_.pop_front();
    last_.push_back(now);
    const Moment& then = last_.front();
    const double seconds = std::chrono::duration<double>(now.at - then.at).count();
    const bool known = seconds > 1, gains = now.share > then.share;
    line_.show(progress_text(progress, known ? (now.bytes - then.bytes) / seconds : -1), now.share,
               known && gains ? seconds * (1 - now.share) / (now.share - then.share) : -1);
  }
  void clear() { line_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kLastSeconds{10};
  struct Moment {
    Clock::time_point at;
    double bytes, share;
  };

  ProgressLine line_;
  std::deque<Moment> last_;
};

void say_that_it_stopped(const Request& request, const JobReport& outcome, bool to_stdout) {
  if (outcome.complete) return;
  const bool resumable =
      request.direction != Direction::verify && request.in != kStandardStream && !to_stdout;
  const bool may_mix_trees = request.force && request.encrypts() && request.is_sealed();
  fmt::print(stderr, "tabane: stopped after {} of {} files{}\n",
             core::grouped(outcome.files + outcome.files_kept), core::grouped(outcome.files_total),
             !resumable      ? ""
             : may_mix_trees ? "; what is done is whole, and --resume does the rest, or "
                               "--force again where files of an older tree are left in OUT"
                             : "; what is done is whole, and --resume does the rest");
}

void print_outcome(const Options& options, const JobReport& outcome) {
  const std::size_t most = options.verbose ? SIZE_MAX : kFailuresShown;
  if (!options.quiet && !options.json.to_stdout()) {
    std::FILE* const to = options.output_on_stdout || options.trace_on_stdout ? stderr : stdout;
    std::fputs(summary_text(options.request, outcome).c_str(), to);
    std::fputs(removals_text(outcome, most).c_str(), to);
    std::fflush(to);
  }
  std::fputs(failures_text(outcome, most).c_str(), stderr);
  std::fputs(temporaries_text(outcome, most).c_str(), stderr);
  if (!outcome.failures.empty()) {
    fmt::print(stderr, "tabane: {} {}\n",
               outcome.failures.size() == 1
                   ? "this file or directory could not be"
                   : core::grouped(outcome.failures.size()) + " files or directories could not be",
               name_in_past(options.request.direction));
  }
  for (const std::string& warning : warnings_of(options.request, outcome)) {
    warn(warning);
  }
  say_that_it_stopped(options.request, outcome, options.output_on_stdout);
}

// The answer that is typed, if somebody is there to type one.
bool says_yes(std::uint64_t files, std::uint64_t of) {
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return false;
  fmt::print(stderr, "IN does not have {} of the {} files in OUT. Type yes to remove them: ",
             core::grouped(files), core::grouped(of));
  pollfd terminal{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (poll(&terminal, 1, 100) <= 0) {
    if (StopOnSignal::requested()) throw Stopped();
  }
  std::array<char, 80> line;
  const ssize_t got = read(STDIN_FILENO, line.data(), line.size());
  return got > 0 && std::string_view(line.data(), static_cast<std::size_t>(got)) == "yes\n";
}

// Each thread holds several files at once.
void allow_many_open_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

void prepare(Options& options, comm::Comm* ranks) {
  options.json.check(false);
  if (options.trace_file == kStandardStream) options.trace_file = "/dev/stdout";
  if (options.trace_file) {
    require_writable_file("--trace ", *options.trace_file);
    options.trace.emplace();
  }
  complete_request(options);
  ranks ? forbid_core_dumps() : make_memory_unreadable();
  read_key(options, options.request);
}

// The part of a rank that is not the first: it reads no key and says nothing.
void work_for_rank_0(Options& options, comm::Comm& ranks) {
  forbid_core_dumps();
  allow_many_open_files();
  std::signal(SIGXFSZ, SIG_IGN);
  const StopOnSignal stop;
  try {
    complete_request(options);
  } catch (const core::Error&) {
    // Rank 0 says so, and has nothing to do for this one.
  }
  serve_rank_0(std::move(options.request),
               {.stop_requested = [] { return StopOnSignal::requested(); }}, ranks);
}

// Without a look at the files.
int list(const Options& options) {
  const bool as_json = options.json.given();
  std::vector<Failure> failures;
  const auto read = [&](const std::function<void(std::string_view)>& put) {
    bool first = true;
    std::string block;
    const auto add = [&](const std::string& text, std::size_t most = 1 << 16) {
      block += text;
      if (block.size() < most) return;
      put(block);
      block.clear();
    };
    failures = list_manifest(
        options.request, {.places_are_fit = [&options] { options.json.allow_errors(); }},
        [&](const ManifestSummary& all, const ManifestEntry& entry) {
          add(as_json ? listing_json(all, entry, first) : listing_line(all, entry));
          first = false;
        });
    add(as_json ? kListingEnd : "", 0);
  };
  if (as_json) {
    options.json.write(read);
  } else {
    read([](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });
  }
  JobReport outcome;
  outcome.failures = std::move(failures);
  std::fputs(failures_text(outcome, SIZE_MAX).c_str(), stderr);
  return outcome.failures.empty() ? kOk : kFailed;
}

int run(Options& options, comm::Comm* ranks, bool& lost) {
  try {
    prepare(options, ranks);
  } catch (...) {
    if (ranks) release_workers(*ranks);  // who wait for a job
    throw;
  }
  if (options.list) {
    if (ranks) release_workers(*ranks);
    return list(options);
  }
  allow_many_open_files();
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the size limit fails alone, with EFBIG
  const StopOnSignal stop;
  JobProgress progress(options.quiet);
  Coordinator crew(ranks);
  const JobReport outcome =
      run_job(options.request,
              {.stop_requested = [] { return StopOnSignal::requested(); },
               .places_are_fit = [&options] { options.json.allow_errors(); },
               .progress = [&progress](const Progress& now) { progress.show(now); },
               .may_remove = says_yes,
               .trace = options.trace ? &*options.trace : nullptr},
              crew);
  crew.let_go();  // a signal may end this process below
  lost = outcome.lost_ranks;
  progress.clear();
  print_outcome(options, outcome);
  options.json.write(to_json(options.request, outcome));
  if (options.trace) core::write_output(*options.trace_file, trace_text(*options.trace));
  if (!outcome.complete) StopOnSignal::die_as_asked();
  return outcome.complete && outcome.failures.empty() ? kOk : kFailed;
}

std::vector<Option> key_rows(Options& options) {
  const Direction direction = options.request.direction;
  std::vector<Option> rows = {
      {"--key-file FILE",
       &options.key_file,
       "Read the key from FILE, as raw bytes or hexadecimal (see tabane keygen)",
       {.excludes = {"--passphrase-file"}}},
      {"--passphrase-file FILE", &options.passphrase_file,
       "Read the passphrase from the first line of FILE; without any key, tabane asks for a "
       "passphrase"}};
  if (direction == Direction::encrypt) {
    rows.push_back({"--recipient KEY", &options.recipients,
                    "Encrypt for a public key: the text tabane1..., or a FILE with one in each "
                    "line. The option may be repeated, and given together with --key-file or "
                    "--passphrase-file; --resume and --update need one of these two"});
  } else {
    rows.push_back({"--identity FILE", &options.identities,
                    "Open with the secret keys in FILE, which keygen --pair makes; the option may "
                    "be repeated"});
    rows.push_back(
        {"--allow-costly-passphrase", &options.request.allow_costly_passphrase,
         "Derive keys from the passphrase even if a file asks for more than 1 GiB of memory or "
         "four times the usual time, or if the files have more than four different sets of scrypt "
         "parameters"});
  }
  return table(
      std::move(rows),
      std::vector<Option>{
          {"--cipher NAME",
           &options.cipher,
           "Use aes-256-gcm (default), or aes-128-cbc or aes-256-cbc, which detect no changes",
           {.choices = names_of(kCiphers)}},
          {"--iv HEX", &options.iv,
           "With CBC: use this initialisation vector for all files and store none in them"}});
}

constexpr const char* kResumeEncrypt =
    "Keep what is complete and current in OUT, do the rest, and remove the temporary files of "
    "killed runs, as --force does. A sealed file is kept if its size, time, key and last chunk are "
    "right, and the manifest of OUT, where there is one, has it so; the chunks before the last are "
    "not read. With CBC it is kept if its size, its time, and its first and last block are right. "
    "Files that OUT has and IN does not have are listed; --update removes them";
constexpr const char* kResumeDecrypt =
    "Keep what is complete and current in OUT, do the rest, and remove the temporary files of "
    "killed runs, as --force does. A file is kept if its size and time are right and it ends as "
    "its last chunk says (with CBC: its last two blocks); the rest is not read";

std::vector<Option> writing_rows(Options& options) {
  Request& request = options.request;
  const bool encrypts = request.encrypts();
  return {
      {"--dry-run", &request.dry_run,
       encrypts ? "Write nothing, only show what would be done; with --update, list what would be "
                  "removed"
                : "Write nothing, only show what would be done"},
      {"--resume", &request.resume, encrypts ? kResumeEncrypt : kResumeDecrypt},
      {"--force",
       &request.force,
       "Replace files that are in OUT, and remove the temporary files (.tabane-*.part) of killed "
       "runs. If OUT is a single file, only those in its folder are removed that are yours, an "
       "hour old and in use by no run. All other files stay. Not with --resume",
       {.excludes = {"--resume"}}},
      {"--xattrs", &request.xattrs,
       encrypts ? "Keep extended attributes (user.*) and access control lists of files and "
                  "directories in the manifest; an update keeps them where OUT has them already"
                : "Give files and directories the extended attributes and access control lists "
                  "that the manifest has"},
      {"--fsync", &request.fsync, "Wait until each file is on the disk before it gets its name"},
      {"--preserve", &request.preserve,
       "Keep all mode bits, also set-user, set-group and sticky. Without it sealed files have the "
       "permissions of the plain ones, and decrypted ones those of the manifest within the umask, "
       "or only the owner's where no manifest vouches for them"}};
}

std::vector<Option> sealing_rows(Options& options) {
  Request& request = options.request;
  return {{"--one-file-system", &options.one_file_system,
           "Stay in one file system: leave out what is mounted below IN"},
          {"--hide-names", &request.hide_names,
           "Give the files of OUT names that say nothing; only the manifest has the true names, "
           "the directories and the links, and without it nobody finds them again"},
          {"--update",
           &request.update,
           "Bring OUT up to date by its manifest: seal what is new or has changed, remove what IN "
           "no longer has, look at the rest without opening it",
           {.excludes = {"--force"}}},
          {"--delete",
           &request.remove_most,
           "Let --update remove what IN no longer has even if that is more than half of the files "
           "in OUT, and more than ten; otherwise it asks on a terminal, or refuses",
           {.needs = {"--update"}}}};
}

std::vector<Option> manifest_rows(Options& options) {
  std::vector<Option> rows = {
      {"--root HASH", &options.root,
       "Refuse a tree whose root is not the one that encrypt printed for it: it is an older state, "
       "or another tree"},
      {"--without-manifest",
       &options.request.without_manifest,
       "Ignore the manifest, and check each file by itself. Nobody can then say which files were "
       "exchanged, renamed or added, are missing, or are older versions",
       {.excludes = {"--root"}}}};
  if (options.request.direction == Direction::verify) {
    rows.push_back({"--quick",
                    &options.request.quick,
                    "Check the manifest, and of each file only its size, salt and last tag",
                    {.excludes = {"--without-manifest"}}});
    rows.push_back({"--list",
                    &options.list,
                    "Check the manifest alone and list what it has, a line for each entry as in "
                    "ls -l, or as JSON; no file is looked at",
                    {.excludes = {"--quick", "--without-manifest"}}});
  }
  return rows;
}

std::vector<Option> common_rows(Options& options) {
  return {
      {"--exclude GLOB", &options.excludes,
       "Leave out names that fit ('*.tmp'), or paths below IN if GLOB has a '/' in front or within "
       "('/cache', 'a/*.o'); with '/' at its end, directories only; '!GLOB' takes what earlier "
       "ones leave out, but nothing below a directory that is left out. The option may be "
       "repeated"},
      {"--exclude-from FILE", &options.exclude_files,
       "Read such patterns from FILE, one in each line, before those of --exclude; lines that are "
       "empty or begin with # are comments. The option may be repeated"},
      {"-t,--threads N",
       &options.threads,
       "Use N threads (under an MPI launcher: in each rank); default: chosen from the files and "
       "the machine",
       {.range = {1, 4096}}},
      {"--engine NAME",
       &options.engine,
       "Compute AES with auto (the faster one of the next two, the default), openssl, ipsec-mb, or "
       "opencl:DEVICE, a coprocessor by its index or a part of its name; opencl alone is the first "
       "GPU or, where there is none, the first accelerator or other device. Where the device "
       "fails, the CPU does the rest",
       {.choices = names_of(kEngines),
        .or_also = [](const std::string& name) { return name.starts_with("opencl:"); }}},
      options.json.row(),
      {"--trace FILE", &options.trace_file,
       "Write to FILE when each phase and each unit of work of each thread began and ended, as "
       "trace events in JSON, which ui.perfetto.dev opens; of ranks, those of the first; - is "
       "stdout"},
      {"-q,--quiet", &options.quiet, "Show no progress and no summary"},
      {"-v,--verbose", &options.verbose,
       fmt::format("List all failures, not only the first {}", kFailuresShown)}};
}

std::vector<Option> path_rows(Options& options) {
  Request& request = options.request;
  std::vector<Option> rows = {
      {"IN",
       &request.in,
       request.encrypts()
           ? "The input: a file, a directory with all below it (symbolic links stay links; CBC "
             "leaves them out), or - for standard input"
           : "The input: a file, a directory with all below it, or - for standard input",
       {.required = true}}};
  if (request.direction != Direction::verify) {
    rows.push_back(
        {"OUT",
         &request.out,
         "The output: a directory if IN is one; otherwise a file, a pipe, a terminal, or - for "
         "standard output. Where it is a symbolic link, the link's target is written",
         {.required = true}});
  }
  if (request.direction == Direction::decrypt) {
    rows.push_back(
        {"PATH",
         &options.paths,
         "Restore only this path below IN, or what a shell pattern ('mail/*.txt') matches, with "
         "everything below it; several may be given. verify --list shows the paths",
         {.excludes = {"--without-manifest"}}});
  }
  return rows;
}

template <Direction direction>
Definition define() {
  const auto options = std::make_shared<Options>();
  options->request.direction = direction;
  std::vector<Option> rows = table(path_rows(*options), key_rows(*options));
  if (direction != Direction::verify) rows = table(rows, writing_rows(*options));
  rows = table(rows,
               direction == Direction::encrypt ? sealing_rows(*options) : manifest_rows(*options));
  return {table(rows, common_rows(*options)), [options](const Given&) {
            return on_ranks(
                [&](comm::Comm* ranks, bool& lost) { return run(*options, ranks, lost); },
                [&](comm::Comm& ranks) { work_for_rank_0(*options, ranks); });
          }};
}

}  // namespace

extern constinit const Verb encrypt_verb{
    .name = "encrypt",
    .what = "Encrypt a file or a directory tree with all cores",
    .group = "Protect",
    .examples =
        "  tabane keygen my.key                             makes a key that only you can read\n"
        "  tabane encrypt --key-file my.key photos sealed   encrypts every file below photos\n"
        "  tabane encrypt photos sealed                     asks for a passphrase\n"
        "  tabane encrypt --recipient tabane1... --recipient ann.pub photos sealed\n"
        "                                                   for public keys (see tabane keygen "
        "--pair)\n"
        "  tabane encrypt --resume --key-file my.key photos sealed\n"
        "                                                   does only what is missing or has "
        "changed\n"
        "  tabane encrypt --update --key-file my.key photos sealed\n"
        "                                                   and removes what is gone from photos\n"
        "  mpirun -n 16 tabane encrypt --key-file my.key results sealed\n"
        "                                                   shares the work among 16 ranks\n"
        "  tabane encrypt --exclude '*.tmp' --exclude cache/thumbs --dry-run photos sealed\n"
        "                                                   only shows what would be done\n"
        "  tar c photos | tabane encrypt --key-file my.key - photos.tar.sealed\n"
        "                                                   encrypts a stream; - may be OUT, too\n"
        "  tabane encrypt --cipher aes-128-cbc --key-file 16.key book sealed\n"
        "                                                   writes what openssl enc reads",
    .define = define<Direction::encrypt>};

extern constinit const Verb decrypt_verb{
    .name = "decrypt",
    .what = "Decrypt what encrypt made",
    .group = "Protect",
    .examples =
        "  tabane decrypt --key-file my.key sealed photos   decrypts every file below sealed\n"
        "  tabane decrypt --identity ann.identity sealed photos\n"
        "  tabane decrypt --key-file my.key sealed photos 2025 'letters/*.txt'\n"
        "                                                   only this folder and these files\n"
        "  tabane decrypt sealed/letter.txt letter.txt      decrypts one file, asks for its "
        "passphrase\n"
        "  tabane decrypt --key-file my.key photos.tar.sealed - | tar x\n"
        "                                                   each chunk once it is authenticated",
    .define = define<Direction::decrypt>};

extern constinit const Verb verify_verb{
    .name = "verify",
    .what = "Check that decrypt would succeed; nothing is written",
    .group = "Protect",
    .examples =
        "  tabane verify --key-file my.key sealed           reads and checks every byte\n"
        "  tabane verify --quick --key-file my.key sealed   checks the manifest, and of each "
        "file\n"
        "                                                   its size, salt and last tag\n"
        "  tabane verify --list --key-file my.key sealed    lists what is in it\n"
        "  tabane verify --root HASH --key-file my.key sealed\n"
        "                                                   checks also that it is not an older "
        "state",
    .define = define<Direction::verify>};

}  // namespace tabane::program
