#include "tabane/tools/encrypt/job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/cbc_file.h"
#include "tabane/tools/encrypt/coordinator.h"
#include "tabane/tools/encrypt/copy_share.h"
#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/input_manifest.h"
#include "tabane/tools/encrypt/output_manifest.h"
#include "tabane/tools/encrypt/outputs.h"
#include "tabane/tools/encrypt/places.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/run_keys.h"
#include "tabane/tools/encrypt/stream_job.h"
#include "tabane/tools/encrypt/threads.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

void check_device(const Request& request) {
  if (request.engine != crypto::Engine::opencl) return;
  if (request.in == kStandardStream) {
    throw core::UsageError(
        "--engine opencl works on files; standard input takes auto, openssl or ipsec-mb");
  }
  if (request.direction != Direction::encrypt && request.cipher != Cipher::aes_256_gcm) {
    throw core::UsageError(
        "--engine opencl decrypts and verifies only aes-256-gcm; for aes-*-cbc give auto, openssl "
        "or ipsec-mb");
  }
  device::choose_device(device::devices(), request.device);
}

// Opens the device that the request asks for, with its programs built. Null: it asks for none, or
// for nothing that a device does, or the device does not work, as `why` then tells.
std::unique_ptr<crypto::DeviceAes> open_device(const Request& request, const Hooks& hooks,
                                               unsigned threads, std::vector<std::string>& why) {
  const bool uses_none = request.direction == Direction::verify && request.quick;
  if (request.engine != crypto::Engine::opencl || uses_none) return nullptr;
  const device::Devices& all = device::devices();
  const std::size_t index = device::choose_device(all, request.device);
  try {
    auto device = std::make_unique<crypto::DeviceAes>(hooks.open_device(index), threads);
    device->program(request.cipher == Cipher::aes_128_cbc ? 10 : 14);
    return device;
  } catch (const device::DeviceError& error) {
    why.push_back(fmt::format("{} was of no use ({}): the CPU has done all", all.list[index].name,
                              error.what()));
    return nullptr;
  }
}

void check(const Request& request) {
  const bool cbc = request.cipher != Cipher::aes_256_gcm;
  if (cbc && !request.passphrase.empty()) {
    throw core::UsageError(
        "AES-CBC stores no salt, so it takes no passphrase; give a key file, or aes-256-gcm");
  }
  if (cbc && (!request.identities.empty() || !request.recipients.empty())) {
    throw core::UsageError("AES-CBC stores no keys, so it has no recipients and identities");
  }
  if (!cbc && request.fixed_iv) {
    throw core::UsageError("aes-256-gcm draws its own nonces; a fixed IV goes with aes-*-cbc");
  }
  if (request.update && (cbc || !request.resume || request.direction != Direction::encrypt)) {
    throw core::UsageError("--update brings a tree up to date that is sealed with aes-256-gcm");
  }
  check_stream(request);
  check_device(request);
  if (request.threads > 4096) throw core::UsageError("the number of threads: 1 to 4096");
}

// throws: core::SystemError for what a file system says only at the end.
void finish_stream(core::Descriptor& stream, const Request& request) {
  // EINVAL, EROFS: there is nothing to wait for.
  if (request.fsync && fsync(stream.get()) != 0 && errno != EINVAL && errno != EROFS) {
    throw core::SystemError("fsync", request.out, errno);
  }
  stream.close(request.out);
}

// Paths of what killed jobs have left in a sealed tree that is read without a manifest. Ranks may
// tell of one twice.
std::vector<std::string> leftovers_met(JobState& job) {
  std::vector<std::string> paths;
  for (const auto& [file, difference] : job.take_differences()) {
    paths.push_back(job.tree.path(job.tree.files[file]));
  }
  std::ranges::sort(paths);
  const auto again = std::ranges::unique(paths);
  paths.erase(again.begin(), again.end());
  return paths;
}

void collect(const JobState& job, Outcome& outcome) {
  outcome.complete = !job.stop;
  outcome.files = job.files_done;
  outcome.files_kept = job.files_kept;
  outcome.files_unlisted = job.files_unlisted;
  outcome.bytes = job.bytes_of_files_done;
  auto failures = job.failures();
  std::ranges::sort(failures);
  std::vector<std::uint32_t> changed = job.changed();
  std::ranges::sort(changed);
  for (const std::uint32_t file : changed) {
    const bool failed = std::ranges::binary_search(
        failures, file, {}, [](const auto& failure) { return failure.first; });
    if (!failed) outcome.changed.push_back(job.tree.path(job.tree.files[file]));
  }
  for (auto& [file, what] : failures) {
    outcome.failures.push_back({job.tree.path(job.tree.files[file]), what});
  }
}

Outcome describe(const Request& request, const Places& places) {
  const Tree& tree = places.tree;
  Outcome outcome;
  outcome.files_total = tree.files.size();
  outcome.bytes_total = tree.bytes();
  outcome.directories = tree.directories.size();
  const bool keeps_links = request.direction == Direction::encrypt &&
                           request.cipher == Cipher::aes_256_gcm && !places.single_file;
  (keeps_links ? outcome.links : outcome.symlinks) = tree.links.size();
  outcome.special = tree.specials.size();
  outcome.excluded = tree.excluded;
  outcome.temporaries = tree.temporaries;
  outcome.failures = tree.failures;
  return outcome;
}

PlanOptions plan_options(const Request& request, const Places& places, Coordinator& coordinator) {
  // Whole groups of chunks, so that pieces do not share one.
  constexpr std::uint64_t kPieceUnit = std::uint64_t{256} << 10;
  const bool chained =
      request.cipher != Cipher::aes_256_gcm && request.direction == Direction::encrypt;
  // While one thread waits for the device, others read and write.
  constexpr unsigned kDeviceThreads = 3;
  const bool in_order = places.stream.has_value();
  if (in_order || request.dry_run) coordinator.let_go();
  return {.threads = in_order ? 1 : request.threads * static_cast<unsigned>(coordinator.ranks()),
          .pus = std::max(coordinator.pus(),
                          request.engine == crypto::Engine::opencl ? kDeviceThreads : 1),
          .can_split = !chained && !in_order,
          .piece_unit = kPieceUnit};
}

// The tree may be another one than what was scanned, if its names are hidden.
void take_manifest(const Request& request, const Places& places, const TreeManifest& manifest,
                   Outcome& outcome) {
  const std::vector<Failure> failures = std::move(outcome.failures);
  outcome = describe(request, places);
  outcome.failures = failures;
  outcome.engine = crypto::resolve(request.engine);
  outcome.root = manifest.root();
  outcome.links = manifest.links();
}

// What an update would remove; changes nothing.
std::vector<std::string> removals(const Request& request, const Places& places, KeyRing& keys,
                                  const Hooks& hooks) {
  const OutputRoot out = open_output_root(places, request);
  JobState job(request, places.tree, places.in_root.get(), out.directory.get(), keys);
  const TreeSeal seal = prepare_seal(request, places, out.directory.get(), keys);
  job.seal = &seal;
  return OutputManifest(job, hooks).would_remove();
}

// Whether the job was asked to stop while the step derived a key or waited for an answer.
bool is_stopped_in(const std::function<void()>& step) {
  try {
    step();
    return false;
  } catch (const Stopped&) {
    return true;
  }
}

}  // namespace

void check_job(const Request& request) {
  check(request);
  crypto::resolve(request.engine);
  look_at_places(request);
}

Outcome run_job(const Request& request, const Hooks& hooks, comm::Comm* ranks) {
  using Clock = std::chrono::steady_clock;
  Coordinator coordinator(ranks);
  check(request);
  if (request.engine == crypto::Engine::opencl && coordinator.ranks() > 1) {
    throw core::UsageError("--engine opencl works in one process, without an MPI launcher");
  }
  const crypto::Engine engine = crypto::cpu_engine(request.engine);
  const auto scanned_from = Clock::now();
  Places places = look_at_places(request);
  hooks.places_are_fit();
  const auto scanned_until = Clock::now();
  KeyRing keys(opening_keys(request), limits_of(request), hooks.stop_requested);
  if (request.in == kStandardStream) return run_stream(request, places, engine, keys, hooks);
  Outcome outcome = describe(request, places);
  outcome.engine = crypto::resolve(request.engine);
  if (request.cipher == Cipher::aes_256_gcm && request.direction != Direction::encrypt) {
    const auto look = [&] {
      std::vector<Failure> of_keys;
      if (!places.single_file) use_keys_file(places, !request.without_manifest, keys, of_keys);
      require_key_fits(places.tree, places.in_root.get(), of_keys.empty() ? "" : of_keys[0].what,
                       keys);
      std::ranges::move(of_keys, std::back_inserter(outcome.failures));
    };
    if (is_stopped_in([&] { open_unless_changing(request, places, look); })) return outcome;
  }
  if (request.cipher != Cipher::aes_256_gcm && request.direction != Direction::encrypt) {
    require_cbc_key_may_fit(request, places.tree, places.in_root.get());
  }
  std::unique_ptr<TreeManifest> manifest;
  if (request.direction != Direction::encrypt) {
    open_unless_changing(request, places,
                         [&] { manifest = manifest_of_input(request, places, keys); });
    if (manifest) take_manifest(request, places, *manifest, outcome);
    outcome.version_1_tree = !manifest && !places.single_file && !request.without_manifest &&
                             request.cipher == Cipher::aes_256_gcm;
  }
  const PlanOptions cut = plan_options(request, places, coordinator);
  const Plan plan = make_plan(places.tree, cut);
  outcome.threads = plan.threads;
  outcome.ranks = coordinator.ranks();
  if (request.dry_run) {
    outcome.complete = !is_stopped_in([&] {
      if (request.update) outcome.would_remove = removals(request, places, keys, hooks);
    });
    return outcome;
  }

  core::Descriptor out_root;
  bool made_root = false;
  core::Descriptor stream;
  if (places.stream) {
    stream = core::open_stream(*places.stream);
  } else if (request.direction != Direction::verify) {
    OutputRoot root = open_output_root(places, request);
    out_root = std::move(root.directory);
    made_root = root.made;
  }
  std::optional<WritableForNow> writable;
  if (out_root.valid() && !places.single_file && !made_root) writable.emplace(out_root.get());
  std::optional<JobLock> lock;
  const bool seals =
      request.cipher == Cipher::aes_256_gcm && request.direction == Direction::encrypt;
  if (out_root.valid() && !places.single_file) {
    lock.emplace(out_root.get(), seals ? LockedTree::sealed : LockedTree::plain, request.out);
    require_still_empty(places, request, *lock);
  }
  JobState job(request, places.tree, places.in_root.get(), out_root.get(), keys);
  job.stream = stream.get();
  job.modes = {.opens = request.direction == Direction::decrypt,
               .authenticated = manifest != nullptr,
               .preserve = request.preserve,
               .mask = process_umask()};
  job.output_name = places.output_name;
  TreeSeal seal;
  if (seals) {
    // Derives keys before the clock runs.
    const auto prepare = [&] { seal = prepare_seal(request, places, out_root.get(), keys); };
    if (is_stopped_in(prepare)) return outcome;
    job.seal = &seal;
  }
  job.manifest = manifest.get();
  job.hides_names = manifest && manifest->head().hidden_names;
  job.scan_may_hold_leftovers =
      scan_may_hold_leftovers(request, places.single_file, manifest != nullptr);
  if (request.quick) {
    job.is_done_without_work = [&job](Directories& directories, std::uint32_t file) {
      return looks_right(job, directories, file);
    };
  }
  std::optional<OutputManifest> sealed;
  const auto begin_tree = [&] {
    if (job.seal && out_root.valid() && !places.single_file) sealed.emplace(job, hooks);
  };
  if (is_stopped_in(begin_tree)) return outcome;
  const bool may_have_leftovers = !sealed || !sealed->goes_on_from_an_end();
  if (out_root.valid() && may_have_leftovers && (request.resume || request.force)) {
    const bool hides_there = request.direction == Direction::encrypt && job.hides_names;
    Leftovers leftovers = remove_leftovers_in(places, out_root.get(), hides_there);
    outcome.leftovers_removed = leftovers.removed;
    // A resumed sealed tree tells of whatever IN does not have.
    if (!sealed || !request.resume) outcome.unmarked = std::move(leftovers.unmarked);
  }

  const auto device = open_device(request, hooks, plan.threads, outcome.device_remarks);
  job.device = device.get();
  const auto worked_from = Clock::now();
  CopyPairs copies;
  const bool compares = out_root.valid() && request.measure_copy && !device;
  if (coordinator.alone()) {
    run_job_threads(job, plan, engine, hooks, compares ? &copies : nullptr);
  } else {
    outcome.threads = coordinator.run(job, places, plan, cut, engine, hooks);
    outcome.lost_ranks = coordinator.lost();
  }
  outcome.remarks = coordinator.remarks();
  if (device && !device->remark().empty()) outcome.device_remarks.push_back(device->remark());
  if (!job.stop) outcome.copy_share = share_of_copying(copies.all(), copies.now());
  if (sealed) outcome.removed = sealed->removed();
  if (!job.stop && sealed) outcome.root = sealed->finish(outcome.failures);
  lock.reset();  // which changes the directory's times
  if (!job.stop && manifest && out_root.valid()) {
    restore(job, made_root, outcome.failures);
  } else if (!job.stop && out_root.valid() && !places.single_file) {
    if (!job.hides_names) {
      finish_directories(places.tree, places.in_root.get(), out_root.get(), made_root, job.modes,
                         outcome.failures);
    } else if (made_root) {
      close_root(out_root.get(), outcome.failures);
    }
  }
  if (job.scan_may_hold_leftovers) outcome.temporaries = leftovers_met(job);
  if (!job.stop && manifest) tell_differences(*manifest, outcome.failures, outcome.temporaries);
  if (stream.valid()) finish_stream(stream, request);
  const std::chrono::duration<double> seconds =
      (Clock::now() - worked_from) + (scanned_until - scanned_from);
  outcome.seconds = seconds.count();
  collect(job, outcome);
  if (!job.stop && manifest && changed_since_scan(places)) {
    tell_that_it_changed(request, outcome.failures);
    outcome.temporaries.clear();  // which may be the other job's
  }
  return outcome;
}

}  // namespace tabane::encrypt
