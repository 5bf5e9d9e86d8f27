// How far long work is, and whether the user wants it to end.
#pragma once

#include <exception>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/core/counters.h"
#include "tabane/core/measurement.h"
#include "tabane/lab/record/points.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Thrown out of a measurement when the user asked to stop; what was already reported is kept.
class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("stopped") {}
};

// What surveys and studies report while they run, and how they are stopped.
struct Hooks {
  std::function<bool()> stop_requested = [] { return false; };
  // What is being measured, the share of the whole that is done, the seconds left.
  std::function<void(const std::string& what, double done, double seconds_left)> progress =
      [](const std::string&, double, double) {};
  // How long it will take, once that is known.
  std::function<void(const std::string&)> on_plan = [](const std::string&) {};
  std::function<void(const Result&)> on_result = [](const Result&) {};
  // The figures of a survey's first pass, which later ones refine.
  std::function<void(const Result&)> on_first_result = [](const Result&) {};
  // After every probe, so that a lost session loses little.
  std::function<void(const Record&)> on_probe_done = [](const Record&) {};

  // throws: Stopped.
  void throw_if_stopped() const {
    if (stop_requested()) throw Stopped();
  }
};

// Steps of planned lengths. The remaining time follows from the plan, corrected by how the steps so
// far kept to it.
class StepProgress {
 public:
  StepProgress(Hooks hooks, std::vector<double> planned_seconds,
               core::Clock& clock = core::tick_clock());

  // Reports that this share of the step is done.
  void tell(const std::string& what, double share_of_step);
  // Also throws Stopped if the user asked to stop.
  void show(const std::string& what, double share_of_step);
  void next_step();
  double elapsed_seconds() const { return clock_.now() - start_; }

 private:
  Hooks hooks_;
  std::vector<double> planned_;
  core::Clock& clock_;
  double start_, total_ = 1e-9, finished_ = 0;
  std::size_t step_ = 0;
};

// A campaign: blocks of contenders that are measured in turn, visited in one or several passes
// under one budget. It fills points; tables and charts are made from those.

// The result of one measurement of a contender.
struct Sample {
  double seconds = 0;
  std::vector<std::pair<const char*, double>> beside = {};  // what else was seen; NaN: not known
};

// Adds a sample and what was seen with it to those of the point.
void add_sample(Point& point, const Sample& sample);

struct Contender {
  Factors factors;
  std::function<Sample()> measure;
};

using core::Effort;
inline constexpr int kUsualRounds = 100;  // of a visit, where nothing else is said

class Campaign;

// One visit of a block.
class Visit {
 public:
  // The part of the campaign's budget for this visit, and the time after which nothing else begins.
  double budget_seconds() const { return budget_seconds_; }
  double most_seconds() const { return most_seconds_; }
  // This visit's part of an effort that is one of all passes together.
  Effort part(const Effort& all) const { return all.part(pass_, passes_); }

  // Reports that this share of the visit is done. throws: Stopped if the user asked to stop.
  void show(double share);
  // Measures in turn and adds the samples, each with its "order" among all of the block; whole
  // rounds only. throws: Stopped, with the rounds so far kept; as measure().
  void in_turn(const std::vector<Contender>& contenders, const Effort& effort);
  // Adds samples of a point that were taken elsewhere, one per round. beside: holds for all.
  void add(const Factors& factors, const std::vector<double>& samples,
           const std::vector<std::pair<const char*, double>>& beside = {});
  // Records what is not measured, and why.
  void skip(const std::string& what, const std::string& reason);

 private:
  friend class Campaign;
  Visit(Campaign& campaign, std::size_t block, int pass, int passes)
      : campaign_(campaign), block_(block), pass_(pass), passes_(passes) {}
  Point& point(const Factors& factors);

  Campaign& campaign_;
  std::size_t block_;
  int pass_, passes_;
  double budget_seconds_ = 0, most_seconds_ = 0;
};

struct Block {
  std::string what;            // for the progress: "100 x 4 MiB"
  double planned_seconds = 1;  // of a visit, about
  // Sets up, measures and clears up.
  std::function<void(Visit&)> body;
  // What the block will measure; what it had no time for counts as not measured.
  std::vector<Factors> points = {};
};

// A block that measures all contenders in turn. effort: of a visit, whose part of the budget it
// gets.
Block block_in_turn(std::string what, std::vector<Contender> contenders,
                    Effort effort = {.most = kUsualRounds});

struct CampaignOptions {
  int passes = 1;
  // Later passes begin only within the budget. A visit's part is equal in all passes.
  double budget_seconds = std::numeric_limits<double>::infinity();
  // No block begins after it. In the first pass each block may take its share of what is left.
  double most_seconds = std::numeric_limits<double>::infinity();
  // Returns rank 0's answer on all ranks, if several processes run the same campaign; else empty.
  std::function<bool(bool)> agree = {};
};

class Campaign {
 public:
  explicit Campaign(Hooks hooks) : hooks_(std::move(hooks)) {}

  void add(Block block);
  // Records what does not fit, or is not available, and why.
  void skip(const std::string& what, const std::string& reason);
  // How many of the planned points have no samples, and of how many.
  std::pair<std::size_t, std::size_t> unmeasured() const;
  // Visits all blocks, pass after pass. Returns false if the user stopped it; what was measured
  // stays. A block that fails, as where the machine refuses processes, threads or memory, is noted
  // as skipped, unless no block measures anything, or several processes run the campaign together:
  // those would no longer agree where they are. throws: as the blocks; what was asked for wrongly
  // (core::UsageError) and wrong results (core::VerificationError) at once.
  bool run(const CampaignOptions& options = {});

  Points points;
  std::vector<Skipped> skipped;  // each name once
  // Of the thread that measures in turn, seen beside its samples.
  core::Counters counters{core::Counted::thread};
  double seconds = 0;  // that run() took

 private:
  friend class Visit;
  void visit(const CampaignOptions& options, std::size_t launch);
  void run_body(Visit& visit, bool alone);

  Hooks hooks_;
  std::vector<Block> blocks_;
  StepProgress* progress_ = nullptr;  // while it runs
  std::exception_ptr refusal_;        // the first
};

}  // namespace tabane::lab
