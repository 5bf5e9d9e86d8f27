#include "tabane/team/result_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "tabane/core/cgroup.h"

namespace tabane::team {
namespace {

std::atomic<std::uint64_t>& end_in(const SharedBlock& block) {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(block.data());
}

void check_result_bytes(std::size_t bytes, std::size_t most) {
  if (bytes <= most) return;
  throw ResultError("memory for results (at most " + std::to_string(most) + " bytes are allowed)",
                    std::to_string(bytes) + " bytes or more", ENOMEM);
}

}  // namespace

std::size_t most_result_bytes(const std::optional<std::size_t>& allowed) {
  if (allowed) return *allowed;
  const std::optional<double> available = core::usable_memory_bytes();
  return available ? static_cast<std::size_t>(*available / 2) : SIZE_MAX;
}

std::size_t bytes_of_results(std::size_t n, std::size_t each,
                             const std::optional<std::size_t>& allowed) {
  // Asking the system takes longer than an empty team; so little is always there.
  constexpr std::size_t kUnchecked = std::size_t{16} << 20;
  const std::size_t bytes = n > SIZE_MAX / each ? SIZE_MAX : n * each;
  if (allowed || bytes > kUnchecked) check_result_bytes(bytes, most_result_bytes(allowed));
  return bytes;
}

ResultFile::ResultFile(std::size_t most_bytes)
    : most_bytes_(most_bytes), end_(sizeof(std::atomic<std::uint64_t>), "shared memory of a team") {
  new (end_.data()) std::atomic<std::uint64_t>(0);
  file_ = memfd_create("tabane results", MFD_CLOEXEC);
  if (file_ < 0) throw core::SystemError("memfd_create", "the results of a team", errno);
}

ResultFile::~ResultFile() {
  if (map_ != nullptr) munmap(map_, mapped_);
  close(file_);
}

void ResultFile::append(std::span<const std::byte> bytes) {
  std::uint64_t place = end_in(end_).fetch_add(bytes.size());
  check_result_bytes(place + bytes.size(), most_bytes_);
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      throw ResultError("pwrite", "the results of a team", written < 0 ? errno : ENOSPC);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    place += static_cast<std::uint64_t>(written);
  }
}

void ResultFile::read_each(
    const std::function<void(std::size_t, std::span<const std::byte>)>& take) {
  mapped_ = end_in(end_).load();
  if (mapped_ == 0) return;
  map_ = mmap(nullptr, mapped_, PROT_READ, MAP_SHARED, file_, 0);
  if (map_ == MAP_FAILED) {
    map_ = nullptr;
    throw core::SystemError("mmap", std::to_string(mapped_) + " bytes of the results of a team",
                            errno);
  }
  Reader in({static_cast<const std::byte*>(map_), mapped_});
  while (!in.empty()) {
    const auto header = get_value<ResultWriter::Header>(in);
    take(header.key, in.take(header.bytes));
  }
}

void ResultFile::throw_damaged() { throw core::Error("the results of a team are damaged"); }

void ResultWriter::throw_no_memory(std::size_t buffered) {
  throw ResultError("memory for results",
                    "a result of a team, behind " + std::to_string(buffered) + " bytes of others",
                    ENOMEM);
}

void ReturnedResults::begin_run(std::size_t workers, bool forked) {
  file_.reset();
  writers_.clear();
  if (!forked) return;
  file_.emplace(most_result_bytes(most_bytes_));
  writers_.resize(workers);
}

void ReturnedResults::flush(int worker) {
  if (file_) writers_[static_cast<std::size_t>(worker)].flush(*file_);
}

void ReturnedResults::take(const std::function<void(std::size_t, Reader&)>& take_one) {
  if (!file_) return;
  file_->read_each([&](std::size_t key, std::span<const std::byte> bytes) {
    Reader in(bytes);
    take_one(key, in);
  });
  file_.reset();
}

void ResultWriter::seal(std::size_t begin, std::size_t key) {
  const Header header{key, buffer_.size() - begin - sizeof(Header)};
  std::memcpy(buffer_.data() + begin, &header, sizeof(Header));
}

void ResultWriter::flush(ResultFile& file) {
  if (buffer_.empty()) return;
  file.append(buffer_);
  buffer_.clear();
}

}  // namespace tabane::team
