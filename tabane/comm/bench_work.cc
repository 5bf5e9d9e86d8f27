#include "tabane/comm/bench_work.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::bench {
namespace {

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Turns::Turns(const std::string& path, int ranks) : ranks_(ranks) {
  const core::Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.valid()) throw core::SystemError("open", path, errno);
  void* const memory = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) throw core::SystemError("mmap", path, errno);
  shared_ = static_cast<Shared*>(memory);
}

Turns::~Turns() { munmap(shared_, kFileBytes); }

void Turns::begin(std::string_view verb, std::uint64_t count) {
  if (verb.size() >= sizeof shared_->verb) throw core::Error("too long a request");
  std::memset(shared_->verb, 0, sizeof shared_->verb);
  std::memcpy(shared_->verb, verb.data(), verb.size());
  shared_->count = count;
  shared_->number.store(++number_);
  wake_all(shared_->number);
}

void Turns::wait_for_others() {
  const std::uint32_t all = number_ * static_cast<std::uint32_t>(ranks_ - 1);
  for (std::uint32_t done; (done = shared_->done.load()) != all;) sleep_while(shared_->done, done);
}

Turns::Request Turns::next() {
  while (shared_->number.load() == number_) sleep_while(shared_->number, number_);
  ++number_;  // rank 0 waits for all before the request after this one
  return {shared_->verb, shared_->count};
}

void Turns::done() {
  const std::uint32_t all = number_ * static_cast<std::uint32_t>(ranks_ - 1);
  if (shared_->done.fetch_add(1) + 1 == all) wake_all(shared_->done);
}

}  // namespace tabane::bench
