#include "tabane/solver/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"

namespace tabane::solver {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the first number

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what) {
  throw core::UsageError("{}: {}; expected an NPY file with a two-dimensional array of numbers",
                         path.string(), what);
}

struct Header {
  std::string text;         // a Python dictionary
  std::size_t numbers = 0;  // where they begin
};

Header header_of(const std::filesystem::path& path, std::string_view bytes) {
  if (bytes.size() < 10 || !bytes.starts_with(kMagic)) refuse(path, "not an NPY file");
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const int version = byte(6);
  if (version < 1 || version > 3) refuse(path, fmt::format("NPY version {}", version));
  const std::size_t start = version == 1 ? 10 : 12;
  std::size_t length = byte(8) | static_cast<std::size_t>(byte(9)) << 8;
  if (version > 1 && bytes.size() >= start) {
    length |= static_cast<std::size_t>(byte(10)) << 16 | static_cast<std::size_t>(byte(11)) << 24;
  }
  if (bytes.size() < start + length) refuse(path, "the header ends too early");
  return {std::string(bytes.substr(start, length)), start + length};
}

std::string_view without_spaces(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  return text;
}

// Returns what follows 'name': in the header, between `begin` and one of the characters `end`.
std::string_view value_of(const std::filesystem::path& path, std::string_view header,
                          std::string_view name, std::string_view begin, std::string_view end) {
  const std::size_t found = header.find(fmt::format("'{}'", name));
  std::string_view rest;
  if (found != header.npos) rest = without_spaces(header.substr(found + name.size() + 2));
  if (rest.starts_with(':')) {
    rest = without_spaces(rest.substr(1));
    const std::size_t length = rest.find_first_of(end, begin.size());
    if (rest.starts_with(begin) && length != rest.npos) {
      return rest.substr(begin.size(), length - begin.size());
    }
  }
  refuse(path, fmt::format("the header has no readable \"{}\"", name));
}

// Returns rows and columns.
std::pair<std::size_t, std::size_t> shape_of(const std::filesystem::path& path,
                                             std::string_view header) {
  const std::string_view tuple = value_of(path, header, "shape", "(", ")");
  constexpr std::size_t kMost = 999'999'999'999;
  std::array<std::size_t, 2> sizes{};
  std::size_t dimensions = 0;
  for (std::string_view rest = without_spaces(tuple); !rest.empty(); ++dimensions) {
    std::size_t size = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    rest = without_spaces(rest.substr(stop - rest.data()));
    const bool ends = rest.empty() || rest[0] == ',';
    if (error != std::errc() || size > kMost || dimensions == sizes.size() || !ends) {
      refuse(path, fmt::format("an array of shape ({:.60})", tuple));
    }
    sizes[dimensions] = size;
    if (!rest.empty()) rest = without_spaces(rest.substr(1));
  }
  if (dimensions == 1) return {1, sizes[0]};
  const bool too_many =
      sizes[0] != 0 && sizes[1] > std::numeric_limits<std::size_t>::max() / 8 / sizes[0];
  if (dimensions == 0 || too_many) refuse(path, fmt::format("an array of shape ({:.60})", tuple));
  return {sizes[0], sizes[1]};
}

template <class T>
double number_at(const char* from, bool reversed) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  if (reversed) std::ranges::reverse(bytes);
  return static_cast<double>(std::bit_cast<T>(bytes));
}

struct Type {
  double (*read)(const char*, bool);
  std::size_t bytes;
};

std::optional<Type> type_named(std::string_view name) {
  if (name == "f8") return Type{number_at<double>, 8};
  if (name == "f4") return Type{number_at<float>, 4};
  if (name == "i8") return Type{number_at<std::int64_t>, 8};
  if (name == "u8") return Type{number_at<std::uint64_t>, 8};
  if (name == "i4") return Type{number_at<std::int32_t>, 4};
  if (name == "u4") return Type{number_at<std::uint32_t>, 4};
  if (name == "i2") return Type{number_at<std::int16_t>, 2};
  if (name == "u2") return Type{number_at<std::uint16_t>, 2};
  if (name == "i1") return Type{number_at<std::int8_t>, 1};
  if (name == "u1") return Type{number_at<std::uint8_t>, 1};
  return {};
}

}  // namespace

Array2d read_npy(const std::filesystem::path& path) {
  const std::string bytes = core::read_file(path);
  const Header header = header_of(path, bytes);
  const std::string_view name = value_of(path, header.text, "descr", "'", "'");
  const std::string_view order = value_of(path, header.text, "fortran_order", "", ", }");
  if (order != "True" && order != "False") {
    refuse(path, fmt::format("the header's fortran_order is \"{:.60}\"", order));
  }
  const auto type = name.empty() ? std::nullopt : type_named(name.substr(1));
  if (!type || std::string_view("<>|=").find(name[0]) == std::string_view::npos) {
    refuse(path, fmt::format("numbers of type \"{:.60}\"", name));
  }
  constexpr bool kBigEndian = std::endian::native == std::endian::big;
  const bool reversed = (name[0] == '>' && !kBigEndian) || (name[0] == '<' && kBigEndian);
  Array2d array;
  std::tie(array.rows, array.columns) = shape_of(path, header.text);
  const std::size_t count = array.rows * array.columns;
  if (bytes.size() - header.numbers != count * type->bytes) {
    refuse(path,
           fmt::format("{} bytes of numbers where {} x {} of {} bytes should be",
                       bytes.size() - header.numbers, array.rows, array.columns, type->bytes));
  }
  array.values.resize(count);
  const bool by_columns = order == "True";
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = by_columns ? i % array.rows * array.columns + i / array.rows : i;
    array.values[place] = type->read(bytes.data() + header.numbers + i * type->bytes, reversed);
  }
  return array;
}

void write_npy(const std::filesystem::path& path, std::size_t rows, std::size_t columns,
               std::span<const double> values) {
  TABANE_ASSERT(values.size() == rows * columns);
  const char order = std::endian::native == std::endian::little ? '<' : '>';
  std::string text = fmt::format("{{'descr': '{}f8', 'fortran_order': False, 'shape': ({}, {}), }}",
                                 order, rows, columns);
  const std::size_t prefix = kMagic.size() + 4;
  text.append(kAlignment - (prefix + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  std::string bytes(kMagic);
  bytes +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  bytes += text;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  core::write_output(path, bytes);
}

}  // namespace tabane::solver
