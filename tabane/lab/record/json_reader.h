// Reads values of a JSON file together with the path that leads to them, so that errors can name
// it.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Every function throws core::UsageError, which names the key, if the value is of another kind.
class JsonReader {
 public:
  explicit JsonReader(const Json& json, std::string path = "")
      : json_(json), path_(std::move(path)) {}

  JsonReader at(const char* key) const {
    if (!json_.is_object()) wrong("an object");
    const std::string path = path_.empty() ? key : path_ + "." + key;
    const auto it = json_.find(key);
    if (it == json_.end()) throw core::UsageError(fmt::format("record: key {} is missing", path));
    return JsonReader(*it, path);
  }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }

  // Calls f(reader) for each element of a list.
  template <class F>
  void list(F f) const {
    if (!json_.is_array()) wrong("a list");
    for (std::size_t i = 0; i < json_.size(); ++i)
      f(JsonReader(json_[i], fmt::format("{}[{}]", path_, i)));
  }
  // Calls f(key, reader) for each value of an object.
  template <class F>
  void each(F f) const {
    if (!json_.is_object()) wrong("an object");
    for (const auto& [key, value] : json_.items()) f(key, JsonReader(value, path_ + "." + key));
  }

  bool is_null() const { return json_.is_null(); }
  bool is_text() const { return json_.is_string(); }
  std::string text() const {
    if (!json_.is_string()) wrong("text");
    return json_.get<std::string>();
  }
  bool boolean() const {
    if (!json_.is_boolean()) wrong("true or false");
    return json_.get<bool>();
  }
  template <class Integer>
  Integer integer() const {
    if (!json_.is_number_integer()) wrong("a whole number");
    const auto value = json_.get<double>();
    if (value > 9e15 || value < -9e15 || !std::in_range<Integer>(static_cast<long long>(value)))
      wrong("a smaller number");
    return json_.get<Integer>();
  }
  double number() const {
    if (!json_.is_number()) wrong("a number");
    return json_.get<double>();
  }
  std::optional<double> number_or_null() const {
    if (json_.is_null()) return std::nullopt;
    return number();
  }
  Json object() const {
    if (!json_.is_object()) wrong("an object");
    return json_;
  }

  void expect(bool right, const std::string& what) const {
    if (!right) wrong(what);
  }
  [[noreturn]] void wrong(const std::string& expected) const {
    throw core::UsageError(
        fmt::format("record: key {} must be {}", path_.empty() ? "(top)" : path_, expected));
  }

 private:
  const Json& json_;
  std::string path_;
};

}  // namespace tabane::lab
