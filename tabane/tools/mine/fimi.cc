#include "tabane/tools/mine/fimi.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tabane/core/error.h"

namespace tabane::mine {
namespace {

constexpr std::size_t kInputBuffer = std::size_t{1} << 20;
constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 40;  // no digit moves a number beyond it

std::string named(unsigned char byte) {
  if (byte > ' ' && byte < 0x7f) return fmt::format("'{}'", static_cast<char>(byte));
  return fmt::format("a byte 0x{:02x}", byte);
}

// Takes a text piece by piece, wherever it is cut.
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
    throw core::UsageError(fmt::format("{}:{}: {}", name_, line_, what));
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

}  // namespace

FimiFile::FimiFile(const std::string& path) : name_(path == "-" ? "standard input" : path) {
  const int opened = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) throw core::SystemError("open", name_, errno);
  file_.reset(opened);
  in_memory_ = !can_be_read_twice(opened, name_);
  if (in_memory_) bytes_ = core::read_to_end(opened, name_);
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

}  // namespace tabane::mine
