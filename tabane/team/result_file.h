// Carries results of varying size from the processes of a team to the caller: an anonymous file to
// which all append.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/team/fork.h"
#include "tabane/team/serialiser.h"

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

// Returns how many bytes of results may exist at once: what the caller allows, or half of the
// memory that the system and its control groups leave, because results exist twice when they
// arrive.
std::size_t most_result_bytes(const std::optional<std::size_t>& allowed);

// Returns n * each. throws: ResultError (ENOMEM) if that is more than may exist at once.
std::size_t bytes_of_results(std::size_t n, std::size_t each,
                             const std::optional<std::size_t>& allowed);

class ResultFile {
 public:
  // Must be constructed before the processes are forked. throws: core::SystemError.
  explicit ResultFile(std::size_t most_bytes);
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  // From any process and thread. throws: ResultError.
  void append(std::span<const std::byte> bytes);

  // Maps the file and calls take(key, bytes) for each result, in any order; a key may come twice.
  // Only when no process appends any more. throws: core::SystemError.
  void read_each(const std::function<void(std::size_t, std::span<const std::byte>)>& take);

  // throws: core::Error.
  [[noreturn]] static void throw_damaged();

 private:
  std::size_t most_bytes_;
  SharedBlock end_;
  int file_ = -1;
  void* map_ = nullptr;
  std::size_t mapped_ = 0;
};

// Collects the results of one worker and appends them in large pieces.
class ResultWriter {
 public:
  template <class R>
  void put(ResultFile& file, std::size_t key, const R& result) {
    const std::size_t begin = buffer_.size();
    try {
      buffer_.resize(begin + sizeof(Header));
      put_value(buffer_, result);
    } catch (const std::bad_alloc&) {
      throw_no_memory(begin);
    }
    seal(begin, key);
    if (buffer_.size() >= kFlushBytes) flush(file);
  }
  void flush(ResultFile& file);

 private:
  friend class ResultFile;
  struct Header {
    std::uint64_t key, bytes;
  };
  static constexpr std::size_t kFlushBytes = std::size_t{256} << 10;
  void seal(std::size_t begin, std::size_t key);
  [[noreturn]] static void throw_no_memory(std::size_t buffered);

  Bytes buffer_;
};

// The way of results from the workers of a run to the caller, who constructs this. Nothing comes
// this way from workers in the calling process.
class ReturnedResults {
 public:
  // most_bytes: of each run; default as most_result_bytes().
  explicit ReturnedResults(std::optional<std::size_t> most_bytes) : most_bytes_(most_bytes) {}

  // Drops what a run that failed has left. throws: core::SystemError.
  void begin_run(std::size_t workers, bool forked);
  bool forked() const { return file_.has_value(); }

  // On a worker, by Worker::index. throws: ResultError.
  template <class R>
  void put(int worker, std::size_t key, const R& result) {
    writers_[static_cast<std::size_t>(worker)].put(*file_, key, result);
  }
  void flush(int worker);

  // After a run: calls take_one(key, in) for each result. throws: as ResultFile::read_each().
  void take(const std::function<void(std::size_t, Reader&)>& take_one);

 private:
  std::optional<std::size_t> most_bytes_;
  std::optional<ResultFile> file_;
  std::vector<ResultWriter> writers_;
};

}  // namespace tabane::team
