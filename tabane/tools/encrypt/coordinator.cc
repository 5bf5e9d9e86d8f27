#include "tabane/tools/encrypt/coordinator.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>
#include <utility>

#include "tabane/comm/launch.h"
#include "tabane/core/binding.h"
#include "tabane/core/system_files.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/letters.h"
#include "tabane/tools/encrypt/threads.h"
#include "tabane/tools/encrypt/unit_ledger.h"

namespace tabane::encrypt {
namespace {

// The threads of each rank where `all` are wanted: at least one, and no more than its PUs.
std::vector<unsigned> threads_of(std::vector<unsigned> pus, unsigned all) {
  unsigned left = all;
  for (unsigned& threads : pus) {
    threads = std::clamp(left, 1u, threads);
    left -= std::min(left, threads);
  }
  return pus;
}

// Works until nobody has anything left to do.
void work(JobState& job, const Plan& plan, crypto::Engine engine, const Hooks& hooks,
          UnitLedger& units) {
  do {
    run_job_threads(job, plan, engine, hooks, nullptr, &units);
    while (!units.is_over() && (job.stop || !units.has_units())) {
      if (hooks.stop_requested()) job.stop = true;
      units.tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } while (!job.stop && units.has_units());
}

}  // namespace

std::vector<unsigned> divide_pus(const std::vector<Hello>& ranks) {
  std::map<std::pair<std::string, unsigned>, std::vector<std::size_t>> holders;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const unsigned pu : ranks[rank].pus) holders[{ranks[rank].machine, pu}].push_back(rank);
  }
  std::vector<unsigned> own(ranks.size(), 0);
  for (const auto& [pu, who] : holders) {
    ++own[*std::ranges::min_element(who, {}, [&](std::size_t rank) { return own[rank]; })];
  }
  for (unsigned& pus : own) pus = std::max(1u, pus);
  return own;
}

Coordinator::Coordinator(comm::Comm* ranks) : comm_(ranks) {
  if (ranks != nullptr && ranks->size() > 1) mail_ = std::make_unique<RankMail>(*ranks);
}

Coordinator::~Coordinator() { let_go(); }

void Coordinator::let_go() {
  if (!mail_ || started_) return;
  try {
    meet();
    for (int rank = 1; mail_ && rank < comm_->size(); ++rank) {
      mail_->post(rank, kStartTag, encode(Start{}));
    }
    if (mail_) mail_->flush();
  } catch (const core::LostError&) {
    remarks_.clear();  // nobody was needed
  }
  mail_.reset();
}

void Coordinator::meet() {
  if (!mail_ || !hellos_.empty()) return;
  try {
    hellos_.resize(static_cast<std::size_t>(comm_->size()));
    hellos_[0] = {.machine = core::machine_name(), .pus = core::thread_binding()};
    for (int others = comm_->size() - 1; others > 0; --others) {
      const Letter letter = mail_->wait(kHelloTag);
      hellos_[static_cast<std::size_t>(letter.from)] = decode_hello(letter.text);
    }
  } catch (const core::LostError& error) {
    remarks_.emplace_back(error.what());
    hellos_.clear();
    mail_.reset();
  }
}

int Coordinator::ranks() {
  meet();
  return mail_ ? comm_->size() : 1;
}

unsigned Coordinator::pus() {
  meet();
  if (!mail_) return std::max(1u, std::thread::hardware_concurrency());
  const std::vector<unsigned> own = divide_pus(hellos_);
  return std::accumulate(own.begin(), own.end(), 0u);
}

Start Coordinator::start_of(const JobState& job, const Places& places,
                            const PlanOptions& cut) const {
  Start start;
  start.works = true;
  start.plan = cut;
  start.in = places.in_path;
  start.modes = job.modes;
  start.scan_may_hold_leftovers = job.scan_may_hold_leftovers;
  if (job.out_root >= 0) start.out = places.out_path;
  if (const TreeManifest* const manifest = job.manifest ? job.manifest : job.kept_by) {
    start.has_root = true;
    start.root = manifest->root();
    start.was_interrupted = job.was_interrupted;
  }
  if (job.keys.tree_key()) start.tree = job.keys.tree();
  if (job.seal) {
    start.tree = job.seal->header.tree;
    start.slots = encode_slots(job.seal->slots);
  }
  start.sizes = sizes_of(job.tree);
  if (job.in_tree != &job.tree) start.sizes_as_read = sizes_of(*job.in_tree);
  if (job.out_tree != &job.tree) start.sizes_as_written = sizes_of(*job.out_tree);
  return start;
}

void Coordinator::send_starts(Start start, const JobState& job) {
  const RankSecrets secrets(job.request, job.seal ? &job.seal->key : job.keys.tree_key());
  for (int rank = 1; rank < comm_->size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    start.threads = threads_[index];
    start.secrets = secrets.wrap(hellos_[index].key);
    mail_->post(rank, kStartTag, encode(start));
  }
  mail_->flush();
  send_tree(job.tree, *comm_);
  if (job.in_tree != &job.tree) send_tree(*job.in_tree, *comm_);
  if (job.out_tree != &job.tree) send_tree(*job.out_tree, *comm_);
}

unsigned Coordinator::run(JobState& job, const Places& places, const Plan& plan,
                          const PlanOptions& cut, crypto::Engine engine, const Hooks& hooks) {
  started_ = true;
  threads_ = cut.threads > 0 ? std::vector<unsigned>(hellos_.size(), job.request.threads)
                             : threads_of(divide_pus(hellos_), plan.threads);
  Plan own = plan;
  own.threads = threads_[0];
  job.role = Role::coordinator;
  UnitLedger units(job, own, engine, *mail_, comm_->size(), comm::default_silence_limit());
  std::optional<core::TemporaryFile> sign;
  try {
    Start start = start_of(job, places, cut);
    if (job.out_root >= 0) {
      sign.emplace(job.out_root, "sign for other ranks", 0600);
      start.sign = sign->name();
    }
    send_starts(std::move(start), job);
  } catch (const core::LostError& error) {
    units.lose_all(error.what());
  }
  work(job, own, engine, hooks, units);
  sign.reset();
  remarks_ = units.remarks();
  lost_ = units.lost();
  return std::accumulate(threads_.begin(), threads_.end(), 0u);
}

}  // namespace tabane::encrypt
