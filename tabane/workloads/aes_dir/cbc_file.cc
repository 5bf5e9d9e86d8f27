#include "tabane/workloads/aes_dir/cbc_file.h"

#include <algorithm>
#include <vector>

#include "tabane/core/file.h"

namespace tabane::workloads::aes_dir {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;  // half of a usual second-level cache
// Between two lanes' buffers: at the same distance from a page's start, they would all want the
// same few places of the first-level cache.
constexpr std::size_t kLaneGap = 192;

std::uint64_t stored_iv_bytes(const FileTask& task) {
  return task.job().request.fixed_iv ? 0 : kBlockBytes;
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes / kBlockBytes + 1) * kBlockBytes; }

}  // namespace

// A file on its way through one lane: buffer = the IV, then the slice with room for its padding.
struct CbcFileWorker::Lane {
  std::shared_ptr<CbcTask> task;
  std::byte* buffer;
  std::uint64_t done = 0;  // plain bytes
  std::size_t bytes = 0;   // of this slice, padded at the end
  bool last = false;

  std::byte* slice() const { return buffer + kBlockBytes; }
};

CbcFileWorker::CbcFileWorker(std::span<const std::byte> key, Engine engine)
    : cipher_(key, engine), slice_(kBufferBytes / cipher_.lanes()) {
  buffer_.reserve(kLaneGap + cipher_.lanes() * (slice_ + 2 * kBlockBytes + kLaneGap));
}

std::byte* CbcFileWorker::lane_buffer(std::size_t lane) {
  return buffer_.data() + kLaneGap + lane * (slice_ + 2 * kBlockBytes + kLaneGap);
}

void CbcFileWorker::prepare_to_encrypt(CbcTask& task) {
  task.bytes_ = task.in_bytes();
  const std::uint64_t expected = stored_iv_bytes(task) + padded(task.bytes_);
  if (!task.open_output(expected, expected, [&](int out) { return is_encrypted(task, out); }))
    return;
  if (task.job().request.fixed_iv) {
    task.iv_ = *task.job().request.fixed_iv;
  } else {
    fill_random(task.iv_);
  }
}

// Decrypts the block at an offset behind the stored IV. iv: of the file.
Block CbcFileWorker::decrypt_block(int file, Block iv, std::uint64_t stored, std::uint64_t at,
                                   const std::string& what) {
  Block block{};
  if (at > 0) core::read_all_at(file, iv.data(), iv.size(), stored + at - kBlockBytes, what);
  core::read_all_at(file, block.data(), block.size(), stored + at, what);
  cipher_.decrypt({.in = block.data(), .out = block.data(), .bytes = kBlockBytes, .iv = &iv});
  return block;
}

// Whether an output's first and last block are those of the input with this key.
bool CbcFileWorker::is_encrypted(CbcTask& task, int output) {
  const std::uint64_t stored = stored_iv_bytes(task);
  Block iv{};
  if (stored == 0) {
    iv = *task.job().request.fixed_iv;
  } else {
    core::read_all_at(output, iv.data(), iv.size(), 0, task.path());
  }
  for (const std::uint64_t at : {std::uint64_t{0}, padded(task.bytes_) - kBlockBytes}) {
    Block plain;
    const std::size_t size =
        core::read_all_at(task.in(), plain.data(), plain.size(), at, task.path());
    if (size < kBlockBytes) pad_pkcs7(plain.data(), size);
    if (decrypt_block(output, iv, stored, at, task.path()) != plain) return false;
  }
  return true;
}

// Whether an output has the size and the end that the last blocks of the input give.
bool CbcFileWorker::ends_like(CbcTask& task, int output) {
  const std::uint64_t stored = stored_iv_bytes(task), padding = task.bytes_ - kBlockBytes;
  const std::size_t full = padding == 0 ? 0 : kBlockBytes;  // bytes of the block before, if any
  std::array<std::byte, 2 * kBlockBytes> end;
  for (std::size_t i = 0; i <= full; i += kBlockBytes) {
    const Block block = decrypt_block(task.in(), task.iv_, stored, padding - full + i, task.path());
    std::ranges::copy(block, end.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const std::ptrdiff_t size = unpad_pkcs7(std::span(end).first(full + kBlockBytes));
  if (size < 0) return false;  // told when the file is opened
  // One byte more than there should be shows a file that is too long.
  std::array<std::byte, 2 * kBlockBytes + 1> there;
  const std::size_t got = core::read_all_at(
      output, there.data(), static_cast<std::size_t>(size) + 1, padding - full, task.path());
  return got == static_cast<std::size_t>(size) &&
         std::equal(end.begin(), end.begin() + size, there.begin());
}

void CbcFileWorker::read_slice(Lane& lane) {
  CbcTask& task = *lane.task;
  if (task.job().stop) throw Stopped();
  const std::uint64_t left = task.bytes_ - lane.done;
  lane.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(slice_, left));
  lane.last = left < slice_;  // a full last slice has its padding in a slice of its own
  if (core::read_all_at(task.in(), lane.slice(), lane.bytes, lane.done, task.path()) !=
      lane.bytes) {
    throw ChangedWhileRead();
  }
  task.job().bytes_done += lane.bytes;
  if (lane.done == 0) std::ranges::copy(task.iv_, lane.buffer);
  if (lane.last) lane.bytes = pad_pkcs7(lane.slice(), lane.bytes);
}

void CbcFileWorker::write_slice(Lane& lane) {
  const std::uint64_t stored = stored_iv_bytes(*lane.task);
  // The IV goes with the first slice: small files take one system call.
  const std::size_t in_front = lane.done == 0 ? static_cast<std::size_t>(stored) : 0;
  const std::uint64_t offset = lane.done == 0 ? 0 : stored + lane.done;
  lane.task->write(lane.slice() - in_front, in_front + lane.bytes, offset);
  lane.done += lane.bytes;
}

void CbcFileWorker::encrypt(const std::function<std::shared_ptr<CbcTask>()>& next) {
  std::vector<Lane> lanes;
  std::vector<std::byte*> free;
  for (std::size_t i = cipher_.lanes(); i-- > 0;) {
    free.push_back(lane_buffer(i));
  }
  const auto attempt = [](Lane& lane, const auto& step) {
    try {
      step();
    } catch (const std::exception& error) {
      lane.task->fail(error);
      lane.bytes = 0;
      lane.last = true;
    }
  };
  std::vector<ChainPiece> pieces;
  for (;;) {
    // Asked again where there was none: a file that changed is to be done once more.
    while (!free.empty()) {
      std::shared_ptr<CbcTask> task = next();
      if (!task) break;
      lanes.push_back({.task = std::move(task), .buffer = free.back()});
      free.pop_back();
    }
    if (lanes.empty()) return;
    pieces.clear();
    for (Lane& lane : lanes) {
      attempt(lane, [&] { read_slice(lane); });
      pieces.push_back({lane.slice(), lane.slice(), lane.bytes, &lane.task->iv_});
    }
    cipher_.encrypt(pieces);
    for (Lane& lane : lanes) {
      if (!lane.task->failed()) attempt(lane, [&] { write_slice(lane); });
      if (!lane.last) continue;
      lane.task->end_piece();
      free.push_back(lane.buffer);
    }
    std::erase_if(lanes, [](const Lane& lane) { return lane.last; });
  }
}

void CbcFileWorker::prepare_to_decrypt(CbcTask& task) {
  const std::uint64_t stored = stored_iv_bytes(task);
  const std::uint64_t bytes = task.in_bytes();
  if (bytes < stored + kBlockBytes || bytes % kBlockBytes != 0) {
    throw DamageError("its size is not one that AES-CBC gives; it was cut or is not encrypted",
                      bytes);
  }
  if (stored == 0) {
    task.iv_ = *task.job().request.fixed_iv;
  } else if (core::read_all_at(task.in(), task.iv_.data(), kBlockBytes, 0, task.path()) !=
             kBlockBytes) {
    throw ChangedWhileRead();
  }
  task.bytes_ = bytes - stored;
  task.open_output(task.bytes_ - kBlockBytes, task.bytes_ - 1,
                   [&](int there) { return ends_like(task, there); });
}

void CbcFileWorker::decrypt(CbcTask& task, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t end = std::min(task.bytes_, first + count);
  Block iv = task.iv_;
  if (first > 0 && first < end) {
    const std::uint64_t before = stored_iv_bytes(task) + first - kBlockBytes;
    if (core::read_all_at(task.in(), iv.data(), kBlockBytes, before, task.path()) != kBlockBytes) {
      throw ChangedWhileRead();
    }
  }
  buffer_.reserve(kBufferBytes);
  for (std::uint64_t at = first; at < end; at += kBufferBytes) {
    if (task.job().stop || task.failed()) throw Stopped();
    decrypt_group(task, at,
                  static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes, end - at)), iv);
  }
}

void CbcFileWorker::decrypt_group(CbcTask& task, std::uint64_t first, std::size_t bytes,
                                  Block& iv) {
  const std::uint64_t stored = stored_iv_bytes(task);
  std::byte* const group = buffer_.data();
  if (core::read_all_at(task.in(), group, bytes, stored + first, task.path()) != bytes) {
    throw ChangedWhileRead();
  }
  cipher_.decrypt({.in = group, .out = group, .bytes = bytes, .iv = &iv});
  std::size_t plain = bytes;
  if (first + bytes == task.bytes_) {
    const std::ptrdiff_t unpadded = unpad_pkcs7({group, bytes});
    if (unpadded < 0) {
      throw DamageError("the padding is not legal: another key, or the file was changed",
                        stored + first + bytes - kBlockBytes);
    }
    plain = static_cast<std::size_t>(unpadded);
  }
  if (task.writes()) task.write(group, plain, first);
  task.job().bytes_done += bytes;
}

}  // namespace tabane::workloads::aes_dir
