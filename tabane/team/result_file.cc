#include "tabane/team/result_file.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <memory>

#include "tabane/core/cgroup.h"
#include "tabane/core/file.h"

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

std::size_t most_result_bytes(const std::optional<std::size_t>& allowed) {
  if (allowed) return *allowed;
  const std::optional<double> available = core::usable_memory_bytes();
  return available ? static_cast<std::size_t>(*available / 2) : SIZE_MAX;
}

}  // namespace

std::size_t bytes_of_results(std::size_t n, std::size_t each,
                             const std::optional<std::size_t>& allowed) {
  // Asking the system takes longer than an empty team; so little is always there.
  constexpr std::size_t kUnchecked = std::size_t{16} << 20;
  const std::size_t bytes = n > SIZE_MAX / each ? SIZE_MAX : n * each;
  if (allowed || bytes > kUnchecked) check_result_bytes(bytes, most_result_bytes(allowed));
  return bytes;
}

void ReturnedResults::begin_run(std::size_t workers, bool forked) {
  file_.reset();
  buffers_.clear();
  if (!forked) return;
  most_bytes_ = most_result_bytes(allowed_bytes_);
  end_.emplace(sizeof(std::atomic<std::uint64_t>), "shared memory of a team");
  const int file = memfd_create("tabane results", MFD_CLOEXEC);
  if (file < 0) throw core::SystemError("memfd_create", "the results of a team", errno);
  file_ = std::make_shared<core::Descriptor>(file);
  buffers_.resize(workers);
}

void ReturnedResults::flush(int worker) {
  if (!forked()) return;
  Bytes& buffer = buffers_[static_cast<std::size_t>(worker)];
  if (buffer.empty()) return;
  const std::uint64_t place = end_in(*end_).fetch_add(buffer.size());
  check_result_bytes(place + buffer.size(), most_bytes_);
  constexpr const char* kWhat = "the results of a team";
  try {
    core::write_all_at(file_->get(), buffer.data(), buffer.size(), place, kWhat);
  } catch (const core::SystemError& error) {
    throw ResultError("pwrite", kWhat, error.code());
  }
  buffer.clear();
}

void ReturnedResults::take(const std::function<void(std::size_t, Reader&)>& take_one) {
  if (!forked()) return;
  const std::shared_ptr<core::Descriptor> file = std::move(file_);
  const std::size_t bytes = end_in(*end_).load();
  if (bytes == 0) return;
  void* const map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file->get(), 0);
  if (map == MAP_FAILED) {
    throw core::SystemError("mmap", std::to_string(bytes) + " bytes of the results of a team",
                            errno);
  }
  const auto unmap = [bytes](void* memory) { munmap(memory, bytes); };
  const std::unique_ptr<void, decltype(unmap)> unmapped_at_end(map, unmap);
  Reader in({static_cast<const std::byte*>(map), bytes});
  while (!in.empty()) {
    const auto header = get_value<Header>(in);
    Reader one(in.take(header.bytes));
    take_one(header.key, one);
  }
}

void ReturnedResults::throw_damaged() { throw core::Error("the results of a team are damaged"); }

void ReturnedResults::throw_no_memory(std::size_t buffered) {
  throw ResultError("memory for results",
                    "a result of a team, behind " + std::to_string(buffered) + " bytes of others",
                    ENOMEM);
}

}  // namespace tabane::team
