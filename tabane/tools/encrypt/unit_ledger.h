// The units of a job that several ranks do, as rank 0 gives them to its own threads and to others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tabane/tools/encrypt/formats.h"
#include "tabane/tools/encrypt/letters.h"
#include "tabane/tools/encrypt/plan.h"

namespace tabane::encrypt {

// A unit is either whole files, which the rank that has it commits, or a piece of a file, which
// this rank opens when the first of its pieces is given, and commits when the last one is done.
class UnitLedger : public UnitSource {
 public:
  // mail: to ranks 1, 2 … `ranks` - 1. All live as long as this.
  // silence_limit_s: after which a rank of which nothing is heard is lost; 0: never.
  UnitLedger(JobState& job, const Plan& plan, crypto::Engine engine, RankMail& mail, int ranks,
             double silence_limit_s);

  // Of the threads of this rank. Null also if units may come back later: see is_over().
  std::shared_ptr<Share> next() override;
  // Reads what others report, gives them more. What a lost rank had comes back.
  void tick() override;

  // Whether all others have left and nothing came back. throws: what tick() has met.
  bool is_over();
  bool has_units();

  // Takes back what all others have: nobody hears from them any more.
  void lose_all(const std::string& why);
  // What went wrong with ranks, which may have left temporary files.
  const std::vector<std::string>& remarks() const { return remarks_; }
  // Whether a rank ended, or says nothing any more.
  bool lost() const { return lost_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    Clock::time_point heard = Clock::now();
    std::set<std::size_t> units;
    unsigned wants = 0;
    std::uint64_t bytes_done = 0, files_unlisted = 0;
    bool left = false;
  };
  struct OpenFile {
    std::shared_ptr<FileTask> task;  // null: nothing is left to do
    Joint joint;
    std::uint64_t attempt = 0;
    std::uint32_t pieces_left = 0;
  };

  std::optional<Work::Given> take();
  std::optional<Joint> join(std::size_t unit);
  void open(OpenFile& file, const Unit& unit);
  std::shared_ptr<FileTask> started_task(const Unit& unit);
  void end_piece(std::size_t unit, const Report::Done& done);
  void end_piece(OpenFile& file);
  void take_report(int rank, const Report& report);
  void take_back(Worker& worker);
  void begin_anew(std::uint32_t file);
  void look_for_silence();
  void give();
  void give(int rank, Worker& worker);

  JobState& job_;
  const Plan& plan_;
  RankMail& mail_;
  const double silence_limit_s_;
  std::exception_ptr problem_;
  std::vector<std::string> remarks_;
  bool told_stop_ = false, lost_ = false, unreachable_ = false;
  std::mutex mutex_;  // of what follows
  std::deque<std::size_t> queue_;
  std::vector<Worker> workers_;  // by rank; that of rank 0 has left
  std::map<std::uint32_t, OpenFile> files_;
  Directories directories_;
  const std::unique_ptr<Format> format_;  // opens files
};

}  // namespace tabane::encrypt
