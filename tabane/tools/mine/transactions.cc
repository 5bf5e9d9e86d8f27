#include "tabane/tools/mine/transactions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::mine {
namespace {

constexpr std::size_t kInputBuffer = std::size_t{1} << 20;
constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 40;  // no digit moves a number beyond it

std::string named(unsigned char byte) {
  if (byte > ' ' && byte < 0x7f) return fmt::format("'{}'", static_cast<char>(byte));
  return fmt::format("a byte 0x{:02x}", byte);
}

// Parses a text that comes in pieces, cut anywhere.
class Parser {
 public:
  Parser(const std::string& name, const std::function<void(std::span<const Item>)>& take)
      : name_(name), take_(take) {}

  void parse(std::string_view piece) {
    for (const char c : piece) {
      const auto digit = static_cast<unsigned char>(c - '0');
      if (digit < 10) {
        number_ = std::min(10 * number_ + digit, kTooLarge);
        in_number_ = true;
      } else if (c == '\n' || c == '\r') {
        if (c == '\r' || last_ != '\r') end_line();
      } else if (c == ' ' || c == '\t') {
        end_number();
      } else {
        refuse_byte(c);
      }
      last_ = c;
    }
  }

  // The last line may have no end.
  void end() {
    if (last_ != '\n' && last_ != '\r') end_line();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw core::UsageError("{}:{}: {}", name_, line_, what);
  }

  [[noreturn]] void refuse_byte(char c) const {
    if (c == '-' && !in_number_) refuse("an item number must not be negative");
    refuse(fmt::format("{} is no part of an item number; expected numbers separated by blanks",
                       named(static_cast<unsigned char>(c))));
  }

  void end_number() {
    if (!in_number_) return;
    if (number_ > kLargestItem) {
      refuse(fmt::format("an item number is larger than {}", kLargestItem));
    }
    if (items_.size() == kMostItemsOfTransaction) {
      refuse(fmt::format("more than {} items in one transaction", kMostItemsOfTransaction));
    }
    const auto item = static_cast<Item>(number_);
    ascending_ = ascending_ && (items_.empty() || items_.back() < item);
    items_.push_back(item);
    number_ = 0;
    in_number_ = false;
  }

  void end_line() {
    end_number();
    if (!ascending_) {
      std::ranges::sort(items_);
      items_.erase(std::ranges::unique(items_).begin(), items_.end());
    }
    take_(items_);
    items_.clear();
    ascending_ = true;
    ++line_;
  }

  const std::string& name_;
  const std::function<void(std::span<const Item>)>& take_;
  std::vector<Item> items_;
  std::uint64_t line_ = 1, number_ = 0;
  bool in_number_ = false, ascending_ = true;
  char last_ = '\n';
};

bool can_be_read_twice(int file, const std::string& name) {
  struct stat seen {};
  if (::fstat(file, &seen) != 0) throw core::SystemError("fstat", name, errno);
  return S_ISREG(seen.st_mode);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The bytes of a field that begins with a quote, up to behind its closing quote, where a quote in
// it is doubled (RFC 4180); 0 if it does not end on its line. word: what is in it.
std::size_t read_quoted(std::string_view text, std::string& word) {
  for (std::size_t i = 1; i < text.size() && text[i] != '\n' && text[i] != '\r'; ++i) {
    if (text[i] == '"' && text.substr(i + 1, 1) != "\"") return i + 1;
    i += text[i] == '"';
    word += text[i];
  }
  return 0;
}

// Returns the text with a number, as an item of the FIMI repository, in place of each word.
std::string with_numbers(std::string_view text, char between, std::vector<std::string>& words) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::unordered_map<std::string, std::size_t> numbers;
  std::string out;
  const auto add = [&](const std::string& word) {
    if (word.empty()) return;
    const auto [at, is_new] = numbers.try_emplace(word, words.size());
    if (is_new) words.push_back(word);
    out += std::to_string(at->second) + ' ';
  };
  for (std::size_t i = 0, begin = 0; i <= text.size(); ++i) {
    if (between == ',' && text.substr(i, 1) == "\"" &&
        trimmed(text.substr(begin, i - begin)).empty()) {
      std::string word;
      if (const std::size_t size = read_quoted(text.substr(i), word); size > 0) {
        add(word);
        begin = i += size;
      }
    }
    const bool ends_line = i < text.size() && (text[i] == '\n' || text[i] == '\r');
    const bool ends_word =
        ends_line || i == text.size() || text[i] == between || (between == ' ' && text[i] == '\t');
    if (!ends_word) continue;
    add(std::string(trimmed(text.substr(begin, i - begin))));
    begin = i + 1;
    if (ends_line) out += text[i];
  }
  return out;
}

constexpr std::size_t kWordsOfLine = 8;  // an item begins at a cache line

std::size_t words_of(std::size_t transactions) {
  return (transactions + 64 * kWordsOfLine - 1) / (64 * kWordsOfLine) * kWordsOfLine;
}

void check_memory(const FimiFile& file, std::size_t items, std::size_t transactions) {
  const double needed =
      8.0 * static_cast<double>(items) * static_cast<double>(words_of(transactions));
  const auto usable = core::usable_memory_bytes();
  if (!usable || needed <= *usable) return;
  throw core::UsageError(
      "{}: {} items in {} transactions take {}, and {} are free: a larger --min-support leaves "
      "rare items out",
      file.name(), items, transactions, core::format_value(needed, "B"),
      core::format_value(*usable, "B"));
}

// Counts by item number: most files number their items from 0 or 1 on without large gaps.
class Counts {
 public:
  void add(Item item) {
    if (item < kDense) {
      if (item >= dense_.size()) dense_.resize(std::max<std::size_t>(item + 1, 2 * dense_.size()));
      ++dense_[item];
    } else {
      ++sparse_[item];
    }
  }

  std::vector<Supported> sorted() const {
    std::vector<Supported> all;
    for (std::size_t item = 0; item < dense_.size(); ++item) {
      if (dense_[item] > 0) all.push_back({{static_cast<Item>(item)}, dense_[item]});
    }
    for (const auto& [item, count] : sparse_) all.push_back({{item}, count});
    std::ranges::sort(all, {}, [](const Supported& one) { return one.items.front(); });
    return all;
  }

 private:
  static constexpr Item kDense = 1 << 20;
  std::vector<std::uint64_t> dense_;
  std::unordered_map<Item, std::uint64_t> sparse_;
};

}  // namespace

FimiFile::FimiFile(const std::string& path, char between_words)
    : name_(path == "-" ? "standard input" : path) {
  const int opened = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) throw core::SystemError("open", name_, errno);
  file_.reset(opened);
  in_memory_ = between_words != 0 || !can_be_read_twice(opened, name_);
  if (in_memory_) bytes_ = core::read_to_end(opened, name_);
  if (between_words == 0) return;
  item_names_.between = between_words;
  bytes_ = with_numbers(bytes_, between_words, item_names_.words);
}

void FimiFile::for_each(const std::function<void(std::span<const Item>)>& take) const {
  Parser parser(name_, take);
  if (in_memory_) {
    parser.parse(bytes_);
    return parser.end();
  }
  std::vector<char> buffer(kInputBuffer);
  std::uint64_t at = 0;
  for (std::size_t got = 0;
       (got = core::read_all_at(file_.get(), buffer.data(), buffer.size(), at, name_)) > 0;
       at += got) {
    parser.parse({buffer.data(), got});
  }
  parser.end();
}

Bitmaps::Bitmaps(std::vector<Item> names, std::size_t transactions)
    : names_(std::move(names)),
      transactions_(transactions),
      words_per_item_(words_of(transactions)),
      words_(names_.size() * words_per_item_) {}

ItemCounts count_items(const FimiFile& file) {
  ItemCounts counts;
  Counts of_items;
  file.for_each([&](std::span<const Item> items) {
    ++counts.transactions;
    for (const Item item : items) of_items.add(item);
  });
  if (counts.transactions == 0) {
    throw core::UsageError("{}: there is no transaction in it", file.name());
  }
  counts.items = of_items.sorted();
  return counts;
}

Bitmaps read_bitmaps(const FimiFile& file, const ItemCounts& counts, std::uint64_t least_support) {
  std::vector<Item> names;
  for (const Supported& one : counts.items) {
    if (one.support >= least_support) names.push_back(one.items.front());
  }
  check_memory(file, names.size(), counts.transactions);
  Bitmaps bitmaps(names, counts.transactions);
  std::size_t transaction = 0;
  file.for_each([&](std::span<const Item> items) {
    if (transaction == counts.transactions) ++transaction;
    if (transaction > counts.transactions) return;
    auto at = names.begin();
    for (const Item item : items) {
      at = std::lower_bound(at, names.end(), item);
      if (at == names.end()) break;
      if (*at == item) bitmaps.set(at - names.begin(), transaction);
    }
    ++transaction;
  });
  if (transaction != counts.transactions) {
    throw core::Error("{}: has changed while it was read", file.name());
  }
  return bitmaps;
}

}  // namespace tabane::mine
