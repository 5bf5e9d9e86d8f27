// Random collectives on random groups of the ranks, each of which is checked against what its
// ranks' values must give; for any transport. All ranks draw the same sequence from a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tabane/comm/collective/collective_checks_test.h"
#include "tabane/comm/collectives.h"

namespace tabane::comm {

class RandomCollectives {
 public:
  // seed: the same on all ranks. before_call: called before each collective; may throw.
  RandomCollectives(
      Comm& world, std::uint64_t seed, std::function<void()> before_call = [] {})
      : random_(seed),
        before_call_(std::move(before_call)),
        delay_(world.rank(), static_cast<unsigned>(seed)) {
    groups_.push_back(world);
    groups_.push_back(*world.split(world.rank() % 2));
    std::vector<int> colors(static_cast<std::size_t>(world.size()));
    for (int& color : colors) color = static_cast<int>(random_() % 3);
    groups_.push_back(*world.split(colors[static_cast<std::size_t>(world.rank())], -world.rank()));
  }

  // throws: core::Error if a result is wrong; as the collectives.
  void run(int calls) {
    for (int i = 0; i < calls; ++i) {
      const std::uint64_t number = random_();
      std::mt19937_64 of_call(number);
      Comm& comm = groups_[of_call() % groups_.size()];
      const Algorithm& drawn = algorithms()[of_call() % algorithms().size()];
      const bool chosen = of_call() % 3 == 0;
      const Algorithm algorithm{drawn.kind, chosen ? std::string_view() : drawn.name, drawn.run,
                                drawn.refuses};
      const std::size_t count = draw_count(of_call);
      const int root = static_cast<int>(of_call() % 840) % comm.size();
      const std::uint64_t type = of_call() % 3;
      delay_();
      before_call_();
      if (of_call() % 4 == 0) begin(comm, count, root, number);
      if (!begun_.empty() && of_call() % 3 == 0) end(of_call() % begun_.size());
      if (type == 0) check<std::uint8_t>(comm, algorithm, count, root, number);
      if (type == 1) check<std::int32_t>(comm, algorithm, count, root, number);
      if (type == 2) check<double>(comm, algorithm, count, root, number);
    }
    while (!begun_.empty()) end(0);
  }
  std::uint64_t checked() const { return checked_; }

 private:
  // Up to sizes at which other algorithms are chosen.
  static std::size_t draw_count(std::mt19937_64& random) {
    constexpr std::size_t kMost[] = {1, 7, 49, 600, 5000, 20'000};
    return random() % (kMost[random() % std::size(kMost)] + 1);
  }

  template <class T>
  void check(Comm& comm, const Algorithm& algorithm, std::size_t count, int root,
             std::uint64_t number) {
    const bool is_chosen = algorithm.name.empty();
    if (!is_chosen && !serves(comm, algorithm, sizeof(T), count)) return;
    check_call<T>(comm, algorithm, count, root, static_cast<unsigned>(number));
    ++checked_;
  }

  // A collective that does not block, while others go on.
  struct Begun {
    std::vector<std::int64_t> values, wanted;
    std::optional<Request> request = {};
  };

  void begin(Comm& comm, std::size_t count, int root, std::uint64_t number) {
    using T = std::int64_t;
    const auto call = static_cast<unsigned>(number);
    auto one = std::make_unique<Begun>();
    if (number % 3 == 0) {
      one->request = ibarrier(comm);
    } else if (number % 3 == 1) {
      one->values.resize(count);
      one->wanted = values_of<T>(root, count, call);
      if (comm.rank() == root) one->values = one->wanted;
      one->request = ibroadcast(comm, one->values, root);
    } else {
      one->values = values_of<T>(comm.rank(), count, call);
      one->wanted = combined<T>(Operation::max, comm.size(), count, call);
      one->request = iall_reduce(comm, one->values, Operation::max);
    }
    begun_.push_back(std::move(one));
  }

  void end(std::size_t index) {
    before_call_();
    Begun& one = *begun_[index];
    one.request->wait();
    require(one.values == one.wanted);
    begun_.erase(begun_.begin() + static_cast<std::ptrdiff_t>(index));
    ++checked_;
  }

  std::mt19937_64 random_;
  std::function<void()> before_call_;
  Delays delay_;
  std::vector<Comm> groups_;
  std::vector<std::unique_ptr<Begun>> begun_;
  std::uint64_t checked_ = 0;
};

}  // namespace tabane::comm
