#include "tabane/workloads/aes_dir/copy_speed.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/workloads/aes_dir/output_file.h"
#include "tabane/workloads/aes_dir/page_buffer.h"
#include "tabane/workloads/aes_dir/sealed_format.h"

namespace tabane::workloads::aes_dir {
namespace {

constexpr std::uint64_t kFairBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kFairFiles = 4096;
constexpr std::uint64_t kOnePart = 100;
constexpr std::uint64_t kMostParts = 256;  // all stay open until the clock has stopped

struct Part {
  std::uint32_t file;
  std::uint64_t offset, bytes;
};

// Every n-th file; of a few large ones, a part of each.
std::vector<Part> choose_parts(const Tree& tree, unsigned threads) {
  const std::uint64_t files = tree.files.size();
  const std::uint64_t count = std::clamp<std::uint64_t>(
      files / kOnePart, threads, std::max<std::uint64_t>(kMostParts, threads));
  const std::uint64_t most =
      std::max<std::uint64_t>(std::uint64_t{1} << 20, tree.bytes() / kOnePart / count);
  std::vector<Part> parts;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint32_t>(i * files / count);
    const std::uint64_t bytes = tree.files[index].bytes;
    const std::uint64_t part = std::min(bytes, most);
    parts.push_back({index, (bytes - part) / count * i, part});
  }
  return parts;
}

constexpr std::size_t kBufferBytes = std::size_t{128} << 10;

// A thread's buffers. What is written is random: the temporary copies must hold nothing that anyone
// wants to keep secret, whatever becomes of them.
struct Buffers {
  Buffers() {
    in.reserve(kBufferBytes);
    random.reserve(kBufferBytes);
    fill_random({random.data(), kBufferBytes});
  }
  PageBuffer in, random;
};

void copy_part(int in, int out, Part part, Buffers& buffers) {
  for (std::uint64_t at = 0; at < part.bytes;) {
    const auto want =
        static_cast<std::size_t>(std::min<std::uint64_t>(part.bytes - at, kBufferBytes));
    const std::size_t got =
        core::read_all_at(in, buffers.in.data(), want, part.offset + at, "a copy");
    if (got == 0) return;
    core::write_all_at(out, buffers.random.data(), got, at, "a copy");
    at += got;
  }
}

std::unique_ptr<OutputFile> copy_one(const Tree& tree, DirectoryOpener& directories,
                                     const core::SharedDescriptor& to, Part part,
                                     Buffers& buffers) {
  const TreeFile& file = tree.files[part.file];
  const core::SharedDescriptor from = directories.open(file.directory);
  const core::Descriptor in(
      openat(from->get(), tree.name(file.name_at), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!in.valid()) throw core::SystemError("open", tree.path(file), errno);
  auto out = std::make_unique<OutputFile>(to, "a copy", 0600);
  copy_part(in.get(), out->fd(), part, buffers);
  return out;
}

}  // namespace

std::optional<CopySpeed> measure_copy_speed(const Tree& tree, int in_root, int to,
                                            unsigned threads) {
  if (tree.bytes() < kFairBytes && tree.files.size() < kFairFiles) return std::nullopt;
  const std::vector<Part> parts = choose_parts(tree, threads);
  const auto target = std::make_shared<const core::Descriptor>(fcntl(to, F_DUPFD_CLOEXEC, 0));
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::barrier together(static_cast<std::ptrdiff_t>(threads) + 1);
  std::vector<std::jthread> copiers;
  const auto work = [&] {
    DirectoryOpener directories(tree, in_root, false);
    Buffers buffers;
    std::vector<std::unique_ptr<OutputFile>> copies;  // removing them is not part of copying
    together.arrive_and_wait();
    try {
      for (std::size_t i; (i = next++) < parts.size();) {
        copies.push_back(copy_one(tree, directories, target, parts[i], buffers));
      }
    } catch (const std::exception&) {
      failed = true;
    }
    together.arrive_and_wait();
  };
  try {
    while (copiers.size() < threads) copiers.emplace_back(work);
  } catch (const std::system_error&) {
    failed = true;  // no more threads here: those that wait are let go
    for (std::size_t missing = threads - copiers.size(); missing > 0; --missing) {
      together.arrive_and_drop();
    }
  }
  together.arrive_and_wait();
  const auto start = std::chrono::steady_clock::now();
  together.arrive_and_wait();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (failed || seconds <= 0) return std::nullopt;
  double bytes = 0;
  for (const Part& part : parts) bytes += static_cast<double>(part.bytes);
  return CopySpeed{bytes / seconds, static_cast<double>(parts.size()) / seconds};
}

}  // namespace tabane::workloads::aes_dir
