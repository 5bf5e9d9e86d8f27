// Turns a task's result into bytes and back: trivially copyable types, strings, vectors, pairs,
// optionals and maps of them, structs that name their members, and types with a Serialiser of their
// own.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tabane::team {

using Bytes = std::vector<std::byte>;

// Reads what a Serialiser wrote, from the front.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  // throws: std::out_of_range if fewer bytes are left.
  std::span<const std::byte> take(std::size_t size) {
    if (size > left_.size()) throw std::out_of_range("a result ends too early");
    const auto front = left_.first(size);
    left_ = left_.subspan(size);
    return front;
  }
  std::size_t left() const { return left_.size(); }
  bool empty() const { return left_.empty(); }

 private:
  std::span<const std::byte> left_;
};

// Specialise it for your own type:
//   template <> struct tabane::team::Serialiser<Mine> {
//     static void put(tabane::team::Bytes& out, const Mine& value);
//     static Mine get(tabane::team::Reader& in);
//   };
// put_value() and get_value() help with the members.
template <class T, class = void>
struct Serialiser;

template <class T>
concept Serialisable = requires(Bytes& out, Reader& in, const T& value) {
  Serialiser<T>::put(out, value);
  { Serialiser<T>::get(in) } -> std::same_as<T>;
};

template <class T>
void put_value(Bytes& out, const T& value) {
  Serialiser<T>::put(out, value);
}
// throws: std::out_of_range if `in` does not hold a whole T.
template <class T>
T get_value(Reader& in) {
  return Serialiser<T>::get(in);
}

// Trivially copyable types that are only an address.
template <class T>
inline constexpr bool points_elsewhere = std::is_pointer_v<T> || std::is_member_pointer_v<T>;
template <class C, class Traits>
inline constexpr bool points_elsewhere<std::basic_string_view<C, Traits>> = true;
template <class T, std::size_t N>
inline constexpr bool points_elsewhere<std::span<T, N>> = true;

// Clears what was in memory between the members of copied elements: it may be secret. No
// work for types without padding.
template <class T>
void clear_padding([[maybe_unused]] std::span<std::byte> elements) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  if constexpr (!std::has_unique_object_representations_v<T>) {
    alignas(T) std::array<std::byte, sizeof(T)> one;
    for (std::size_t at = 0; at < elements.size(); at += sizeof(T)) {
      std::memcpy(one.data(), elements.data() + at, sizeof(T));
      __builtin_clear_padding(reinterpret_cast<T*>(one.data()));
      std::memcpy(elements.data() + at, one.data(), sizeof(T));
    }
  }
#endif
#endif
}

template <class T>
struct Serialiser<T, std::enable_if_t<std::is_trivially_copyable_v<T>>> {
  static_assert(!points_elsewhere<T>,
                "a pointer, string_view or span into the memory of a child means nothing to the "
                "caller: return the value (std::string, std::vector)");
  static void put(Bytes& out, const T& value) {
    const std::size_t end = out.size();
    out.resize(end + sizeof(T));
    std::memcpy(out.data() + end, &value, sizeof(T));
    clear_padding<T>(std::span(out).subspan(end));
  }
  static T get(Reader& in) {
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), in.take(sizeof(T)).data(), sizeof(T));
    return std::bit_cast<T>(bytes);
  }
};

// The number of elements, then the elements; trivially copyable ones are copied all at once.
template <class Sequence>
struct SequenceSerialiser {
  using Element = typename Sequence::value_type;
  static constexpr bool at_once =
      std::is_trivially_copyable_v<Element> && !std::is_same_v<Sequence, std::vector<bool>>;

  static void put(Bytes& out, const Sequence& value) {
    put_value(out, std::uint64_t{value.size()});
    if constexpr (at_once) {
      static_assert(Serialisable<Element>);
      const std::size_t end = out.size();
      out.resize(end + value.size() * sizeof(Element));
      if (!value.empty()) {
        std::memcpy(out.data() + end, value.data(), value.size() * sizeof(Element));
        clear_padding<Element>(std::span(out).subspan(end));
      }
    } else {
      for (const auto& element : value) put_value(out, static_cast<const Element&>(element));
    }
  }
  static Sequence get(Reader& in) {
    const auto size = get_value<std::uint64_t>(in);
    Sequence value;
    if constexpr (at_once) {
      if (size > in.left() / sizeof(Element)) throw std::out_of_range("a result ends too early");
      const auto bytes = in.take(size * sizeof(Element));
      if constexpr (std::is_default_constructible_v<Element>) {
        value.resize(size);
        if (size > 0) std::memcpy(value.data(), bytes.data(), bytes.size());
      } else {
        value.reserve(size);
        Reader elements(bytes);
        for (std::uint64_t i = 0; i < size; ++i) value.push_back(get_value<Element>(elements));
      }
    } else {
      for (std::uint64_t i = 0; i < size; ++i) value.push_back(get_value<Element>(in));
    }
    return value;
  }
};

template <class C, class Traits, class Allocator>
struct Serialiser<std::basic_string<C, Traits, Allocator>>
    : SequenceSerialiser<std::basic_string<C, Traits, Allocator>> {};

template <class T, class Allocator>
requires Serialisable<T>
struct Serialiser<std::vector<T, Allocator>> : SequenceSerialiser<std::vector<T, Allocator>> {
};

template <class A, class B>
requires(!std::is_trivially_copyable_v<std::pair<A, B>>) &&
    Serialisable<A>&& Serialisable<B> struct Serialiser<std::pair<A, B>> {
  static void put(Bytes& out, const std::pair<A, B>& value) {
    put_value(out, value.first);
    put_value(out, value.second);
  }
  static std::pair<A, B> get(Reader& in) {
    A first = get_value<A>(in);
    return {std::move(first), get_value<B>(in)};
  }
};

template <class T>
requires(!std::is_trivially_copyable_v<std::optional<T>>) &&
    Serialisable<T> struct Serialiser<std::optional<T>> {
  static void put(Bytes& out, const std::optional<T>& value) {
    put_value(out, value.has_value());
    if (value) put_value(out, *value);
  }
  static std::optional<T> get(Reader& in) {
    if (!get_value<bool>(in)) return std::nullopt;
    return get_value<T>(in);
  }
};

// Of a struct that names its members: auto fields() { return std::tie(a, b); }
template <class T>
requires(!std::is_trivially_copyable_v<T>) && requires(T& value) { value.fields(); }
struct Serialiser<T> {
  static void put(Bytes& out, const T& value) {
    std::apply([&](const auto&... field) { (put_value(out, field), ...); },
               const_cast<T&>(value).fields());
  }
  static T get(Reader& in) {
    T value;
    std::apply(
        [&](auto&... field) {
          ((field = get_value<std::remove_cvref_t<decltype(field)>>(in)), ...);
        },
        value.fields());
    return value;
  }
};

template <class Map>
struct MapSerialiser {
  using Key = typename Map::key_type;
  using Value = typename Map::mapped_type;
  static void put(Bytes& out, const Map& map) {
    put_value(out, std::uint64_t{map.size()});
    for (const auto& [key, value] : map) {
      put_value(out, key);
      put_value(out, value);
    }
  }
  static Map get(Reader& in) {
    Map map;
    const auto size = get_value<std::uint64_t>(in);
    for (std::uint64_t i = 0; i < size; ++i) {
      Key key = get_value<Key>(in);
      map.emplace_hint(map.end(), std::move(key), get_value<Value>(in));
    }
    return map;
  }
};

// The map that comes back has a default-constructed comparison, hash and equality.
template <class K, class V, class Compare, class Allocator>
requires Serialisable<K> && Serialisable<V>
struct Serialiser<std::map<K, V, Compare, Allocator>>
    : MapSerialiser<std::map<K, V, Compare, Allocator>> {
};

template <class K, class V, class Hash, class Equal, class Allocator>
requires Serialisable<K> && Serialisable<V>
struct Serialiser<std::unordered_map<K, V, Hash, Equal, Allocator>>
    : MapSerialiser<std::unordered_map<K, V, Hash, Equal, Allocator>> {
};

}  // namespace tabane::team
