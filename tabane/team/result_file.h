// Carries results of varying size from the workers of a run to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/team/fork.h"
#include "tabane/team/serialiser.h"

namespace tabane::core {
class Descriptor;
}

namespace tabane::team {

// A result could not be returned.
class ResultError : public core::SystemError {
 public:
  ResultError(std::string call, std::string operand, int code)
      : SystemError(call, operand, code), call_(std::move(call)), operand_(std::move(operand)) {}
  const std::string& call() const { return call_; }
  const std::string& operand() const { return operand_; }

 private:
  std::string call_, operand_;
};

// Returns n * each. throws: ResultError (ENOMEM) if that is more than may exist at once: see
// TeamOptions::most_result_bytes.
std::size_t bytes_of_results(std::size_t n, std::size_t each,
                             const std::optional<std::size_t>& allowed);

// Constructed by the caller. The workers append to a file without a name; those in the calling
// process need none.
class ReturnedResults {
 public:
  // most_bytes: of each run; default as TeamOptions::most_result_bytes.
  explicit ReturnedResults(std::optional<std::size_t> most_bytes) : allowed_bytes_(most_bytes) {}

  // Before the processes are forked. Drops what a run that failed has left. throws:
  // core::SystemError.
  void begin_run(std::size_t workers, bool forked);
  bool forked() const { return file_ != nullptr; }

  // On a worker, by Worker::index. What it puts is appended in large pieces, and in flush(). throw:
  // ResultError.
  template <class R>
  void put(int worker, std::size_t key, const R& result) {
    Bytes& buffer = buffers_[static_cast<std::size_t>(worker)];
    const std::size_t begin = buffer.size();
    try {
      buffer.resize(begin + sizeof(Header));
      put_value(buffer, result);
    } catch (const std::bad_alloc&) {
      throw_no_memory(begin);
    }
    const Header header{key, buffer.size() - begin - sizeof(Header)};
    std::memcpy(buffer.data() + begin, &header, sizeof(Header));
    if (buffer.size() >= kFlushBytes) flush(worker);
  }
  void flush(int worker);

  // After a run, when all workers have ended: calls take_one(key, in) for each result, in any
  // order; a key may come twice. throws: core::SystemError.
  void take(const std::function<void(std::size_t, Reader&)>& take_one);

  // throws: core::Error.
  [[noreturn]] static void throw_damaged();

 private:
  struct Header {
    std::uint64_t key, bytes;
  };
  static constexpr std::size_t kFlushBytes = std::size_t{256} << 10;
  [[noreturn]] static void throw_no_memory(std::size_t buffered);

  std::optional<std::size_t> allowed_bytes_;
  std::size_t most_bytes_ = 0;              // of this run
  std::shared_ptr<core::Descriptor> file_;  // null: not forked
  std::optional<SharedBlock> end_;          // where the next piece is appended
  std::vector<Bytes> buffers_;              // by worker
};

}  // namespace tabane::team
