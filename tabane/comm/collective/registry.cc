#include "tabane/comm/collective/registry.h"

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {
namespace {

const char* nothing(const Group&, const Call&) { return nullptr; }

const char* without_memory(const Group& group, const Call&) {
  return group.board() == nullptr ? "needs memory that the ranks share" : nullptr;
}

const char* without_native(const Group& group, const Call&) {
  return group.transport().collectives() == nullptr
             ? "needs a transport with collectives of its own"
             : nullptr;
}

// MPI takes min and max of floating-point numbers in whatever way a NaN falls, and an exception of
// the user's function must not pass through it.
const char* without_native_reduction(const Group& group, const Call& call) {
  if (call.combine != nullptr) {
    const Operation operation = call.combine->operation;
    const bool is_floating = call.combine->type.code >> 8 == 3;
    if (operation == Operation::user) return "does not take a function of the user's";
    if (is_floating && (operation == Operation::min || operation == Operation::max)) {
      return "may let a NaN win";
    }
  }
  return without_native(group, call);
}

const char* beyond_a_line(const Group& group, const Call& call) {
  static_assert(kLineValueBytes == 48);
  if (group.board() == nullptr) return "needs memory that the ranks share";
  return call.bytes > kLineValueBytes ? "is for at most 48 bytes" : nullptr;
}

// At least one element (of each pair, in all_to_all and reduce_scatter) goes through at once.
const char* beyond_a_slot(const Group& group, const Call& call) {
  if (group.board() == nullptr) return "needs memory that the ranks share";
  const std::size_t room = group.board()->slots.slot_bytes();
  const bool of_pairs = call.kind == Kind::all_to_all || call.kind == Kind::reduce_scatter;
  const std::size_t parts = of_pairs ? static_cast<std::size_t>(group.size()) : 1;
  return call.element.bytes * parts > room ? "has no room for elements of this size" : nullptr;
}

const char* beyond_a_chunk(const Group& group, const Call& call) {
  if (group.board() == nullptr) return "needs memory that the ranks share";
  return call.layout == Layout::cyclic && call.element.bytes > group.board()->ring.chunk_bytes()
             ? "has no room for elements of this size"
             : nullptr;
}

constexpr Algorithm kAlgorithms[] = {
    {Kind::barrier, "flags", barrier_flags, without_memory, false, true},
    {Kind::barrier, "counter", barrier_counter, without_memory, false, true},
    {Kind::barrier, "two_level", barrier_two_level, without_memory, false, true},
    {Kind::barrier, "messages", barrier_messages, nothing},
    {Kind::barrier, "native", barrier_native, without_native},

    {Kind::broadcast, "flags", broadcast_flags, without_memory},
    {Kind::broadcast, "binomial", broadcast_binomial, nothing},
    {Kind::broadcast, "scatter_all_gather", broadcast_scatter_all_gather, nothing},
    {Kind::broadcast, "native", broadcast_native, without_native},

    {Kind::reduce, "flags", reduce_flags, beyond_a_line, true},
    {Kind::reduce, "shared", reduce_shared, beyond_a_slot, true},
    {Kind::reduce, "linear", reduce_linear, nothing, true},
    {Kind::reduce, "tree", reduce_tree, nothing},
    {Kind::reduce, "native", reduce_native, without_native_reduction},

    {Kind::all_reduce, "flags", all_reduce_flags, beyond_a_line, true, true},
    {Kind::all_reduce, "counter", all_reduce_counter, beyond_a_line, true, true},
    {Kind::all_reduce, "two_level", all_reduce_two_level, beyond_a_line, false, true},
    {Kind::all_reduce, "shared", all_reduce_shared, beyond_a_slot, true},
    {Kind::all_reduce, "linear", all_reduce_linear, nothing, true},
    {Kind::all_reduce, "tree", all_reduce_tree, nothing},
    {Kind::all_reduce, "recursive_doubling", all_reduce_recursive_doubling, nothing},
    {Kind::all_reduce, "reduce_scatter", all_reduce_reduce_scatter, nothing, true},
    {Kind::all_reduce, "native", all_reduce_native, without_native_reduction},

    {Kind::scatter, "flags", scatter_flags, beyond_a_chunk},
    {Kind::scatter, "read", scatter_read, without_memory},
    {Kind::scatter, "direct", scatter_direct, nothing},
    {Kind::scatter, "polling", scatter_polling, nothing},
    {Kind::scatter, "binomial", scatter_binomial, nothing},
    {Kind::scatter, "native", scatter_native, without_native},

    {Kind::gather, "flags", gather_flags, beyond_a_line},
    {Kind::gather, "written", gather_written, without_memory},
    {Kind::gather, "direct", gather_direct, nothing},
    {Kind::gather, "polling", gather_polling, nothing},
    {Kind::gather, "binomial", gather_binomial, nothing},
    {Kind::gather, "native", gather_native, without_native},

    {Kind::all_gather, "flags", all_gather_flags, beyond_a_line, false, true},
    {Kind::all_gather, "counter", all_gather_counter, beyond_a_line, false, true},
    {Kind::all_gather, "shared", all_gather_shared, beyond_a_slot},
    {Kind::all_gather, "read", all_gather_read, without_memory},
    {Kind::all_gather, "linear", all_gather_linear, nothing},
    {Kind::all_gather, "ring", all_gather_ring, nothing},
    {Kind::all_gather, "gather_broadcast", all_gather_gather_broadcast, nothing},
    {Kind::all_gather, "native", all_gather_native, without_native},

    {Kind::all_to_all, "shared", all_to_all_shared, beyond_a_slot},
    {Kind::all_to_all, "linear", all_to_all_linear, nothing},
    {Kind::all_to_all, "pairwise", all_to_all_pairwise, nothing},
    {Kind::all_to_all, "native", all_to_all_native, without_native},

    {Kind::scan, "flags", scan_flags, beyond_a_line, true},
    {Kind::scan, "counter", scan_counter, beyond_a_line, true},
    {Kind::scan, "shared", scan_shared, beyond_a_slot, true},
    {Kind::scan, "linear", scan_linear, nothing, true},
    {Kind::scan, "doubling", scan_doubling, nothing},

    {Kind::exscan, "flags", scan_flags, beyond_a_line, true},
    {Kind::exscan, "counter", scan_counter, beyond_a_line, true},
    {Kind::exscan, "shared", scan_shared, beyond_a_slot, true},
    {Kind::exscan, "linear", scan_linear, nothing, true},
    {Kind::exscan, "doubling", scan_doubling, nothing},

    {Kind::reduce_scatter, "shared", reduce_scatter_shared, beyond_a_slot, true},
    {Kind::reduce_scatter, "linear", reduce_scatter_linear, nothing, true},
    {Kind::reduce_scatter, "pairwise", reduce_scatter_pairwise, nothing, true},

    {Kind::gather_varying, "direct", gather_varying_direct, nothing},
    {Kind::scatter_varying, "direct", scatter_varying_direct, nothing},
    {Kind::all_gather_varying, "shared", all_gather_varying_shared, without_memory},
    {Kind::all_gather_varying, "linear", all_gather_varying_linear, nothing},
    {Kind::all_gather_varying, "ring", all_gather_varying_ring, nothing},
};

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

const Algorithm* find_algorithm(Kind kind, std::string_view name) {
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.kind == kind && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

std::string algorithm_names(Kind kind) {
  std::string names;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.kind != kind) continue;
    if (!names.empty()) names += ", ";
    names += algorithm.name;
  }
  return names;
}

}  // namespace tabane::comm
