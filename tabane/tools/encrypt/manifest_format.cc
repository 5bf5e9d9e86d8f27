#include "tabane/tools/encrypt/manifest_format.h"

#include <algorithm>

#include "tabane/core/error.h"
#include "tabane/crypto/sha256.h"

namespace tabane::encrypt {
namespace {

constexpr std::array<unsigned char, 8> kManifestMagic = {'T', 'B', 'N', 'M', 'A', 'N', 'I', 2};
constexpr std::size_t kManifestBuffer = std::size_t{64} << 10;
constexpr std::size_t kFixedBytes = 4 + 8 + 4;  // of an entry: mode and time
constexpr unsigned kHiddenNames = 1, kHasParts = 4, kHasAttributes = 8;       // flags
constexpr unsigned kSparse = 1, kHasNames = 2, kSameAs = 4, kAttributes = 8;  // parts
constexpr std::uint8_t kEnd = 0;  // in the place of a kind
constexpr std::uint32_t kPermissionBits = 07777;

// '/' before every other byte; there is no 0 in a path.
int order_of(char c) { return c == '/' ? 0 : static_cast<unsigned char>(c); }

bool is_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('\0') == name.npos;
}

bool is_path(std::string_view path) {
  for (;;) {
    const std::size_t slash = path.find('/');
    if (!is_name(path.substr(0, slash))) return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

bool is_or_lies_below(std::string_view inner, std::string_view outer) {
  return outer.empty() || inner == outer ||
         (inner.starts_with(outer) && inner[outer.size()] == '/');
}

}  // namespace

ManifestHash parse_manifest_hash(const std::string& text) {
  ManifestHash root;
  if (!crypto::from_hexadecimal(text, root) || crypto::hexadecimal(root) != text) {
    throw core::UsageError("--root: a root is 64 hexadecimal digits in lower case");
  }
  return root;
}

bool is_attribute_name(std::string_view name) {
  constexpr std::string_view kUser = "user.";
  return (name.starts_with(kUser) && name.size() > kUser.size() && name.find('\0') == name.npos) ||
         name == "system.posix_acl_access" || name == "system.posix_acl_default";
}

int compare_paths(std::string_view a, std::string_view b) {
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at_a == a.end() || at_b == b.end()) return (at_a != a.end()) - (at_b != b.end());
  return order_of(*at_a) - order_of(*at_b);
}

const char* PathOrder::refuse(EntryKind kind, std::string_view path) {
  if (!std::exchange(any_, true)) {
    return kind == EntryKind::directory && path.empty() ? nullptr
                                                        : "the first entry is not the root";
  }
  if (!is_path(path)) return "the path is not legal";
  if (compare_paths(last_, path) >= 0) return "the path does not come behind the one before it";
  if (!is_or_lies_below(last_directory_, parent_of(path))) {
    return "the path is in no directory that came before it";
  }
  last_ = path;
  if (kind == EntryKind::directory) last_directory_ = path;
  return nullptr;
}

ManifestWriter::ManifestWriter(const ManifestHead& head, Sink sink)
    : head_(head), sink_(std::move(sink)) {
  buffer_.reserve(kManifestBuffer + kFixedBytes);
  put(std::as_bytes(std::span(kManifestMagic)));
  put(head.tree_id);
  put_number(head.generation, 8);
  put_number((head.hidden_names ? kHiddenNames : 0) | (head.has_parts ? kHasParts : 0) |
                 (head.attributes ? kHasAttributes : 0),
             1);
}

void ManifestWriter::flush() {
  if (!buffer_.empty()) sink_(buffer_);
  buffer_.clear();
}

void ManifestWriter::put(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kManifestBuffer) flush();
  if (bytes.size() > kManifestBuffer) {
    sink_(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void ManifestWriter::put_number(std::uint64_t value, std::size_t bytes) {
  std::array<std::byte, 8> field;
  for (std::size_t i = 0; i < 8; ++i) field[i] = static_cast<std::byte>(value >> (8 * i));
  put(std::span(field).first(bytes));
}

// The length as LEB128, then the bytes.
void ManifestWriter::put_text(std::string_view text) {
  TABANE_ASSERT(text.size() <= kMostPathBytes);
  std::size_t left = text.size();
  for (; left >= 0x80; left >>= 7) put_number((left & 0x7f) | 0x80, 1);
  put_number(left, 1);
  put(std::as_bytes(std::span(text.data(), text.size())));
}

void ManifestWriter::add(const ManifestEntry& entry) {
  const char* const wrong = order_.refuse(entry.kind, entry.path);
  TABANE_ASSERT(wrong == nullptr);
  put_number(static_cast<std::uint8_t>(entry.kind), 1);
  put_text(entry.path);
  put_number(entry.mode & kPermissionBits, 4);
  put_number(static_cast<std::uint64_t>(entry.seconds), 8);
  put_number(entry.nanoseconds, 4);
  if (entry.kind == EntryKind::file) {
    put_number(entry.sealed.bytes, 8);
    put(entry.sealed.salt);
    put(entry.sealed.last_tag);
    if (head_.hidden_names) put(entry.stored_name);
    bytes_ += entry.sealed.bytes;
  } else if (entry.kind == EntryKind::link) {
    put_text(entry.target);
  }
  if (head_.has_parts) put_parts(entry);
  ++entries_;
}

void ManifestWriter::put_parts(const ManifestEntry& entry) {
  put_number((entry.sparse ? kSparse : 0) | (entry.has_names ? kHasNames : 0) |
                 (entry.same_as.empty() ? 0 : kSameAs) |
                 (entry.attributes.empty() ? 0 : kAttributes),
             1);
  if (!entry.same_as.empty()) put_text(entry.same_as);
  if (entry.attributes.empty()) return;
  put_number(entry.attributes.size(), 4);
  for (const auto& [name, value] : entry.attributes) {
    put_text(name);
    put_text(value);
  }
}

void ManifestWriter::finish() {
  put_number(kEnd, 1);
  put_number(entries_, 8);
  put_number(bytes_, 8);
  flush();
}

ManifestReader::ManifestReader(Source source)
    : source_(std::move(source)), buffer_(2 * kManifestBuffer) {
  constexpr std::size_t kVersionAt = kManifestMagic.size() - 1;
  std::array<unsigned char, kManifestMagic.size()> magic;
  take(std::as_writable_bytes(std::span(magic)));
  if (!std::equal(magic.begin(), magic.end() - 1, kManifestMagic.begin())) {
    throw DamageError("not a manifest", 0);
  }
  if (magic.back() != kManifestMagic.back()) {
    throw VersionError("a manifest", magic.back(), "2", kVersionAt);
  }
  take(head_.tree_id);
  head_.generation = number(8);
  const std::uint64_t flags = number(1);
  head_.hidden_names = (flags & kHiddenNames) != 0;
  head_.has_parts = (flags & kHasParts) != 0;
  head_.attributes = (flags & kHasAttributes) != 0;
  if ((flags & ~(kHiddenNames | kHasParts | kHasAttributes)) != 0 ||
      (head_.attributes && !head_.has_parts)) {
    throw DamageError("a flag of the manifest is not known here", offset() - 1);
  }
}

const std::byte* ManifestReader::need(std::size_t bytes) {
  if (filled_ - at_ < bytes) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(at_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
    before_ += at_;
    filled_ -= at_;
    at_ = 0;
    filled_ += source_(std::span(buffer_).subspan(filled_));
    if (filled_ < bytes) throw DamageError("the manifest ends too early", before_ + filled_);
  }
  return buffer_.data() + at_;
}

void ManifestReader::take(std::span<std::byte> field) {
  std::copy_n(need(field.size()), field.size(), field.begin());
  at_ += field.size();
}

std::uint64_t ManifestReader::number(std::size_t bytes) {
  std::array<std::byte, 8> field{};
  take(std::span(field).first(bytes));
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | std::to_integer<unsigned>(field[i]);
  return value;
}

void ManifestReader::text(std::string& text, const char* what) {
  const std::uint64_t from = offset();
  std::uint64_t length = 0;
  unsigned shift = 0;
  for (std::uint64_t digit = 0x80; (digit & 0x80) != 0; shift += 7) {
    digit = number(1);
    length |= (digit & 0x7f) << shift;
    const bool padded = digit == 0 && shift > 0;  // one way only to write a length
    if (padded || length > kMostPathBytes || shift > 21) {
      throw DamageError(std::string("the length of the ") + what + " is not legal", from);
    }
  }
  text.clear();
  while (text.size() < length) {
    const auto here = std::min<std::size_t>(length - text.size(), kManifestBuffer);
    text.append(reinterpret_cast<const char*>(need(here)), here);
    at_ += here;
  }
}

void ManifestReader::read_entry(EntryKind kind, ManifestEntry& entry) {
  const std::uint64_t from = offset();
  entry.kind = kind;
  text(entry.path, "path");
  if (const char* wrong = order_.refuse(kind, entry.path)) throw DamageError(wrong, from);
  const std::uint64_t fixed = offset();
  entry.mode = static_cast<std::uint32_t>(number(4));
  if (entry.mode > kPermissionBits) throw DamageError("the mode is not legal", fixed);
  entry.seconds = static_cast<std::int64_t>(number(8));
  entry.nanoseconds = static_cast<std::uint32_t>(number(4));
  if (entry.nanoseconds >= 1'000'000'000) throw DamageError("the time is not legal", fixed + 12);
  entry.sealed = {};
  entry.stored_name = {};
  entry.target.clear();
  if (kind == EntryKind::file) {
    entry.sealed.bytes = number(8);
    take(entry.sealed.salt);
    take(entry.sealed.last_tag);
    if (head_.hidden_names) take(entry.stored_name);
    bytes_ += entry.sealed.bytes;
  } else if (kind == EntryKind::link) {
    const std::uint64_t target_at = offset();
    text(entry.target, "target");
    if (entry.target.empty() || entry.target.find('\0') != entry.target.npos) {
      throw DamageError("the target of a symbolic link is not legal", target_at);
    }
  }
  entry.sparse = entry.has_names = false;
  entry.same_as.clear();
  entry.attributes.clear();
  if (head_.has_parts) read_parts(entry);
  ++entries_;
}

void ManifestReader::read_parts(ManifestEntry& entry) {
  const std::uint64_t from = offset();
  const std::uint64_t parts = number(1);
  const std::uint64_t of_kind = entry.kind == EntryKind::link        ? 0
                                : entry.kind == EntryKind::directory ? kAttributes
                                : (parts & kSameAs) != 0 ? kSparse | kSameAs | kAttributes
                                                         : kSparse | kHasNames | kAttributes;
  if ((parts & ~of_kind) != 0 || ((parts & kAttributes) != 0 && !head_.attributes)) {
    throw DamageError("a part of the entry is not known here", from);
  }
  entry.sparse = (parts & kSparse) != 0;
  entry.has_names = (parts & kHasNames) != 0;
  if ((parts & kSameAs) != 0) {
    text(entry.same_as, "first name");
    if (!is_path(entry.same_as) || compare_paths(entry.same_as, entry.path) >= 0) {
      throw DamageError("the first name of the file is not legal", from + 1);
    }
  }
  if ((parts & kAttributes) != 0) read_attributes(entry);
}

void ManifestReader::read_attributes(ManifestEntry& entry) {
  const std::uint64_t from = offset();
  std::size_t bytes = 0;
  for (std::uint64_t left = number(4); left > 0; --left) {
    Attribute next;
    text(next.first, "attribute's name");
    text(next.second, "attribute");
    bytes += next.first.size() + next.second.size();
    const bool in_order = entry.attributes.empty() || entry.attributes.back().first < next.first;
    if (!is_attribute_name(next.first) || !in_order || bytes > kMostAttributeBytes) {
      throw DamageError("an extended attribute is not legal", from);
    }
    entry.attributes.push_back(std::move(next));
  }
  if (entry.attributes.empty()) throw DamageError("an extended attribute is not legal", from);
}

void ManifestReader::read_end() {
  const std::uint64_t from = offset();
  if (entries_ == 0) throw DamageError("the manifest has no entry", from);
  if (number(8) != entries_) throw DamageError("the number of entries does not fit", from);
  if (number(8) != bytes_) throw DamageError("the number of bytes does not fit", from + 8);
  std::byte more;
  if (at_ < filled_ || source_({&more, 1}) != 0) {
    throw DamageError("something follows the end of the manifest", offset());
  }
}

bool ManifestReader::next(ManifestEntry& entry) {
  const std::uint64_t from = offset();
  const std::uint64_t kind = number(1);
  if (kind == kEnd) {
    read_end();
    return false;
  }
  if (kind > 3) throw DamageError("an entry of a kind that is not known here", from);
  read_entry(static_cast<EntryKind>(kind), entry);
  return true;
}

}  // namespace tabane::encrypt
