// Ranks that are in different collectives, for tests on all transports: rank 0 does `first`, the
// others do `others`.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {

struct Mismatch {
  std::string name;
  std::string_view first_calls, others_call;  // what the error must name
  std::function<void(Comm&)> first, others;
};

namespace mismatches {

// One collective of `count` T each; the operation is for reductions.
template <class T = int>
void call(Comm& comm, Kind kind, int root, std::size_t count, Operation operation = Operation::sum,
          const CollectiveOptions& options = {}, Layout layout = Layout::block) {
  std::vector<T> part(count), all(count * static_cast<std::size_t>(comm.size()));
  std::vector<T> in(all.size());
  const std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size()), count);
  switch (kind) {
    case Kind::barrier:
      return barrier(comm, options);
    case Kind::broadcast:
      return broadcast(comm, part, root, options);
    case Kind::reduce:
      return reduce(comm, part, operation, root, options);
    case Kind::all_reduce:
      return all_reduce(comm, part, operation, options);
    case Kind::scatter:
      return scatter(comm, all, part, root, layout, options);
    case Kind::gather:
      return gather(comm, part, all, root, layout, options);
    case Kind::all_gather:
      return all_gather(comm, part, all, layout, options);
    case Kind::all_to_all:
      return all_to_all(comm, all, in, options);
    case Kind::scan:
      return scan(comm, part, operation, options);
    case Kind::exscan:
      return exscan(comm, part, operation, options);
    case Kind::reduce_scatter:
      return reduce_scatter(comm, in, part, operation, options);
    case Kind::gather_varying:
      return gather_varying(comm, part, all, counts, root, options);
    case Kind::scatter_varying:
      return scatter_varying(comm, all, counts, part, root, options);
    case Kind::all_gather_varying:
      return all_gather_varying(comm, part, all, counts, options);
  }
}

inline std::vector<Kind> all_kinds() {
  std::vector<Kind> all;
  for (int kind = 0; kind < kKinds; ++kind) all.push_back(static_cast<Kind>(kind));
  return all;
}

// Of gathers and scatters with a count for each rank, only the root knows all sizes: they are told
// by the messages.
inline bool has_one_size(Kind kind) {
  return kind != Kind::barrier && kind != Kind::gather_varying && kind != Kind::scatter_varying;
}

// In one line of memory, in one message, in several.
inline constexpr std::size_t kCounts[] = {2, 500, 3000};

inline void add_kinds(std::vector<Mismatch>& all) {
  for (const std::size_t count : kCounts) {
    for (const Kind one : all_kinds()) {
      for (const Kind other : all_kinds()) {
        if (one >= other) continue;
        all.push_back({fmt::format("{} and {} of {}", name_of(one), name_of(other), count),
                       name_of(one), name_of(other), [=](Comm& comm) { call(comm, one, 0, count); },
                       [=](Comm& comm) { call(comm, other, 0, count); }});
      }
    }
  }
}

inline void add_arguments(std::vector<Mismatch>& all) {
  for (const std::size_t count : kCounts) {
    for (const Kind kind : all_kinds()) {
      if (kind == Kind::barrier) continue;
      const auto add = [&](std::string_view what, auto first, auto others) {
        all.push_back({fmt::format("{} of {}, {}", name_of(kind), count, what), name_of(kind),
                       name_of(kind), first, others});
      };
      const auto right = [=](Comm& comm) { call(comm, kind, 0, count); };
      if (has_root(kind)) {
        add("roots", right, [=](Comm& comm) { call(comm, kind, 1, count); });
        add(
            "roots, others", [=](Comm& comm) { call(comm, kind, 1, count); }, right);
      }
      if (has_one_size(kind)) {
        add("sizes", right, [=](Comm& comm) { call(comm, kind, 0, count - 1); });
        add(
            "sizes, others", [=](Comm& comm) { call(comm, kind, 0, count - 1); }, right);
        add("no bytes", right, [=](Comm& comm) { call(comm, kind, 0, 0); });
      }
      add("types", right, [=](Comm& comm) { call<float>(comm, kind, 0, count); });
      if (kind == Kind::scatter || kind == Kind::gather || kind == Kind::all_gather) {
        add("layouts", right,
            [=](Comm& comm) { call(comm, kind, 0, count, Operation::sum, {}, Layout::cyclic); });
      }
      if (combines(kind)) {
        add("operations", right, [=](Comm& comm) { call(comm, kind, 0, count, Operation::max); });
      }
    }
  }
}

inline void add_orders(std::vector<Mismatch>& all) {
  const auto both = [](Kind one, Kind other) {
    return [=](Comm& comm) {
      call(comm, one, 0, 2);
      call(comm, other, 0, 2);
    };
  };
  for (const Kind one : all_kinds()) {
    const Kind other = static_cast<Kind>((static_cast<int>(one) + 1) % kKinds);
    all.push_back({fmt::format("{} before {}", name_of(one), name_of(other)), name_of(one),
                   name_of(other), both(one, other), both(other, one)});
  }
  all.push_back({"algorithms", "tree", "linear",
                 [](Comm& comm) {
                   call(comm, Kind::all_reduce, 0, 2, Operation::sum, {.algorithm = "tree"});
                 },
                 [](Comm& comm) {
                   call(comm, Kind::all_reduce, 0, 2, Operation::sum, {.algorithm = "linear"});
                 }});
}

inline std::vector<Mismatch> of_non_blocking() {
  const auto sum = [](Comm& comm) {
    std::vector<int> values(2);
    iall_reduce(comm, values, Operation::sum).wait();
  };
  const auto copy = [](int root, std::size_t count) {
    return [=](Comm& comm) {
      std::vector<int> values(count);
      ibroadcast(comm, values, root).wait();
    };
  };
  const auto blocking = [](Kind kind) { return [=](Comm& comm) { call(comm, kind, 0, 2); }; };
  const auto meet = [](Comm& comm) { ibarrier(comm).wait(); };
  return {
      {"kinds", "all_reduce", "barrier", sum, meet},
      {"roots", "broadcast", "broadcast", copy(0, 2), copy(1, 2)},
      {"sizes", "broadcast", "broadcast", copy(0, 2), copy(0, 3)},
      {"large sizes", "broadcast", "broadcast", copy(0, 3'000), copy(0, 2'999)},
      {"one that blocks", "all_reduce", "all_reduce", sum, blocking(Kind::all_reduce)},
      {"others that block", "barrier", "barrier", blocking(Kind::barrier), meet},
      {"another that blocks", "broadcast", "all_reduce", copy(0, 2), blocking(Kind::all_reduce)}};
}

}  // namespace mismatches

inline std::vector<Mismatch> all_mismatches() {
  std::vector<Mismatch> all = mismatches::of_non_blocking();
  mismatches::add_kinds(all);
  mismatches::add_arguments(all);
  mismatches::add_orders(all);
  return all;
}

// Calls that are the same on all ranks, compared.
inline void compared_calls_give_results(Comm& comm) {
  comm.check_collectives(true);
  for (int i = 0; i < 20; ++i) {
    std::vector<int> sum(1 + static_cast<std::size_t>(i) * 200, 1);
    Request all = iall_reduce(comm, sum, Operation::sum), met = ibarrier(comm);
    barrier(comm);
    met.wait();
    all.wait();
    require(sum.back() == comm.size());
  }
}

// Does what this rank does of it, after a call that is the same on all.
inline void mismatch(Comm& comm, const Mismatch& one, bool checked = true) {
  comm.check_collectives(checked);
  barrier(comm);
  (comm.rank() == 0 ? one.first : one.others)(comm);
}

// Empty if the text names what both sides call.
inline std::string missing_in(const std::string& text, const Mismatch& one) {
  const auto first = text.find(" calls "), second = text.rfind(" calls ");
  for (const std::string_view word : {one.first_calls, one.others_call}) {
    if (text.find(word) == text.npos) {
      return fmt::format("{}: \"{}\" does not name {}", one.name, text, word);
    }
  }
  return first != second ? "" : fmt::format("{}: \"{}\" does not name both", one.name, text);
}

}  // namespace tabane::comm
