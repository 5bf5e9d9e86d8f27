// What the ranks of a job do that are not rank 0.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "tabane/comm/launch.h"
#include "tabane/core/binding.h"
#include "tabane/core/file.h"
#include "tabane/core/system_files.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/coordinator.h"
#include "tabane/tools/encrypt/letters.h"
#include "tabane/tools/encrypt/run_keys.h"
#include "tabane/tools/encrypt/threads.h"

namespace tabane::encrypt {
namespace {

constexpr std::chrono::milliseconds kSignOfLife(500);

// The units that this rank has, and what became of them.
class GivenUnits : public UnitSource {
 public:
  GivenUnits(JobState& job, RankMail& mail, unsigned threads)
      : job_(job), mail_(mail), threads_(threads) {
    job.is_given_up = [this] { return job_.stop || was_silent(); };
  }

  std::shared_ptr<Share> next() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return job_.stop || end_ || !ready_.empty(); });
    if (job_.stop || ready_.empty()) return nullptr;
    auto share = std::make_unique<Share>(std::move(ready_.front()));
    ready_.pop_front();
    return {share.release(), [this](Share* done) {
              const std::unique_ptr<Share> owned(done);
              note(std::move(*done));
            }};
  }

  void tick() override {
    try {
      if (!problem_) {
        if (was_silent()) throw core::Error("was silent, so that others do what it had");
        while (const auto letter = mail_.take(kWorkTag)) take(letter->as<Work>());
        report();
      }
    } catch (...) {
      problem_ = std::current_exception();
      job_.stop = true;
    }
    if (job_.stop) changed_.notify_all();
  }

  // Tells what is left. throws: what tick() has met.
  void leave() {
    if (problem_) std::rethrow_exception(problem_);
    const std::lock_guard lock(mutex_);
    report_.leaves = true;
    report_.stop = job_.stop;
    send();
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Whether rank 0 may have given this rank up, which it does only a little later.
  bool was_silent() const {
    const std::chrono::duration<double> silent = Clock::now() - told_.load();
    return silence_limit_s_ > 0 && silent.count() > 0.9 * silence_limit_s_;
  }

  void take(const Work& work) {
    const std::lock_guard lock(mutex_);
    ready_.insert(ready_.end(), work.units.begin(), work.units.end());
    asked_ = false;
    end_ = end_ || work.end;
    if (work.stop) job_.stop = true;
    changed_.notify_all();
  }

  // What was not begun when the job stopped is not done.
  void note(Share share) {
    const std::lock_guard lock(mutex_);
    if (!job_.stop) report_.done.push_back(std::move(share));
  }

  // Asks for more when there is no more than one unit a thread in stock.
  void report() {
    const std::lock_guard lock(mutex_);
    const bool asks = !asked_ && !end_ && ready_.size() < threads_;
    const bool is_silent = Clock::now() - told_.load() > kSignOfLife;
    if (!asks && !is_silent && report_.done.empty() && !job_.stop) return;
    report_.wants = asks ? 2 * threads_ - static_cast<unsigned>(ready_.size()) : 0;
    report_.stop = job_.stop;
    asked_ = asked_ || asks;
    if (job_.stop && std::exchange(told_stop_, true)) return;
    send();
  }

  void send() {
    report_.bytes_done = job_.bytes_done;
    report_.files_unlisted = job_.files_unlisted;
    report_.failures = job_.take_failures();
    report_.differences = job_.take_differences();
    told_ = Clock::now();  // no later than rank 0 hears it
    mail_.post(0, kReportTag, encode(report_));
    report_ = {};
  }

  JobState& job_;
  RankMail& mail_;
  const unsigned threads_;
  const double silence_limit_s_ = comm::default_silence_limit();
  std::atomic<Clock::time_point> told_ = Clock::now();
  std::exception_ptr problem_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Share> ready_;
  bool asked_ = false, end_ = false, told_stop_ = false;
  Report report_;
};

core::Descriptor open_directory(const std::string& path) {
  core::Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) throw core::SystemError("open", path, errno);
  return directory;
}

core::Descriptor open_out(const Start& start) {
  core::Descriptor out = open_directory(start.out);
  if (::faccessat(out.get(), start.sign.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    throw core::Error("OUT ({}) is not the directory that rank 0 writes to", start.out);
  }
  return out;
}

// What the tree was held against on rank 0, which tells what is missing or does not belong.
// sealed: the tree that is read, or gone on with.
std::unique_ptr<TreeManifest> manifest_of(const Request& request, const Start& start, int sealed,
                                          const Tree& tree, KeyRing& keys) {
  if (!start.has_root) return nullptr;
  std::unique_ptr<TreeManifest> manifest = TreeManifest::open(sealed, keys);
  if (manifest) {
    manifest->hold_against(tree, request.selection, request.xattrs);
    if (manifest->root() == start.root) return manifest;
  }
  throw core::Error("the manifest in {} is not that of rank 0",
                    start.slots.empty() ? start.in : start.out);
}

void work(Request& request, const Start& start, Trees& trees, const RankSecrets& secrets,
          const Hooks& hooks, RankMail& mail) {
  const core::Descriptor in = open_directory(start.in);
  const core::Descriptor out = start.out.empty() ? core::Descriptor() : open_out(start);
  std::optional<TreeKey> tree_key = secrets.unpack(request);
  KeyRing keys = ring_of(request, hooks);
  if (tree_key) keys.set_tree(start.tree, copy_of(*tree_key));
  const bool seals = tree_key && !start.slots.empty();
  const auto manifest = manifest_of(request, start, seals ? out.get() : in.get(), trees.tree, keys);
  JobState job(request, trees, in.get(), out.get(), keys);
  job.hooks.stop_requested = hooks.stop_requested;
  job.engine = crypto::resolve(request.engine);
  job.spreads_pieces = true;
  job.modes = start.modes;
  if (seals) {
    job.kept_by = manifest.get();
  } else {
    job.manifest = manifest.get();
  }
  job.was_interrupted = start.was_interrupted;
  job.scan_may_hold_leftovers = start.scan_may_hold_leftovers;
  TreeSeal seal;
  if (seals) {
    seal = make_seal(start.tree, std::move(*tree_key), decode_slots(start.slots, 0));
    job.seal = &seal;
  }
  Plan plan = make_plan(trees.tree, start.plan);
  plan.threads = start.threads;
  GivenUnits units(job, mail, plan.threads);
  run_job_threads(job, plan, nullptr, &units);
  units.leave();
}

}  // namespace

void serve_rank_0(Request request, const Hooks& hooks, comm::Comm& ranks) {
  try {
    RankMail mail(ranks);
    crypto::X25519Secret secret;
    crypto::fill_random(secret.bytes());
    const crypto::X25519Public own = crypto::x25519_public(secret);
    mail.post(0, kHelloTag, encode(Hello{core::machine_name(), core::thread_binding(), own}));
    const auto start = mail.wait(kStartTag).as<Start>();
    if (start.works) {
      Trees trees;
      share(trees, ranks);
      try {
        work(request, start, trees, RankSecrets(start.secrets, secret, own), hooks, mail);
      } catch (const core::LostError&) {
        throw;
      } catch (const std::exception& error) {
        Report last;
        last.leaves = true;
        last.complaint =
            fmt::format("rank {} on {}: {}", ranks.rank(), core::host_name(), error.what());
        mail.post(0, kReportTag, encode(last));
      }
    }
    mail.flush();
  } catch (const core::LostError&) {
    return;  // rank 0 goes on alone, or is gone itself
  }
}

}  // namespace tabane::encrypt
