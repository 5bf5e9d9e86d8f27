#include "tabane/tools/epub/moment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace tabane::epub {
namespace {

using std::chrono::seconds;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What is not yet read of a moment.
class Rest {
 public:
  explicit Rest(std::string_view text) : text_(text) {}

  bool empty() const { return text_.empty(); }
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  // Returns -1 if that many digits do not come, or give more than `most`.
  int take_number(std::size_t digits, int most) {
    if (text_.size() < digits || !std::ranges::all_of(text_.substr(0, digits), is_digit)) return -1;
    int number = 0;
    for (const char c : text_.substr(0, digits)) number = number * 10 + (c - '0');
    text_.remove_prefix(digits);
    return number <= most ? number : -1;
  }
  void skip_digits() {
    while (!text_.empty() && is_digit(text_.front())) text_.remove_prefix(1);
  }

 private:
  std::string_view text_;
};

std::optional<std::chrono::sys_days> take_date(Rest& rest) {
  const int year = rest.take_number(4, 9999);
  const int month = rest.take('-') ? rest.take_number(2, 12) : -1;
  const int day = rest.take('-') ? rest.take_number(2, 31) : -1;
  if (year < 0 || month < 0 || day < 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

std::optional<seconds> take_hours_and_minutes(Rest& rest) {
  const int hours = rest.take_number(2, 23);
  const int minutes = rest.take(':') ? rest.take_number(2, 59) : -1;
  if (hours < 0 || minutes < 0) return std::nullopt;
  return std::chrono::hours(hours) + std::chrono::minutes(minutes);
}

std::optional<seconds> take_time(Rest& rest) {
  const auto minute = rest.take('T') ? take_hours_and_minutes(rest) : std::nullopt;
  const int second = minute && rest.take(':') ? rest.take_number(2, 60) : -1;
  if (second < 0) return std::nullopt;
  if (rest.take('.')) {
    if (rest.take_number(1, 9) < 0) return std::nullopt;
    rest.skip_digits();
  }
  return *minute + seconds(second);
}

std::optional<seconds> take_offset(Rest& rest) {
  if (rest.take('Z')) return seconds(0);
  const bool west = rest.take('-');
  if (!west && !rest.take('+')) return std::nullopt;
  const auto offset = take_hours_and_minutes(rest);
  return offset && west ? -*offset : offset;
}

}  // namespace

std::string utc_now() {
  const auto now = std::chrono::floor<seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

std::optional<std::string> utc_of(std::string_view iso8601) {
  Rest rest(iso8601);
  const auto date = take_date(rest);
  if (!date) return std::nullopt;
  seconds time{0};
  if (!rest.empty()) {
    const auto found = take_time(rest);
    const auto offset = found ? take_offset(rest) : std::nullopt;
    if (!offset || !rest.empty()) return std::nullopt;
    time = *found - *offset;
  }
  const std::chrono::sys_seconds moment = *date + time;
  return fmt::format("{:%FT%TZ}",
                     fmt::gmtime(static_cast<std::time_t>(moment.time_since_epoch().count())));
}

}  // namespace tabane::epub
