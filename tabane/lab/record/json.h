// A JSON value as records keep it and verbs write it. Units that use one need no parser: json.cc
// alone knows the library that reads and writes texts.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tabane::lab {

inline constexpr int kDeepestJson = 64;           // lists and objects in each other
inline constexpr std::size_t kMostKeys = 10'000;  // of one object
inline constexpr double kLargestNumber = 1e30;    // or its negative

// Null, a boolean, a number, text, a list, or an object, whose keys stay in the order in which they
// came. Braces make an object if each element is a pair that begins with text, else a list.
//
// throws: Json::exception if a value is of another kind, or has no such part.
// A key is looked for from the first one on.
class Json {
 public:
  struct exception : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  struct Element;                            // in braces
  enum class Invalid { refused, replaced };  // text that is not UTF-8; replaced: by U+FFFD

  Json(std::nullptr_t = nullptr) {}
  template <class T>
  requires std::is_arithmetic_v<T> Json(T x) : value_(stored(x)) {}
  template <class T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(const char* text) : value_(std::string(text)) {}
  template <class T>
  Json(const std::vector<T>& all) : value_(List(all.begin(), all.end())) {}
  Json(std::initializer_list<Element> elements);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array(std::initializer_list<Element> elements = {});
  static Json object();

  // Reads a text within the bounds above, so that values can be walked by recursion and numbers
  // calculated with.
  // throws: core::UsageError if the text is no JSON or goes beyond the bounds above.
  static Json parse(std::string_view text);
  // indent: spaces a level; negative: all in one line. A number that is not finite becomes null.
  std::string dump(int indent = -1, Invalid invalid = Invalid::refused) const;

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  bool is_number_float() const { return std::holds_alternative<double>(value_); }
  bool is_number_integer() const {
    return std::holds_alternative<std::int64_t>(value_) ||
           std::holds_alternative<std::uint64_t>(value_);
  }
  bool is_number() const { return is_number_integer() || is_number_float(); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<List>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_structured() const { return is_array() || is_object(); }

  // T: bool, a number, std::string or a vector of these. A fraction is cut for a whole number.
  template <class T>
  T get() const {
    if constexpr (std::same_as<T, bool>) {
      return as<bool>("true or false");
    } else if constexpr (std::integral<T>) {
      const auto* const large = std::get_if<std::uint64_t>(&value_);
      const std::int64_t whole = large ? 0 : this->whole();
      if (!(large ? std::in_range<T>(*large) : std::in_range<T>(whole))) refuse("a smaller number");
      return large ? static_cast<T>(*large) : static_cast<T>(whole);
    } else if constexpr (std::floating_point<T>) {
      return static_cast<T>(number());
    } else if constexpr (std::same_as<T, std::string>) {
      return text();
    } else {
      T all;
      for (const Json& one : as<List>("a list")) all.push_back(one.get<typename T::value_type>());
      return all;
    }
  }
  const std::string& text() const { return as<std::string>("text"); }

  // What a list or an object has; other kinds have nothing.
  std::size_t size() const { return static_cast<std::size_t>(end() - begin()); }
  bool empty() const { return size() == 0; }
  const Json* begin() const { return parts() ? parts()->data() : nullptr; }
  const Json* end() const { return parts() ? parts()->data() + parts()->size() : nullptr; }
  Json* begin() { return const_cast<Json*>(std::as_const(*this).begin()); }
  Json* end() { return const_cast<Json*>(std::as_const(*this).end()); }
  const Json& back() const { return at(size() - 1); }
  // Each value with its key; those of a list have empty ones.
  std::vector<std::pair<const std::string&, const Json&>> items() const;

  const Json* find(std::string_view key) const;  // end() if it is not there, or this is no object
  bool contains(std::string_view key) const { return find(key) != end(); }
  const Json& at(std::string_view key) const;
  const Json& at(std::size_t index) const;
  const Json& operator[](std::string_view key) const { return at(key); }
  const Json& operator[](std::size_t index) const { return at(index); }
  Json& operator[](std::string_view key);  // made if it is missing; a null becomes an object
  Json& operator[](std::size_t index) { return const_cast<Json&>(at(index)); }
  // The value of a key of this object, or what is given instead.
  template <class T>
  T value(std::string_view key, const T& otherwise) const {
    as<Object>("an object");
    const Json* found = find(key);
    if constexpr (std::same_as<T, Json>)
      return found != end() ? *found : otherwise;
    else
      return found != end() ? found->get<T>() : otherwise;
  }
  std::string value(std::string_view key, const char* otherwise) const {
    return value(key, std::string(otherwise));
  }

  void push_back(Json value);  // a null becomes a list
  void update(Json other);     // adds and replaces keys
  void erase(std::string_view key);
  void erase(std::size_t index);

  friend bool operator==(const Json& a, const Json& b);
  friend std::partial_ordering operator<=>(const Json& a, const Json& b) {
    return a.number() <=> b.number();
  }
  friend std::ostream& operator<<(std::ostream& out, const Json& json);

 private:
  using List = std::vector<Json>;
  struct Object {
    std::vector<std::string> keys;
    List values;  // one for each key
    bool operator==(const Object& other) const;
  };
  using Value = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
                             List, Object>;

  template <class T>
  static Value stored(T x) {
    if constexpr (std::same_as<T, bool>)
      return x;
    else if constexpr (std::floating_point<T>)
      return static_cast<double>(x);
    else if (std::in_range<std::int64_t>(x))
      return static_cast<std::int64_t>(x);
    else
      return static_cast<std::uint64_t>(x);
  }
  [[noreturn]] void refuse(const char* wanted) const;
  template <class T>
  const T& as(const char* wanted) const {
    const T* found = std::get_if<T>(&value_);
    if (found == nullptr) refuse(wanted);
    return *found;
  }
  double number() const;
  std::int64_t whole() const;  // of any number that fits
  Object& object_here();
  const List* parts() const;

  Value value_;
};

struct Json::Element {
  template <class T>
  requires std::constructible_from<Json, T> Element(T&& x) : value(std::forward<T>(x)) {}
  Element(std::initializer_list<Element> elements) : value(elements) {}

  mutable Json value;  // moved from where the braces are read
};

}  // namespace tabane::lab
