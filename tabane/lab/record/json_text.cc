#include "tabane/lab/record/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

// Told of each part while the parser, which does not recur, is at it.
class Bounds {
 public:
  void check(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) begin(depth);
    if (event == Event::key && ++keys_.back() > kMostKeys) {
      throw core::UsageError(fmt::format("an object has more than {} keys", kMostKeys));
    }
    if (event == Event::value && parsed.is_number() &&
        std::abs(parsed.get<double>()) > kLargestNumber) {
      throw core::UsageError(
          fmt::format("the number {:g} is beyond {:g}", parsed.get<double>(), kLargestNumber));
    }
    if (event == Event::object_end || event == Event::array_end) keys_.pop_back();
  }

 private:
  void begin(int depth) {
    if (depth >= kDeepestJson) {
      throw core::UsageError(
          fmt::format("lists and objects are nested deeper than {}", kDeepestJson));
    }
    keys_.push_back(0);
  }

  std::vector<std::size_t> keys_;  // of what the parser is in, outermost first
};

}  // namespace

Json json_from_text(std::string_view text) {
  Bounds bounds;
  const auto check = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    bounds.check(depth, event, parsed);
    return true;
  };
  Json json = Json::parse(text, check, false);
  if (json.is_discarded()) throw core::UsageError("not JSON");
  return json;
}

}  // namespace tabane::lab
