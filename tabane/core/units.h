// Reading and writing sizes, times and rates. Sizes are binary (KiB), rates decimal (GB/s).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tabane::core {

inline constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

// The number that is all of the text; nothing if it is none or does not fit. Number: double, int,
// unsigned, std::int64_t or std::uint64_t.
template <class Number>
std::optional<Number> number_in(std::string_view text);

// Reads "4096", "64K", "64KiB" (binary) or "64kB" (decimal); K M G T, any case for the binary short
// form. throws: UsageError with the legal forms, also for negative and overflowing sizes.
std::uint64_t parse_size(std::string_view text);

// Reads "500ms", "10s", "2m", "1h", "250us", "10ns"; a bare number is seconds. Returns seconds.
// throws: UsageError with the legal forms, also for negative times.
double parse_seconds(std::string_view text);

// Writes bytes with a binary unit and at most four digits: "64 KiB", "1.5 GiB", "100 B".
std::string format_bytes(std::uint64_t bytes);

// Writes seconds with three significant digits: "48.2 ns", "1.24 ms", "3.06 s".
std::string format_seconds(double seconds);

// Writes value with three significant digits and a decimal prefix before unit:
// (2.44e9, "Hz") gives "2.44 GHz", (1.5e10, "B/s") gives "15.0 GB/s". Unit "1", "ratio" or "" has
// no prefix.
std::string format_value(double value, std::string_view unit);

// 1234567 is "1 234 567".
std::string grouped(std::uint64_t number);

// "1 file", "1 234 files"; `many` is needed where it is not `one` with an s.
std::string counted(std::uint64_t number, std::string_view one, std::string_view many = {});

}  // namespace tabane::core
