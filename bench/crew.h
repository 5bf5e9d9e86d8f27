// Threads bound to PUs that run one job together, for questions about all cores.
#pragma once

#include <barrier>
#include <functional>
#include <span>
#include <thread>
#include <vector>

namespace tabane::bench {

class Crew {
 public:
  using Job = std::function<void(std::size_t worker)>;

  // pus: os indices, one worker each.
  explicit Crew(std::span<const unsigned> pus);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  std::size_t size() const { return threads_.size(); }
  // Runs the job once in every worker; returns when all are done. cost: two barriers.
  void run(const Job& job);

 private:
  void work(std::size_t worker, unsigned pu);

  std::barrier<> start_, done_;
  const Job* job_ = nullptr;  // null: go home
  std::vector<std::thread> threads_;
};

}  // namespace tabane::bench
