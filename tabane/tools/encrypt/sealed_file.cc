#include "tabane/tools/encrypt/sealed_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {
namespace {

constexpr std::size_t kGroupBytes = std::size_t{256} << 10;  // half of a usual second-level cache
constexpr std::size_t kSmallBytes = std::size_t{16} << 10;   // one read costs less than two

// The tag of the last chunk, which is the end of a sealed file of `bytes`.
std::array<std::byte, crypto::kTagBytes> last_tag_of(int file, std::uint64_t bytes,
                                                     const std::string& path) {
  std::array<std::byte, crypto::kTagBytes> tag{};
  core::read_all_at(file, tag.data(), tag.size(), bytes - tag.size(), path);
  return tag;
}

}  // namespace

std::size_t ChunkGroup::plain_size() const {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(count * chunk, plain_bytes - plain_offset()));
}

std::size_t ChunkGroup::plain_of(std::size_t i) const {
  return std::min(chunk, plain_size() - i * chunk);
}

std::span<const iovec> ChunkGroup::places(std::byte* chunks,
                                          std::array<iovec, kMost>& store) const {
  for (std::size_t i = 0; i < count; ++i) store[i] = {chunks + i * stride(), plain_of(i)};
  return std::span(store).first(count);
}

DamageError ChunkGroup::damage_of(std::size_t i) const {
  return DamageError(fmt::format("chunk {} was changed, or is not in its place", first + i),
                     sealed_offset() + i * stride());
}

void SealedFormat::prepare(FileTask& task) {
  auto& sealed = static_cast<SealedTask&>(task);
  seals_ ? prepare_to_seal(sealed) : prepare_to_open(sealed);
}

Range SealedFormat::cut(const FileTask& task, const Unit& unit, std::uint64_t piece_bytes) const {
  const auto& sealed = static_cast<const SealedTask&>(task);
  return range_of(unit, piece_bytes, sealed.chunk_bytes(), sealed.chunks());
}

void SealedFormat::work(const std::shared_ptr<FileTask>& task, const Range& range) {
  if (task->job().request.quick) return task->end_piece();
  task->do_piece([&] { work_on(static_cast<SealedTask&>(*task), range); });
}

std::uint64_t SealedTask::chunks() const {
  const std::uint64_t chunk = chunk_bytes();
  return std::max<std::uint64_t>(1, plain_bytes_ / chunk + (plain_bytes_ % chunk != 0));
}

ChunkGroup SealedTask::group(std::uint64_t first, std::size_t count) const {
  return {.first = first,
          .count = count,
          .chunk = header_.chunk_bytes(),
          .plain_bytes = plain_bytes_,
          .header = header_.bytes()};
}

void SealedTask::read_plain(const ChunkGroup& group, std::byte* chunks) const {
  std::array<iovec, ChunkGroup::kMost> places;
  read(group.places(chunks, places), group.plain_offset());
}

// The header goes with the first chunks: small files take one system call.
void SealedTask::write_sealed(const ChunkGroup& group, std::byte* chunks) {
  const std::size_t end = group.count - 1;
  if (group.is_last(end)) {
    std::copy_n(chunks + end * group.stride() + group.plain_of(end), crypto::kTagBytes,
                record().sealed.last_tag.begin());
  }
  if (group.first == 0) {
    std::byte* const begin = chunks - group.header;
    std::ranges::copy(header_bytes_, begin);
    std::ranges::copy(job().seal->embedded, begin + kHeaderBytes);
    write(begin, group.header + group.sealed_size(), 0);
  } else {
    write(chunks, group.sealed_size(), group.sealed_offset());
  }
  job().bytes_done += group.plain_size();
}

void SealedTask::read_sealed(const ChunkGroup& group, std::byte* chunks) const {
  read(chunks, group.sealed_size(), group.sealed_offset());
}

void SealedTask::write_opened(const ChunkGroup& group, std::byte* chunks) const {
  if (writes()) {
    std::array<iovec, ChunkGroup::kMost> places;
    write(group.places(chunks, places), group.plain_offset());
  }
  job().bytes_done += group.sealed_size() + (group.first == 0 ? group.header : 0);
}

void SealedFormat::prepare_to_seal(SealedTask& task) {
  const JobState& job = task.job();
  task.plain_bytes_ = task.in_bytes();
  task.header_ = job.seal->header;
  if (task.chunks() > std::uint64_t{1} << 32) {
    throw core::Error("is larger than 256 TiB, the most that one sealed file holds");
  }
  const auto with_header = [&](std::size_t header) {
    return sealed_bytes(task.plain_bytes_, kChunkLog2, header);
  };
  if (!task.open_output(with_header(kHeaderBytes), with_header(kSlotsAt + kMostSlotsBytes),
                        [&](int there) { return is_sealed(task, there); })) {
    return;
  }
  if (const Joint* joint = task.joint()) {
    task.header_.file_salt = joint->salt;
  } else {
    draw_salt(task.header_.file_salt);
  }
  task.presize(with_header(task.header_.bytes()));
  task.keys_ = derive_file_keys(task.header_, job.seal->key);
  task.header_bytes_ = encode_header(task.header_, task.keys_);
  task.record().sealed = {
      .bytes = task.plain_bytes_, .salt = task.header_.file_salt, .last_tag = {}};
}

// Returns the last chunk, or nothing in place of bytes if its tag does not fit; it stands in the
// buffer. An empty chunk has a place, too.
std::span<std::byte> SealedFormat::open_last_chunk(const SealedTask& task, int sealed,
                                                   const Header& header, const FileKeys& keys) {
  holds_file_ = false;
  const std::size_t chunk = header.chunk_bytes();
  const std::uint64_t plain = task.plain_bytes_;
  const std::uint64_t last = plain == 0 ? 0 : (plain - 1) / chunk;
  const auto bytes = static_cast<std::size_t>(plain - last * chunk);
  buffer_.reserve(2 * (chunk + crypto::kTagBytes));
  std::byte* const place = buffer_.data();
  if (core::read_all_at(sealed, place, bytes + crypto::kTagBytes,
                        header.bytes() + last * (chunk + crypto::kTagBytes),
                        task.path()) != bytes + crypto::kTagBytes) {
    return {};
  }
  cipher_.set_key(keys.key.bytes());
  const bool fits = cipher_.open(static_cast<std::uint32_t>(last), true,
                                 {place, bytes + crypto::kTagBytes}, {place, bytes});
  return fits ? std::span(place, bytes) : std::span<std::byte>();
}

// Whether an output that is there has the size of this file, was sealed with the tree's id and key
// of this run, has at its end a chunk that was sealed as the last, and may stay; then its record is
// that of the output. That it opens by slots of its own is not enough: those whom the new manifest
// is for could not open it, and others could.
bool SealedFormat::is_sealed(SealedTask& task, int output) {
  try {
    const std::vector<std::byte> bytes = read_header(output, task.path());
    const Header header = decode_header(bytes);
    struct stat seen {};
    if (header.chunk_log2 != kChunkLog2 || fstat(output, &seen) != 0 ||
        static_cast<std::uint64_t>(seen.st_size) !=
            sealed_bytes(task.plain_bytes_, kChunkLog2, header.bytes())) {
      return false;
    }
    const TreeSeal& seal = *task.job().seal;
    const auto keys = keys_in_tree(header, bytes, seal.header.tree, seal.key);
    if (!keys) return false;
    const std::span<std::byte> last = open_last_chunk(task, output, header, *keys);
    if (last.data() == nullptr) return false;
    SealedState& state = task.record().sealed;
    state = {.bytes = task.plain_bytes_, .salt = header.file_salt, .last_tag = {}};
    std::copy_n(last.data() + last.size(), crypto::kTagBytes, state.last_tag.begin());
    return task.output_is_current(state);
  } catch (const core::Error&) {
    return false;  // damaged, or from another key: made anew
  }
}

// Whether an output that is there ends with what the last chunk holds.
bool SealedFormat::ends_like(SealedTask& task, int output) {
  const std::span<std::byte> last = open_last_chunk(task, task.in(), task.header_, task.keys_);
  if (last.data() == nullptr) return false;  // told when the file is opened
  const std::span there(last.data() + task.chunk_bytes() + crypto::kTagBytes, last.size());
  return core::read_all_at(output, there.data(), there.size(), task.plain_bytes_ - last.size(),
                           task.path()) == there.size() &&
         std::ranges::equal(last, there);
}

void SealedFormat::draw_salt(std::span<std::byte, kFileSaltBytes> salt) {
  if (salts_used_ == salts_.size()) {
    crypto::fill_random(salts_);
    salts_used_ = 0;
  }
  std::copy_n(salts_.begin() + static_cast<std::ptrdiff_t>(salts_used_), salt.size(), salt.begin());
  salts_used_ += salt.size();
}

// Returns the header, as read_header() does; of a small file reads the chunks, too.
std::vector<std::byte> SealedFormat::read_first(const SealedTask& task) {
  holds_file_ = false;
  if (!works_at_once() || task.in_bytes() > kSmallBytes) {
    return read_header(task.in(), task.path());
  }
  buffer_.reserve(kSmallBytes);
  const auto bytes = static_cast<std::size_t>(task.in_bytes());
  const std::size_t there = core::read_all_at(task.in(), buffer_.data(), bytes, 0, task.path());
  holds_file_ = there == bytes;
  const std::span first(buffer_.data(), there);
  const auto header = first.first(std::min(there, header_bytes(first)));
  return {header.begin(), header.end()};
}

void SealedFormat::prepare_to_open(SealedTask& task) {
  const std::vector<std::byte> header = read_first(task);
  const bool listed = task.job().manifest == nullptr || task.record().known;
  try {
    task.header_ = decode_header(header);
    task.keys_ = task.job().keys.keys_of(task.header_, header);
  } catch (const DamageError&) {
    if (listed) throw;
    throw DiffersFromManifest({Difference::added});
  }
  if (task.job().manifest != nullptr) hold_against_manifest(task);
  task.plain_bytes_ = opened_bytes(task.in_bytes(), task.header_.chunk_log2, task.header_.bytes());
  if (task.open_output(task.plain_bytes_, task.plain_bytes_,
                       [&](int there) { return ends_like(task, there); })) {
    task.presize(task.plain_bytes_);
  }
}

void SealedFormat::hold_against_manifest(SealedTask& task) {
  const FileRecord& record = task.record();
  const Header& header = task.header_;
  if (!record.known) throw DiffersFromManifest({Difference::added, header.file_salt});
  if (record.sealed.salt != header.file_salt) {
    throw DiffersFromManifest({Difference::rolled_back, header.file_salt});
  }
  if (!task.job().request.quick) return;
  const std::uint64_t bytes = sealed_bytes(record.sealed.bytes, header.chunk_log2, header.bytes());
  if (task.in_bytes() != bytes ||
      last_tag_of(task.in(), bytes, task.path()) != record.sealed.last_tag) {
    throw DiffersFromManifest({Difference::changed, header.file_salt});
  }
}

void SealedFormat::work_on(SealedTask& task, const Range& range) {
  const std::size_t chunk = task.header_.chunk_bytes();
  const std::size_t in_group = std::clamp<std::size_t>(kGroupBytes / chunk, 1, ChunkGroup::kMost);
  const std::uint64_t end = std::min(task.chunks(), range.first + range.count);
  const bool is_read = std::exchange(holds_file_, false);
  // The chunks begin at a multiple of a cache line, with the header before them.
  const std::size_t chunks_at =
      is_read ? task.header_.bytes() : (task.header_.bytes() + 63) / 64 * 64;
  if (!is_read) buffer_.reserve(chunks_at + in_group * (chunk + crypto::kTagBytes));
  std::byte* const chunks = buffer_.data() + chunks_at;
  cipher_.set_key(task.keys_.key.bytes());
  for (std::uint64_t at = range.first; at < end; at += in_group) {
    if (task.job().stop || task.failed()) throw Stopped();
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(in_group, end - at));
    const ChunkGroup group = task.group(at, here);
    if (!is_read) seals_ ? task.read_plain(group, chunks) : task.read_sealed(group, chunks);
    for (std::size_t i = 0; i < here; ++i) {
      if (!work_on_chunk(group, i, chunks, chunks)) throw group.damage_of(i);
    }
    seals_ ? task.write_sealed(group, chunks) : task.write_opened(group, chunks);
  }
}

bool SealedFormat::work_on_chunk(const ChunkGroup& group, std::size_t i, std::byte* in,
                                 std::byte* out) {
  const std::size_t plain = group.plain_of(i), sealed = plain + crypto::kTagBytes;
  const auto index = static_cast<std::uint32_t>(group.first + i);
  in += i * group.stride();
  out += i * group.stride();
  if (!seals_) return cipher_.open(index, group.is_last(i), {in, sealed}, {out, plain});
  cipher_.seal(index, group.is_last(i), {in, plain}, {out, sealed});
  return true;
}

}  // namespace tabane::encrypt
