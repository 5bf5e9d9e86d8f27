// Moments as licences have them: ISO 8601, as RFC 3339 narrows it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tabane::epub {

std::string utc_now();  // "2026-01-31T12:00:00Z"

// Returns the moment in UTC as utc_now() writes it. Understands a date, or a date and a time with Z
// or an offset; nothing for all else.
std::optional<std::string> utc_of(std::string_view iso8601);

}  // namespace tabane::epub
