#include "tabane/lab/record/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

using Library = nlohmann::ordered_json;

// Receives each part of a text from the parser, which does not recur.
class JsonBuilder {
 public:
  bool null() { return add(nullptr); }
  bool boolean(bool x) { return add(x); }
  bool number_integer(std::int64_t x) { return number(x); }
  bool number_unsigned(std::uint64_t x) { return number(x); }
  bool number_float(double x, const std::string&) { return number(x); }
  bool string(std::string& x) { return add(std::move(x)); }
  bool binary(Library::binary_t&) { return false; }
  bool start_array(std::size_t) { return begin(Json::array()); }
  bool start_object(std::size_t) { return begin(Json::object()); }
  bool end_array() { return end(); }
  bool end_object() { return end(); }
  bool key(const std::string& name) {
    Open& object = open_.back();
    if (++object.keys > kMostKeys)
      throw core::UsageError("an object has more than {} keys", kMostKeys);
    object.next = &(*object.json)[name];
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Library::exception&) { return false; }

  Json take() { return std::move(all_); }

 private:
  struct Open {
    Json* json;
    Json* next = nullptr;  // where the value of the key goes; null: a list
    std::size_t keys = 0;
  };

  bool number(auto x) {
    const auto value = static_cast<double>(x);
    if (std::abs(value) > kLargestNumber)
      throw core::UsageError("the number {:g} is beyond {:g}", value, kLargestNumber);
    return add(x);
  }
  bool begin(Json empty) {
    if (open_.size() == kDeepestJson) {
      throw core::UsageError("lists and objects are nested deeper than {}", kDeepestJson);
    }
    open_.push_back({&put(std::move(empty))});
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }
  bool add(Json value) {
    put(std::move(value));
    return true;
  }
  // Returns where the value is, until what it is in grows.
  Json& put(Json value) {
    if (open_.empty()) return all_ = std::move(value);
    if (Json* next = open_.back().next) return *next = std::move(value);
    open_.back().json->push_back(std::move(value));
    return open_.back().json->end()[-1];
  }

  Json all_;
  std::vector<Open> open_;  // what the parser is in, outermost first
};

Library to_library(const Json& json) {
  if (json.is_array()) {
    Library::array_t list;
    for (const Json& one : json) list.push_back(to_library(one));
    return list;
  }
  if (json.is_object()) {
    Library::object_t object;
    for (const auto& [key, one] : json.items()) object.emplace_back(key, to_library(one));
    return object;
  }
  if (json.is_string()) return json.text();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_null()) return nullptr;
  return json < 0 ? Library(json.get<std::int64_t>()) : Library(json.get<std::uint64_t>());
}

bool is_named(const Json& pair) {
  return pair.is_array() && pair.size() == 2 && pair[0].is_string();
}

}  // namespace

Json::Json(std::initializer_list<Element> elements) : Json(array(elements)) {
  if (!std::all_of(begin(), end(), is_named)) return;
  Json object = Json::object();
  for (Json& pair : *this) object[pair[0].text()] = std::move(pair[1]);
  *this = std::move(object);
}

Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
// The other may be a part of this one.
Json& Json::operator=(const Json& other) { return *this = Json(other); }
Json& Json::operator=(Json&& other) noexcept {
  Value value = std::move(other.value_);
  value_ = std::move(value);
  return *this;
}
Json::~Json() = default;

Json Json::array(std::initializer_list<Element> elements) {
  List list;
  list.reserve(elements.size());
  for (const Element& element : elements) list.push_back(std::move(element.value));
  Json json;
  json.value_ = std::move(list);
  return json;
}

Json Json::object() {
  Json json;
  json.value_ = Object{};
  return json;
}

Json Json::parse(std::string_view text) {
  JsonBuilder builder;
  if (!Library::sax_parse(text, &builder)) throw core::UsageError("not JSON");
  return builder.take();
}

std::string Json::dump(int indent, Invalid invalid) const {
  try {
    return to_library(*this).dump(indent, ' ', false,
                                  invalid == Invalid::replaced ? Library::error_handler_t::replace
                                                               : Library::error_handler_t::strict);
  } catch (const Library::exception&) {
    throw exception("a text is not UTF-8");
  }
}

std::vector<std::pair<const std::string&, const Json&>> Json::items() const {
  static const std::string kNone;
  const auto* const object = std::get_if<Object>(&value_);
  std::vector<std::pair<const std::string&, const Json&>> all;
  all.reserve(size());
  for (std::size_t i = 0; i < size(); ++i)
    all.emplace_back(object ? object->keys[i] : kNone, begin()[i]);
  return all;
}

const Json* Json::find(std::string_view key) const {
  const auto* const object = std::get_if<Object>(&value_);
  return object ? begin() + (std::ranges::find(object->keys, key) - object->keys.begin()) : end();
}

const Json& Json::at(std::string_view key) const {
  as<Object>("an object");
  const Json* found = find(key);
  if (found == end()) throw exception(fmt::format("key {} is missing", key));
  return *found;
}

const Json& Json::at(std::size_t index) const {
  if (index >= as<List>("a list").size()) refuse("a longer list");
  return begin()[index];
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  auto& [keys, values] = object_here();
  if (const Json* found = find(key); found != end()) return const_cast<Json&>(*found);
  keys.emplace_back(key);
  return values.emplace_back();
}

void Json::push_back(Json value) {
  if (is_null()) *this = array();
  as<List>("a list");
  std::get<List>(value_).push_back(std::move(value));
}

void Json::update(Json other) {
  auto& [keys, values] = other.object_here();
  for (std::size_t i = 0; i < keys.size(); ++i) (*this)[keys[i]] = std::move(values[i]);
}

void Json::erase(std::string_view key) {
  auto& [keys, values] = object_here();
  const auto index = find(key) - begin();
  if (index == end() - begin()) return;
  keys.erase(keys.begin() + index);
  values.erase(values.begin() + index);
}

void Json::erase(std::size_t index) {
  at(index);
  auto& values = std::get<List>(value_);
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(index));
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_number_float() != b.is_number_float() && a.is_number() && b.is_number())
    return a.number() == b.number();
  return a.value_ == b.value_;
}

bool Json::Object::operator==(const Object& other) const {
  return keys == other.keys && values == other.values;
}

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json.dump(); }

void Json::refuse(const char* wanted) const {
  static constexpr const char* kKinds[] = {"null",           "true or false", "a whole number",
                                           "a whole number", "a number",      "text",
                                           "a list",         "an object"};
  throw exception(fmt::format("{} is where {} should be", kKinds[value_.index()], wanted));
}

double Json::number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*whole);
  if (const auto* large = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*large);
  return as<double>("a number");
}

std::int64_t Json::whole() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return *whole;
  const double cut = std::trunc(number());
  if (!(std::abs(cut) < 9e18)) refuse("a smaller number");
  return static_cast<std::int64_t>(cut);
}

Json::Object& Json::object_here() { return const_cast<Object&>(as<Object>("an object")); }

const Json::List* Json::parts() const {
  if (const auto* object = std::get_if<Object>(&value_)) return &object->values;
  return std::get_if<List>(&value_);
}

}  // namespace tabane::lab
