#include "tabane/tools/encrypt/cbc_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::encrypt {
namespace {

using crypto::kBlockBytes;

constexpr std::size_t kPartBytes = std::size_t{256} << 10;  // half of a usual second-level cache
// Of one lane, at least. Short ones cost system calls; 16 lanes go with a core that has a second
// level of 1 MiB or more, of which these take half.
constexpr std::size_t kSliceBytes = std::size_t{32} << 10;
// From the end of one lane's slice to the start of the next: room for the padding and the IV. At
// the same distance from a page's start, all would want the same few places of the first-level
// cache. Each slice begins at a cache line.
constexpr std::size_t kLaneGap = 1088;
// The same on a coprocessor, to which gaps would have to be transferred. Few files take longer
// slices, of which each is a launch.
constexpr std::size_t kDeviceGap = 64;
constexpr std::size_t kLongestDeviceSlice = std::size_t{1} << 20;

std::span<const std::byte> key_of(const Request& request) {
  return std::span(request.key.bytes()).first(key_bytes(request.cipher));
}

std::uint64_t stored_iv_bytes(const FileTask& task) {
  return task.job().request.fixed_iv ? 0 : kBlockBytes;
}

// Bytes of a lane's slice if `files` of the lanes have one.
std::size_t device_slice(std::size_t lanes, std::size_t files) {
  const std::size_t all = lanes * kSliceBytes / std::max<std::size_t>(1, files);
  return std::min(all / kSliceBytes * kSliceBytes, kLongestDeviceSlice);
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes / kBlockBytes + 1) * kBlockBytes; }

constexpr std::size_t kFilesTried = 32;

// Decrypts the block at an offset in an encrypted file. Before it is the block or the stored IV
// that it is chained to; the first one of all has the fixed IV. throws: core::SystemError.
crypto::Block decrypt_block(crypto::CbcCipher& cipher, const Request& request, int file,
                            std::uint64_t offset, const std::string& what) {
  crypto::Block iv = request.fixed_iv.value_or(crypto::Block{}), block{};
  if (offset > 0) core::read_all_at(file, iv.data(), iv.size(), offset - kBlockBytes, what);
  core::read_all_at(file, block.data(), block.size(), offset, what);
  cipher.decrypt({.in = block.data(), .out = block.data(), .bytes = kBlockBytes, .iv = &iv});
  return block;
}

// Returns the offset of the last block; nothing if the size is not one of AES-CBC.
std::optional<std::uint64_t> last_block_of(const Request& request, const core::Descriptor& file) {
  struct stat status {};
  if (!file.valid() || fstat(file.get(), &status) != 0) return std::nullopt;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  const std::size_t least = request.fixed_iv ? kBlockBytes : 2 * kBlockBytes;
  if (!S_ISREG(status.st_mode) || bytes < least || bytes % kBlockBytes != 0) return std::nullopt;
  return bytes - kBlockBytes;
}

struct Tried {
  std::size_t files = 0, legal = 0;
  std::uint64_t offset = 0;  // of the last one's last block
};

Tried try_endings(const Request& request, const Tree& tree, int root) {
  crypto::CbcCipher cipher(key_of(request), crypto::Engine::openssl);
  DirectoryOpener directories(tree, root, false);
  Tried tried;
  const std::size_t step = std::max<std::size_t>(1, tree.files.size() / kFilesTried);
  for (std::size_t i = 0; i < tree.files.size() && tried.files < kFilesTried; i += step) {
    const TreeFile& file = tree.files[i];
    try {
      const char* const name = tree.name(file.name_at);
      const core::Descriptor opened = open_entry(directories.open(file.directory)->get(), name);
      const std::optional<std::uint64_t> last = last_block_of(request, opened);
      if (!last) continue;
      const crypto::Block plain = decrypt_block(cipher, request, opened.get(), *last, name);
      ++tried.files;
      tried.legal += crypto::unpad_pkcs7(plain) >= 0;
      tried.offset = *last;
    } catch (const core::SystemError&) {
      continue;  // it is told when its turn comes
    }
  }
  return tried;
}

}  // namespace

CbcFormat::CbcFormat(const JobState& job, std::function<Upcoming()> upcoming)
    : encrypts_(job.request.encrypts()),
      upcoming_(std::move(upcoming)),
      cipher_(key_of(job.request), job.engine),
      slice_(std::max(kSliceBytes, kPartBytes / cipher_.lanes())),
      device_(job.device) {
  if (device_ != nullptr) open_slot(key_of(job.request));
  if (!slot_) buffer_.reserve((cipher_.lanes() + 1) * (slice_ + kLaneGap));
}

void CbcFormat::prepare(FileTask& task) {
  auto& cbc = static_cast<CbcTask&>(task);
  encrypts_ ? prepare_to_encrypt(cbc) : prepare_to_decrypt(cbc);
}

// When encrypting, a whole file: in it each block needs the one before.
Range CbcFormat::cut(const FileTask& task, const Unit& unit, std::uint64_t piece_bytes) const {
  return range_of(unit, piece_bytes, 1, static_cast<const CbcTask&>(task).bytes());
}

void CbcFormat::work(const std::shared_ptr<FileTask>& task, const Range& range) {
  auto cbc = std::static_pointer_cast<CbcTask>(task);
  if (!encrypts_) return task->do_piece([&] { decrypt(*cbc, range.first, range.count); });
  open_.push_back({.task = std::move(cbc)});
  while (!takes_more()) encrypt_slices();
}

void CbcFormat::finish() {
  while (!open_.empty()) encrypt_slices();
}

bool CbcFormat::takes_more() const {
  OpenChains open{.files = open_.size()};
  for (const OpenFile& file : open_) open.bytes_left += file.left();
  const Upcoming next = upcoming_();
  if (next.large_bytes == 0) return open.files < lanes();
  return takes_chain(open, next.large_bytes, next.share, lanes());
}

void CbcFormat::open_slot(std::span<const std::byte> key) {
  try {
    const std::size_t lane = kSliceBytes + 2 * kDeviceGap;
    auto slot =
        std::make_unique<crypto::DeviceSlot>(*device_, (device_->chains_per_slot() + 1) * lane);
    slot->set_key(key);
    slot_ = std::move(slot);
  } catch (const device::DeviceError& error) {
    device_->note_failure(error);
  }
}

void CbcFormat::prepare_to_encrypt(CbcTask& task) {
  task.bytes_ = task.in_bytes();
  const std::uint64_t expected = stored_iv_bytes(task) + padded(task.bytes_);
  if (!task.open_output(expected, expected, [&](int out) { return is_encrypted(task, out); }))
    return;
  if (task.job().request.fixed_iv) {
    task.iv_ = *task.job().request.fixed_iv;
  } else {
    crypto::fill_random(task.iv_);
  }
}

// Whether an output's first and last block are those of the input with this key.
bool CbcFormat::is_encrypted(CbcTask& task, int output) {
  const Request& request = task.job().request;
  for (const std::uint64_t at : {std::uint64_t{0}, padded(task.bytes_) - kBlockBytes}) {
    crypto::Block plain;
    const std::size_t size =
        core::read_all_at(task.in(), plain.data(), plain.size(), at, task.path());
    if (size < kBlockBytes) crypto::pad_pkcs7(plain.data(), size);
    if (decrypt_block(cipher_, request, output, stored_iv_bytes(task) + at, task.path()) != plain) {
      return false;
    }
  }
  return true;
}

// Whether an output has the size and the end that the last blocks of the input give.
bool CbcFormat::ends_like(CbcTask& task, int output) {
  const std::uint64_t padding = task.bytes_ - kBlockBytes;
  const std::size_t full = padding == 0 ? 0 : kBlockBytes;  // bytes of the block before, if any
  std::array<std::byte, 2 * kBlockBytes> end;
  for (std::size_t i = 0; i <= full; i += kBlockBytes) {
    const crypto::Block block =
        decrypt_block(cipher_, task.job().request, task.in(),
                      stored_iv_bytes(task) + padding - full + i, task.path());
    std::ranges::copy(block, end.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const std::ptrdiff_t size = crypto::unpad_pkcs7(std::span(end).first(full + kBlockBytes));
  if (size < 0) return false;  // told when the file is opened
  // One byte more than there should be shows a file that is too long.
  std::array<std::byte, 2 * kBlockBytes + 1> there;
  const std::size_t got = core::read_all_at(
      output, there.data(), static_cast<std::size_t>(size) + 1, padding - full, task.path());
  return got == static_cast<std::size_t>(size) &&
         std::equal(end.begin(), end.begin() + size, there.begin());
}

void CbcFormat::read_slice(OpenFile& file, std::size_t slice) {
  CbcTask& task = *file.task;
  if (task.job().stop) throw Stopped();
  const std::uint64_t left = file.left();
  file.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(slice, left));
  file.last = left < slice;  // a full last slice has its padding in a slice of its own
  task.read(file.slice, file.bytes, file.done);
  task.job().bytes_done += file.bytes;
  // What lies between slices goes to a device and back with them.
  std::ranges::copy(task.iv_, file.slice - kBlockBytes);
  std::ranges::copy(task.iv_, file.out - kBlockBytes);
  if (file.last) file.bytes = crypto::pad_pkcs7(file.slice, file.bytes);
}

// With a stored IV, each write begins a block before the slice: first with the IV, then with the
// last block of the slice before, which is the next one's IV. So reads and writes begin at pages; a
// page that is written in two parts costs far more.
void CbcFormat::write_slice(OpenFile& file) {
  if (stored_iv_bytes(*file.task) == 0) {
    file.task->write(file.out, file.bytes, file.done);
  } else {
    const std::size_t held_back = file.last ? 0 : kBlockBytes;
    file.task->write(file.out - kBlockBytes, kBlockBytes + file.bytes - held_back, file.done);
  }
  file.done += file.bytes;
}

// Those with the most left, so that all end together and no lane is empty before.
void CbcFormat::encrypt_slices() {
  const std::size_t n = std::min(open_.size(), lanes());
  std::ranges::nth_element(open_, open_.begin() + static_cast<std::ptrdiff_t>(n), std::greater<>{},
                           &OpenFile::left);
  encrypt_slices(std::span(open_).first(n));
  std::erase_if(open_, [](const OpenFile& file) { return file.last; });
}

void CbcFormat::encrypt_slices(std::span<OpenFile> files) {
  const auto attempt = [](OpenFile& file, const auto& step) {
    try {
      step();
    } catch (const std::exception& error) {
      file.task->fail(error);
      file.bytes = 0;
      file.last = true;
    }
  };
  std::byte* const in = slot_ ? slot_->in().data() : buffer_.data();
  std::byte* const out = slot_ ? slot_->out().data() : in;
  const std::size_t slice = slot_ ? device_slice(lanes(), files.size()) : slice_;
  std::size_t at = slot_ ? kDeviceGap : kLaneGap;
  std::vector<crypto::ChainPiece> pieces;
  for (OpenFile& file : files) {
    file.slice = in + at;
    file.out = out + at;
    attempt(file, [&] { read_slice(file, slice); });
    pieces.push_back({file.slice, file.out, file.bytes, &file.task->iv_});
    at += slot_ ? (file.bytes + 2 * kDeviceGap - 1) / kDeviceGap * kDeviceGap : slice + kLaneGap;
  }
  // What the device has not done is still there as it was read.
  const bool done = slot_ && slot_->attempt([&] { slot_->encrypt(pieces); });
  if (!done) cipher_.encrypt(pieces);
  for (OpenFile& file : files) {
    if (!file.task->failed()) attempt(file, [&] { write_slice(file); });
    if (file.last) file.task->end_piece();
  }
}

void CbcFormat::prepare_to_decrypt(CbcTask& task) {
  const std::uint64_t stored = stored_iv_bytes(task);
  const std::uint64_t bytes = task.in_bytes();
  if (bytes < stored + kBlockBytes || bytes % kBlockBytes != 0) {
    throw DamageError("its size is not one that AES-CBC gives; it was cut or is not encrypted",
                      bytes);
  }
  if (stored == 0) {
    task.iv_ = *task.job().request.fixed_iv;
  } else {
    task.read(task.iv_.data(), kBlockBytes, 0);
  }
  task.bytes_ = bytes - stored;
  if (task.open_output(task.bytes_ - kBlockBytes, task.bytes_ - 1,
                       [&](int there) { return ends_like(task, there); })) {
    task.presize(task.bytes_ - kBlockBytes);
  }
}

void CbcFormat::decrypt(CbcTask& task, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t end = std::min(task.bytes_, first + count);
  crypto::Block iv = task.iv_;
  if (first > 0 && first < end) {
    task.read(iv.data(), kBlockBytes, stored_iv_bytes(task) + first - kBlockBytes);
  }
  buffer_.reserve(kPartBytes);
  for (std::uint64_t at = first; at < end; at += kPartBytes) {
    if (task.job().stop || task.failed()) throw Stopped();
    decrypt_group(task, at, static_cast<std::size_t>(std::min<std::uint64_t>(kPartBytes, end - at)),
                  iv);
  }
}

void CbcFormat::decrypt_group(CbcTask& task, std::uint64_t first, std::size_t bytes,
                              crypto::Block& iv) {
  const std::uint64_t stored = stored_iv_bytes(task);
  std::byte* const group = buffer_.data();
  task.read(group, bytes, stored + first);
  cipher_.decrypt({.in = group, .out = group, .bytes = bytes, .iv = &iv});
  std::size_t plain = bytes;
  if (first + bytes == task.bytes_) {
    const std::ptrdiff_t unpadded = crypto::unpad_pkcs7({group, bytes});
    if (unpadded < 0) {
      throw DamageError("the padding is not legal: another key, or the file was changed",
                        stored + first + bytes - kBlockBytes);
    }
    plain = static_cast<std::size_t>(unpadded);
  }
  if (task.writes()) task.write(group, plain, first);
  task.job().bytes_done += bytes;
}

void require_cbc_key_may_fit(const Request& request, const Tree& tree, int root) {
  const Tried tried = try_endings(request, tree, root);
  if (4 * tried.legal >= tried.files) return;
  if (tree.files.size() == 1) {
    throw core::Error(
        "{}: at byte {}: the padding is not legal: wrong key, or the file was changed "
        "(nothing was written)",
        tree.path(tree.files.front()), tried.offset);
  }
  throw core::Error(
      "wrong key, or most files were changed: of {} files tried, the padding is legal "
      "in {} (nothing was written)",
      tried.files, tried.legal);
}

}  // namespace tabane::encrypt
