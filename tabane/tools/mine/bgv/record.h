// The frame of records: what stands before and behind a payload. Not installed.
#pragma once

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/serialise.h"

namespace tabane::mine::bgv {

static_assert(std::endian::native == std::endian::little);

// Puts values of fixed size one behind the other.
class RecordWriter {
 public:
  // payload: how many bytes will be put.
  RecordWriter(RecordKind kind, const Parameters& parameters, const KeyId& key,
               std::size_t payload);

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  template <class T>
  void put_all(std::span<const T> values) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }

  // Appends the checksum. To be called once.
  std::string finish();

 private:
  std::string bytes_;
  std::size_t whole_;
};

// Takes values of fixed size off a payload; every failure names the source.
class RecordReader {
 public:
  // Checks head, length and checksum. context: whose parameters it must have; null: any.
  RecordReader(std::string_view record, std::string_view name, RecordKind kind,
               const Context* context);

  const RecordHead& head() const { return head_; }

  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  void get_all(std::span<T> values) {
    std::memcpy(values.data(), take(values.size_bytes()).data(), values.size_bytes());
  }
  // Residues [part][N], of which part i is modulo the context's modulus i % moduli.
  void get_residues(const Context& context, std::size_t moduli, std::span<std::uint64_t> words);
  std::size_t left() const { return payload_.size(); }
  // Says that nothing may be left.
  void finish() const;

  [[noreturn]] void fail(std::string_view what) const;

 private:
  std::string_view take(std::size_t bytes);

  std::string name_;
  RecordHead head_;
  std::string_view payload_;
};

}  // namespace tabane::mine::bgv
