#include "tabane/tools/encrypt/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/cbc_file.h"
#include "tabane/tools/encrypt/copy_share.h"
#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/input_manifest.h"
#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/output_manifest.h"
#include "tabane/tools/encrypt/outputs.h"
#include "tabane/tools/encrypt/places.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/run_keys.h"
#include "tabane/tools/encrypt/threads.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

using Clock = std::chrono::steady_clock;

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

// Of the CPU. With few bytes, the self-test of intel-ipsec-mb takes longer than what it gains.
crypto::Engine engine_for(const Request& request, const Places& places) {
  const bool is_small =
      places.input_kind != InputKind::stream && places.trees.tree.bytes() < kLargeBytes;
  const bool is_free = request.engine == crypto::Engine::automatic;
  return is_free && is_small ? crypto::Engine::openssl : crypto::cpu_engine(request.engine);
}

void collect(const JobState& job, JobReport& outcome) {
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

JobReport describe(const Request& request, const Places& places, crypto::Engine engine) {
  const Tree& tree = places.trees.tree;
  JobReport outcome;
  outcome.engine = request.engine == crypto::Engine::opencl ? request.engine : engine;
  outcome.files_total = tree.files.size();
  outcome.bytes_total = tree.bytes();
  outcome.directories = tree.directories.size();
  const bool keeps_links = request.seals() && places.input_kind == InputKind::tree;
  (keeps_links ? outcome.links : outcome.symlinks) = tree.links.size();
  outcome.special = tree.specials.size();
  const bool takes_what_is_named = !request.selection.paths().empty();
  outcome.excluded = takes_what_is_named ? 0 : tree.excluded;
  outcome.temporaries = tree.temporaries;
  outcome.failures = tree.failures;
  return outcome;
}

PlanOptions plan_options(const Request& request, const Places& places, Crew& crew) {
  // Whole groups of chunks, so that pieces do not share one.
  constexpr std::uint64_t kPieceUnit = std::uint64_t{256} << 10;
  const bool chained = request.encrypts() && !request.is_sealed();
  // While one thread waits for the device, others read and write.
  constexpr unsigned kDeviceThreads = 3;
  const bool in_order = places.stream.has_value();
  if (in_order || request.dry_run) crew.let_go();
  return {
      .threads = in_order ? 1 : request.threads * crew.processes(),
      .pus = std::max(crew.pus(), request.engine == crypto::Engine::opencl ? kDeviceThreads : 1),
      .can_split = !chained && !in_order,
      .piece_unit = kPieceUnit};
}

// A job on a tree or a single file, from the scan to the outcome. See README.md for the picture.
class FilesJob {
 public:
  // engine: of the CPU.
  FilesJob(const Request& request, const Hooks& hooks, Crew& crew, Places places,
           crypto::Engine engine)
      : request_(request),
        hooks_(hooks),
        crew_(crew),
        places_(std::move(places)),
        in_root_(places_.in_root.get()),
        is_tree_(places_.input_kind == InputKind::tree),
        engine_(engine),
        keys_(ring_of(request, hooks)),
        outcome_(describe(request, places_, engine)) {}

  // scan_seconds: what the scan took.
  JobReport run(double scan_seconds) {
    try {
      if (!request_.encrypts()) step("keys and manifest of IN", &FilesJob::open_input);
      step("plan", &FilesJob::make_plan_of_work);
      if (request_.dry_run) return run_dry();
      step("open OUT", &FilesJob::open_output);
      make_state();
      if (request_.seals()) step("keys of OUT", &FilesJob::prepare_to_seal);
      step("leftovers", &FilesJob::remove_leftovers);
    } catch (const Stopped&) {
      return std::move(outcome_);  // while a key was derived, or a question waited for an answer
    }
    device_ = open_device(request_, hooks_, plan_.threads, outcome_.device_remarks);
    job_->device = device_.get();
    const auto from = Clock::now();
    step("files", &FilesJob::work);
    if (!job_->stop) step("manifest of OUT", &FilesJob::finish_output);
    lock_.reset();
    if (!job_->stop) step("directories of OUT", &FilesJob::finish_directories_of_output);
    tell_differences_of_input();
    if (stream_.valid()) finish_stream(stream_, request_.fsync, request_.out);
    outcome_.seconds = std::chrono::duration<double>(Clock::now() - from).count() + scan_seconds;
    collect(*job_, outcome_);
    tell_if_input_changed();
    return std::move(outcome_);
  }

 private:
  void step(const char* what, void (FilesJob::*task)()) {
    const Traced traced(hooks_.trace, what);
    (this->*task)();
  }

  // Finds the keys of what is decrypted or verified, and its manifest.
  void open_input() {
    if (!request_.is_sealed()) {
      require_cbc_key_may_fit(request_, trees_.tree, in_root_);
    } else if (!is_tree_) {
      require_key_fits(trees_.tree, in_root_, "", keys_);
    } else {
      open_unless_changing(request_, places_, [this] { find_keys_of_tree(); });
    }
    if (!request_.is_sealed() || !is_tree_ || request_.without_manifest) {
      if (!needs_manifest(request_)) return;
      throw core::UsageError("--quick, --root and PATH take a sealed directory and its manifest");
    }
    open_unless_changing(request_, places_,
                         [this] { manifest_ = manifest_of_input(request_, places_, keys_); });
    outcome_.version_1_tree = !manifest_;
    if (manifest_) take_manifest();
  }

  void find_keys_of_tree() {
    std::vector<Failure> of_keys;
    use_keys_file(trees_.tree, in_root_, !request_.without_manifest, keys_, of_keys);
    require_key_fits(trees_.tree, in_root_, of_keys.empty() ? "" : of_keys[0].what, keys_);
    std::ranges::move(of_keys, std::back_inserter(outcome_.failures));
  }

  // The tree may be another one than what was scanned.
  void take_manifest() {
    std::vector<Failure> failures = std::move(outcome_.failures);
    outcome_ = describe(request_, places_, engine_);
    outcome_.failures = std::move(failures);
    outcome_.root = manifest_->root();
    outcome_.links = manifest_->links();
  }

  void make_plan_of_work() {
    plan_ = make_plan(trees_.tree, plan_options(request_, places_, crew_));
    outcome_.threads = plan_.threads;
  }

  // Finds what an update would remove; changes nothing.
  JobReport run_dry() {
    if (request_.update) {
      out_root_ = open_output_root(places_.out_path, is_tree_, request_.out).directory;
      job_.emplace(request_, trees_, in_root_, out_root_.get(), keys_);
      prepare_to_seal();
      outcome_.would_remove = sealed_->would_remove();
    }
    if (!places_.stream) {
      const std::filesystem::path out = places_.out_path;
      const bool is_there = std::filesystem::exists(out);
      outcome_.free_bytes = core::writable_bytes(is_there ? out : out.parent_path());
    }
    outcome_.complete = true;
    return std::move(outcome_);
  }

  void open_output() {
    if (places_.stream) {
      stream_ = core::open_stream(*places_.stream);
    } else if (request_.direction != Direction::verify) {
      OutputRoot root = open_output_root(places_.out_path, is_tree_, request_.out);
      out_root_ = std::move(root.directory);
      made_root_ = root.made;
      if (is_tree_) lock_tree();
    }
  }

  void lock_tree() {
    if (!made_root_) writable_.emplace(out_root_.get());
    lock_.emplace(out_root_.get(), request_.seals() ? LockedTree::sealed : LockedTree::plain,
                  request_.out);
    require_still_empty(places_, request_, *lock_);
  }

  void make_state() {
    job_.emplace(request_, trees_, in_root_, out_root_.get(), keys_);
    job_->hooks = hooks_;
    job_->engine = engine_;
    job_->stream = stream_.get();
    job_->modes = {.opens = request_.direction == Direction::decrypt,
                   .authenticated = manifest_ != nullptr,
                   .preserve = request_.preserve,
                   .mask = process_umask()};
    // An empty OUT has no other file system below it.
    if (is_tree_ && out_root_.valid() && !request_.replaces() && crew_.processes() == 1 &&
        core::unnamed_files_get_names(out_root_.get())) {
      job_->outputs = core::Until::unnamed;
      job_->small_in_place = request_.seals() && !request_.fsync && is_unfinished(out_root_.get());
    }
    job_->manifest = manifest_.get();
    job_->scan_may_hold_leftovers = request_.opens_sealed() && is_tree_ && !manifest_;
    if (!request_.quick) return;
    job_->is_done_without_work = [this](Directories& directories, std::uint32_t file) {
      return looks_right(*job_, directories, file);
    };
  }

  // Derives keys before the clock runs.
  void prepare_to_seal() {
    const int out = out_root_.get();
    seal_ = is_tree_  ? seal_for_tree(request_, trees_.tree, out, keys_)
            : out < 0 ? seal_of_new_tree(request_, keys_)
                      : seal_for_file(request_, trees_.out(), out, keys_);
    job_->seal = &seal_;
    if (is_tree_) sealed_.emplace(*job_, plan_.threads);
  }

  void remove_leftovers() {
    if (!out_root_.valid() || !request_.replaces()) return;
    if (sealed_ && sealed_->goes_on_from_an_end()) return;
    if (!is_tree_) {
      outcome_.leftovers_removed = remove_leftovers_beside(trees_.tree, in_root_, out_root_.get());
      return;
    }
    Leftovers leftovers = remove_leftovers_of(trees_.out(), out_root_.get());
    outcome_.leftovers_removed = leftovers.removed;
    // A resumed sealed tree tells of whatever IN does not have.
    const bool told_otherwise = sealed_ && (request_.resume || trees_.as_written);
    if (!told_otherwise) outcome_.doubtful = std::move(leftovers.doubtful);
  }

  void work() {
    CopyPairs copies;
    const bool compares = out_root_.valid() && request_.measure_copy && !device_;
    crew_.work(*job_, places_, plan_, compares ? &copies : nullptr, outcome_);
    if (lock_ && !outcome_.remarks.empty()) {
      remove_leftovers_of(trees_.out(), out_root_.get());  // of who was lost
    }
    if (device_ && !device_->remark().empty()) {
      outcome_.device_remarks.push_back(device_->remark());
    }
    tell_what_differs();
    if (!job_->stop) outcome_.copy_share = share_of_copying(copies.all(), copies.now());
    if (sealed_) outcome_.removed = sealed_->removed();
  }

  // Without a manifest, what differs is what killed jobs have left; ranks may tell of one twice.
  void tell_what_differs() {
    std::set<std::string> leftovers;
    for (const auto& [file, misfit] : job_->take_differences()) {
      const std::string path = trees_.tree.path(trees_.tree.files[file]);
      if (manifest_) manifest_->add(path, misfit);
      if (!manifest_) leftovers.insert(path);
    }
    std::ranges::copy(leftovers, std::back_inserter(outcome_.temporaries));
  }

  void finish_output() {
    if (sealed_) outcome_.root = sealed_->finish(outcome_.failures);
  }

  // Once the lock is gone, which changes the directory's times.
  void finish_directories_of_output() {
    if (!out_root_.valid()) return;
    const WrittenTree written{request_,        trees_.tree, in_root_,
                              out_root_.get(), job_->modes, made_root_};
    if (manifest_) {
      std::set<std::uint32_t> failed;
      for (const auto& [file, what] : job_->failures()) failed.insert(file);
      restore(written, *manifest_, failed, outcome_.failures);
    } else if (!trees_.as_written) {
      finish_directories(written, outcome_.failures);
    } else if (made_root_) {
      close_root(out_root_.get(), outcome_.failures);
    }
  }

  void tell_differences_of_input() {
    if (job_->stop || !manifest_) return;
    tell_differences(*manifest_, outcome_.failures, outcome_.temporaries);
  }

  void tell_if_input_changed() {
    if (job_->stop || !manifest_ || !changed_since_scan(places_)) return;
    tell_that_it_changed(request_, outcome_.failures);
    outcome_.temporaries.clear();  // which may be the other job's
  }

  const Request& request_;
  const Hooks& hooks_;
  Crew& crew_;
  Places places_;
  Trees& trees_ = places_.trees;
  const int in_root_;
  const bool is_tree_;
  const crypto::Engine engine_;
  KeyRing keys_;
  JobReport outcome_;
  std::unique_ptr<TreeManifest> manifest_;  // of the tree that is read
  Plan plan_;
  core::Descriptor out_root_, stream_;
  bool made_root_ = false;
  std::optional<WritableForNow> writable_;
  std::optional<JobLock> lock_;
  std::unique_ptr<crypto::DeviceAes> device_;
  TreeSeal seal_;
  std::optional<JobState> job_;
  std::optional<OutputManifest> sealed_;  // the manifest of the tree that is written
};

}  // namespace

void check_job(const Request& request) {
  check(request);
  crypto::resolve(request.engine);
  look_at_places(request);
}

JobReport run_job(const Request& request, const Hooks& hooks) {
  Crew alone;
  return run_job(request, hooks, alone);
}

JobReport run_job(const Request& request, const Hooks& hooks, Crew& crew) {
  check(request);
  if (request.engine == crypto::Engine::opencl && crew.processes() > 1) {
    throw core::UsageError("--engine opencl works in one process, without an MPI launcher");
  }
  const auto from = Clock::now();
  std::optional<Traced> scanning(std::in_place, hooks.trace, "scan of IN");
  Places places = look_at_places(request);
  scanning.reset();
  const crypto::Engine engine = engine_for(request, places);
  hooks.places_are_fit();
  const std::chrono::duration<double> scan = Clock::now() - from;
  if (places.input_kind == InputKind::stream) {
    crew.let_go();
    const Traced traced(hooks.trace, "stream");
    return run_stream(request, places, engine, hooks);
  }
  return FilesJob(request, hooks, crew, std::move(places), engine).run(scan.count());
}

}  // namespace tabane::encrypt
