// Transactions from a text file in the format of the FIMI repository: one transaction a line, the
// numbers of its items separated by blanks. An empty line is a transaction without items. Lines end
// with \n, \r\n or \r.
//
// source: fimi.uantwerpen.be/data.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>

#include "tabane/core/file.h"
#include "tabane/tools/mine/itemset.h"

namespace tabane::mine {

inline constexpr Item kLargestItem = std::numeric_limits<std::int32_t>::max();
inline constexpr std::size_t kMostItemsOfTransaction = std::size_t{1} << 24;

class FimiFile {
 public:
  // Opens a file, or standard input for "-". What cannot be read twice, such as a pipe, is read
  // into memory now. throws: core::SystemError naming the file.
  explicit FimiFile(const std::string& path);

  // Calls take(items) for each transaction, from the first on; items ascend, each of them once. May
  // be called again. memory: a buffer of 1 MiB and one transaction.
  // throws: core::UsageError with file, line and what is wrong there; core::SystemError.
  void for_each(const std::function<void(std::span<const Item>)>& take) const;

  const std::string& name() const { return name_; }

 private:
  std::string name_;
  core::Descriptor file_;
  std::string bytes_;  // of what cannot be read twice
  bool in_memory_ = false;
};

}  // namespace tabane::mine
