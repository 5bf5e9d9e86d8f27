// The algorithms by name, and the rules that choose one if none is named, by setting, collective,
// ranks and bytes. As text there is one rule per line, and the first one that fits counts:
//
//   # setting  collective  most ranks  most bytes  algorithm
//   memory     broadcast   16          64K         flags
//   memory     broadcast   *           *           binomial
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

enum class Setting : std::uint8_t {
  memory,    // the ranks share memory
  crowded,   // they do, and there are more of them than PUs
  messages,  // messages only
  native,    // the transport has collectives of its own
};
inline constexpr int kSettings = 4;
std::string_view name_of(Setting setting);
Setting setting_of(const Group& group);

struct Rule {
  static constexpr int kAnyRanks = std::numeric_limits<int>::max();
  static constexpr std::size_t kAnyBytes = std::numeric_limits<std::size_t>::max();

  Setting setting = Setting::memory;
  Kind kind = Kind::barrier;
  int most_ranks = kAnyRanks;
  std::size_t most_bytes = kAnyBytes;  // as Call::bytes
  const Algorithm* algorithm = nullptr;
};

class ChoiceTable {
 public:
  explicit ChoiceTable(std::vector<Rule> rules);

  // source: the file's name, for errors. throws: core::UsageError naming source, line and what is
  // legal there.
  static ChoiceTable parse(std::string_view text, std::string_view source);
  // throws: as parse(); core::SystemError if the file cannot be read.
  static std::shared_ptr<const ChoiceTable> read(const std::string& file);
  std::string format() const;  // what parse() reads

  const std::vector<Rule>& rules() const { return rules_; }

  // Returns the algorithm of the first rule that fits and can serve the call; if there is none,
  // that of the built-in rules. The same on all ranks. For a call that must be reproducible: of the
  // first such rule whose algorithm is in_order; else, and of the built-in rules, that of
  // reproducible_choice().
  const Algorithm& pick(const Group& group, const Call& call) const;

 private:
  const Algorithm* find(const Group& group, const Call& call, bool in_order = false) const;

  std::vector<Rule> rules_;
  // The same by setting and collective: every call looks at its own only.
  std::array<std::vector<Rule>, static_cast<std::size_t>(kSettings* kKinds)> rules_of_;
};

// The built-in rules. In each setting the last rule of a collective serves every call.
const std::shared_ptr<const ChoiceTable>& default_choice();
// The same for reductions that must be reproducible: algorithms that combine in the order of ranks.
const ChoiceTable& reproducible_choice();

// What a program may use besides plain messages: to see what each mechanism is worth to it, it runs
// with none of them, and then with one more each time. What is missing is made of messages between
// two ranks: broadcasts and reductions by trees, gathers and scatters by polling one rank after the
// other.
struct Mechanisms {
  bool broadcast = false;  // also on the way back of a reduction's tree
  bool global = false;     // reductions, scans
  bool gather = false;     // scatter, all_gather and all_to_all, too
  bool barrier = false;
};
// Each has those before it, too.
inline constexpr std::array<std::string_view, 4> kMechanismNames{"messages", "+broadcast",
                                                                 "+global", "all"};
// throws: core::UsageError naming the legal ones.
Mechanisms mechanisms_named(std::string_view name);

// The rules that make collectives so, for LaunchOptions::choice_rules; empty for all mechanisms.
std::string rules_of(const Mechanisms& mechanisms);

}  // namespace tabane::comm
