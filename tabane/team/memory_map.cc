#include "tabane/team/memory_map.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "tabane/team/proc.h"

namespace tabane::team {
namespace {

std::optional<std::uintptr_t> hexadecimal(std::string_view text) {
  std::uintptr_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

// "7f0c00000000-7f0c00021000 rw-p 00000000 00:00 0    [heap]"
std::optional<Mapping> parse_head(std::string_view line) {
  std::string_view range = take_word(line);
  const auto begin = hexadecimal(take_until(range, '-'));
  const auto end = hexadecimal(range);
  const std::string_view permissions = take_word(line);
  if (!begin || !end || *end < *begin || permissions.size() < 4) return {};
  take_word(line);  // offset
  take_word(line);  // device
  const std::string_view inode = take_word(line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  Mapping mapping;
  mapping.begin = *begin;
  mapping.end = *end;
  mapping.writable = permissions[1] == 'w';
  mapping.is_private = permissions[3] == 'p';
  mapping.of_file = inode != "0";
  mapping.name = line;
  return mapping;
}

void take_field(std::string_view line, Mapping& mapping) {
  const std::string_view key = take_until(line, ':');
  if (key == "Anonymous") mapping.anonymous = kib(line);
  if (key == "AnonHugePages") mapping.huge = kib(line);
  if (key == "VmFlags") mapping.flags = line;
}

// A lower-case hexadecimal digit begins the head of a mapping, a capital letter a field.
bool begins_mapping(std::string_view line) {
  return !line.empty() &&
         ((line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f'));
}

bool may_be_prepared(const Mapping& mapping) {
  const bool anonymous = !mapping.of_file && (mapping.name.empty() || mapping.name == "[heap]" ||
                                              mapping.name.starts_with("[anon:"));
  if (!anonymous || !mapping.is_private || !mapping.writable) return false;
  // Grows down, locked, not inherited, emptied in the child, device memory, huge pages of their
  // own, watched by userfaultfd, shadow stack.
  constexpr std::array<std::string_view, 11> kNot = {"gd", "lo", "dc", "wf", "io", "pf",
                                                     "mm", "ht", "um", "uw", "ss"};
  return std::none_of(kNot.begin(), kNot.end(),
                      [&](std::string_view flag) { return mapping.has_flag(flag); });
}

}  // namespace

bool Mapping::has_flag(std::string_view two_letters) const {
  std::string_view left = flags;
  while (!left.empty()) {
    if (take_word(left) == two_letters) return true;
  }
  return false;
}

std::vector<Mapping> parse_memory_map(std::string_view smaps) {
  std::vector<Mapping> map;
  while (!smaps.empty()) {
    const std::string_view line = take_until(smaps, '\n');
    if (begins_mapping(line)) {
      if (auto mapping = parse_head(line)) map.push_back(std::move(*mapping));
    } else if (!map.empty()) {
      take_field(line, map.back());
    }
  }
  return map;
}

std::vector<Mapping> own_memory_map() { return parse_memory_map(read_proc("/proc/self/smaps")); }

Range preparable_range(const Mapping& mapping, std::uint64_t least_bytes, std::size_t huge_page) {
  if (huge_page == 0 || mapping.end - mapping.begin < least_bytes) return {};
  if (!may_be_prepared(mapping)) return {};
  const std::uintptr_t begin = (mapping.begin + huge_page - 1) / huge_page * huge_page;
  const std::uintptr_t end = mapping.end / huge_page * huge_page;
  return begin < end ? Range{begin, end} : Range{};
}

std::uint64_t preparable_bytes(const Mapping& mapping, std::uint64_t least_bytes,
                               std::size_t huge_page) {
  const std::uint64_t whole = preparable_range(mapping, least_bytes, huge_page).size();
  const std::uint64_t small = mapping.anonymous - std::min(mapping.huge, mapping.anonymous);
  return std::min(small, whole - std::min(mapping.huge, whole));
}

}  // namespace tabane::team
