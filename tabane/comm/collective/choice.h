// Rules that choose a collective's algorithm if none is named, by setting, collective, ranks and
// bytes. As text there is one rule per line, and the first one that fits counts:
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
#include <string>
#include <string_view>
#include <vector>

#include "tabane/comm/collective/registry.h"

namespace tabane::comm {

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
  // that of the built-in rules. The same on all ranks. For a call that must be reproducible:
  // that of reproducible_choice().
  const Algorithm& pick(const Group& group, const Call& call) const;

 private:
  const Algorithm* find(const Group& group, const Call& call) const;

  std::vector<Rule> rules_;
  // The same by setting and collective: every call looks at its own only.
  std::array<std::vector<Rule>, static_cast<std::size_t>(kSettings* kKinds)> rules_of_;
};

// The built-in rules. In each setting the last rule of a collective serves every call.
const std::shared_ptr<const ChoiceTable>& default_choice();
// The same for reductions that must be reproducible: algorithms that combine in the order of ranks.
const ChoiceTable& reproducible_choice();
std::string_view default_choice_text();

}  // namespace tabane::comm
