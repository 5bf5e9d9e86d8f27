// All algorithms, by name.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tabane/comm/collective/call.h"
#include "tabane/comm/collective/group.h"

namespace tabane::comm {

struct Algorithm {
  Kind kind;
  std::string_view name;
  // Needs two ranks or more, at least one byte (except barriers) and a root that exists.
  void (*run)(Group& group, const Call& call);
  // Returns why it cannot serve this call on this group ("needs shared memory"), or null. The same
  // on all ranks.
  const char* (*refuses)(const Group& group, const Call& call);
  // Of a reduction: it combines the ranks' values in their order, ((v0 v1) v2) v3.
  bool in_order = false;
  // Ranks that end it have seen the signatures of all others in their lines, or that of a rank that
  // has.
  bool compares_all = false;
};

std::span<const Algorithm> algorithms();
const Algorithm* find_algorithm(Kind kind, std::string_view name);  // null: none
std::string algorithm_names(Kind kind);                             // "flags, linear, …"

}  // namespace tabane::comm
