#include "tabane/tools/mine/bgv/record.h"

#include <algorithm>
#include <cstring>

#include "tabane/crypto/sha256.h"

namespace tabane::mine::bgv {
namespace {

constexpr std::string_view kMagic = "tabanBGV";
constexpr std::uint32_t kInsecure = 1;

static_assert(sizeof(crypto::Sha256Sum) == kRecordTail);

crypto::Sha256Sum sum_of(std::string_view bytes) {
  return crypto::sha256(std::as_bytes(std::span(bytes)));
}

// Tells parameters apart.
std::array<char, 16> identity(const Parameters& parameters) {
  std::string text = fmt::format("{} {} {}", parameters.degree(), parameters.plaintext_modulus(),
                                 parameters.special_prime());
  for (const std::uint64_t q : parameters.primes()) text += fmt::format(" {}", q);
  const crypto::Sha256Sum sum = sum_of(text);
  std::array<char, 16> first;
  std::memcpy(first.data(), sum.data(), first.size());
  return first;
}

std::string_view kind_name(RecordKind kind) {
  switch (kind) {
    case RecordKind::parameters:
      return "parameters";
    case RecordKind::secret_key:
      return "a secret key";
    case RecordKind::public_key:
      return "a public key";
    case RecordKind::evaluation_keys:
      return "evaluation keys";
    case RecordKind::ciphertext:
      return "a ciphertext";
  }
  return "something unknown";
}

template <class T>
T at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

RecordWriter::RecordWriter(RecordKind kind, const Parameters& parameters, const KeyId& key,
                           std::size_t payload)
    : whole_(kRecordHead + payload + kRecordTail) {
  bytes_.reserve(whole_);
  bytes_.append(kMagic);
  put(kFormatVersion);
  put(kind);
  put(parameters.secure() ? std::uint32_t{0} : kInsecure);
  put(std::uint32_t{0});
  put(identity(parameters));
  put(key);
  put(std::uint64_t{payload});
}

std::string RecordWriter::finish() {
  put(sum_of(bytes_));
  TABANE_ASSERT(bytes_.size() == whole_);
  return std::move(bytes_);
}

RecordHead read_head(std::string_view head, std::string_view name) {
  const auto fail = [&](const std::string& what) {
    throw core::Error(fmt::format("{}: {}", name, what));
  };
  if (head.size() < kMagic.size() || head.substr(0, kMagic.size()) != kMagic) {
    fail("neither a key nor ciphertexts of tabane mine");
  }
  if (head.size() < kRecordHead) fail("it is cut off");
  const auto version = at<std::uint32_t>(head, 8);
  if (version != kFormatVersion) {
    fail(fmt::format("it has format version {}; this program reads version {}", version,
                     kFormatVersion));
  }
  RecordHead read{.kind = at<RecordKind>(head, 12),
                  .insecure = (at<std::uint32_t>(head, 16) & kInsecure) != 0,
                  .key = at<KeyId>(head, 40)};
  const auto payload = at<std::uint64_t>(head, 56);
  if (payload > std::uint64_t{1} << 40) fail("it is damaged: no record is as long as it says");
  read.bytes = kRecordHead + payload + kRecordTail;
  return read;
}

std::string_view take_record(std::string_view& bytes, std::string_view name) {
  const RecordHead head = read_head(bytes, name);
  if (bytes.size() < head.bytes) throw core::Error(fmt::format("{}: it is cut off", name));
  const std::string_view record = bytes.substr(0, head.bytes);
  bytes.remove_prefix(head.bytes);
  return record;
}

RecordReader::RecordReader(std::string_view record, std::string_view name, RecordKind kind,
                           const Context* context)
    : name_(name), head_(read_head(record, name)) {
  if (record.size() < head_.bytes) fail("it is cut off");
  if (record.size() > head_.bytes) fail("something stands behind its end");
  const std::size_t checked = record.size() - kRecordTail;
  const crypto::Sha256Sum sum = sum_of(record.substr(0, checked));
  if (std::memcmp(record.data() + checked, sum.data(), sum.size()) != 0) {
    fail("it is damaged: its checksum is wrong");
  }
  if (head_.kind != kind) {
    fail(fmt::format("it holds {}, not {}", kind_name(head_.kind), kind_name(kind)));
  }
  if (context != nullptr &&
      at<std::array<char, 16>>(record, 24) != identity(context->parameters())) {
    fail("it was made with other parameters");
  }
  payload_ = record.substr(kRecordHead, checked - kRecordHead);
}

void RecordReader::fail(std::string_view what) const {
  throw core::Error(fmt::format("{}: {}", name_, what));
}

std::string_view RecordReader::take(std::size_t bytes) {
  if (payload_.size() < bytes) fail("it is shorter than its contents need");
  const std::string_view taken = payload_.substr(0, bytes);
  payload_.remove_prefix(bytes);
  return taken;
}

void RecordReader::get_residues(const Context& context, std::size_t moduli,
                                std::span<std::uint64_t> words) {
  get_all(words);
  const std::size_t n = context.degree();
  for (std::size_t part = 0; part < words.size() / n; ++part) {
    const std::uint64_t q = context.modulus(part % moduli).value();
    const auto residues = words.subspan(part * n, n);
    if (*std::ranges::max_element(residues) >= q) fail("it holds a number above its modulus");
  }
}

void RecordReader::finish() const {
  if (!payload_.empty()) fail("it is longer than its contents");
}

}  // namespace tabane::mine::bgv
