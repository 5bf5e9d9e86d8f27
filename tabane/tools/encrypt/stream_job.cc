// A job on standard input, whose size nobody knows before its end.
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "tabane/core/output_file.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/chunk_stream.h"
#include "tabane/tools/encrypt/job.h"
#include "tabane/tools/encrypt/outputs.h"
#include "tabane/tools/encrypt/places.h"
#include "tabane/tools/encrypt/run_keys.h"

namespace tabane::encrypt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kInput = "standard input";
constexpr std::size_t kVersionAt = 7;  // in the header

class StandardInput {
 public:
  explicit StandardInput(const Hooks& hooks) : hooks_(hooks) {
    struct stat status {};
    if (fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return;
    const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    total_ = static_cast<std::uint64_t>(std::max<off_t>(0, status.st_size - at));
  }

  // Fills the bytes as far as there are any. throws: core::SystemError; Stopped.
  std::size_t read(std::span<std::byte> place) {
    std::size_t there = 0;
    while (there < place.size()) {
      wait();
      const ssize_t got = ::read(STDIN_FILENO, place.data() + there, place.size() - there);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) throw core::SystemError("read", kInput, errno);
      if (got == 0) break;
      there += static_cast<std::size_t>(got);
    }
    bytes_ += there;
    report();
    return there;
  }

  std::uint64_t bytes() const { return bytes_; }

 private:
  // A writer that says nothing for long does not keep the job from stopping.
  void wait() const {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    do {
      if (hooks_.stop_requested()) throw Stopped();
    } while (poll(&input, 1, 100) <= 0);
  }

  // Of a pipe nobody knows how much is to come.
  void report() {
    if (total_ == 0 || Clock::now() - reported_ < std::chrono::milliseconds(100)) return;
    reported_ = Clock::now();
    hooks_.progress({.files = 0, .bytes = bytes_, .files_total = 1, .bytes_total = total_});
  }

  const Hooks& hooks_;
  std::uint64_t bytes_ = 0, total_ = 0;
  Clock::time_point reported_ = Clock::now();
};

// A file under a temporary name, a stream, or nothing when verifying.
class Output {
 public:
  Output(const Request& request, const Places& places, JobReport& outcome) : request_(request) {
    if (request.direction == Direction::verify) return;
    if (places.stream) {
      stream_ = core::open_stream(*places.stream);
      return;
    }
    // No manifest vouches for more than the owner's permissions.
    const mode_t mode = request.direction == Direction::decrypt ? 0600 : 0666;
    directory_ = std::make_shared<core::Descriptor>(
        open_output_root(places.out_path, false, request.out).directory);
    if (request.force) {
      outcome.leftovers_removed =
          remove_leftovers_beside(places.trees.tree, places.in_root.get(), directory_->get());
    }
    file_.emplace(directory_, places.output_name, mode);
  }

  void write(std::span<const std::byte> bytes) {
    const int to = file_ ? file_->fd() : stream_.get();
    if (to >= 0) core::write_all(to, bytes.data(), bytes.size(), name());
  }

  // throws: core::SystemError for what a file system says only at the end.
  void finish() {
    if (file_) {
      file_->commit({.replace = request_.force, .fsync = request_.fsync});
    } else if (stream_.valid()) {
      finish_stream(stream_, request_.fsync, name());
    }
  }

 private:
  std::string name() const {
    return request_.out == kStandardStream ? "standard output" : request_.out;
  }

  const Request& request_;
  core::Descriptor stream_;
  core::SharedDescriptor directory_;
  std::optional<core::OutputFile> file_;
};

// Writes what is read by whole chunks, until one is not full.
void copy(std::size_t chunk, const auto& read, const auto& write) {
  crypto::PageBuffer buffer;
  buffer.reserve(chunk);
  const std::span place(buffer.data(), chunk);
  for (std::size_t there = chunk; there == chunk;) {
    there = read(place);
    write(place.first(there));
  }
}

void seal_input(const StreamSeal& seal, crypto::Engine engine, StandardInput& input,
                Output& output) {
  output.write(seal.header);
  ChunkWriter writer(
      seal.keys, seal.chunk_bytes, [&](std::span<const std::byte> all) { output.write(all); },
      engine);
  copy(
      seal.chunk_bytes, [&](std::span<std::byte> place) { return input.read(place); },
      [&](std::span<const std::byte> plain) { writer.put(plain); });
  writer.finish();
}

std::vector<std::byte> read_header(StandardInput& input) {
  std::vector<std::byte> header;
  const auto read_until = [&](std::size_t wanted) {
    const std::size_t before = header.size();
    header.resize(wanted);
    header.resize(before + input.read(std::span(header).subspan(before)));
  };
  read_until(kHeaderBytes);
  if (header.size() < kHeaderBytes || header[kVersionAt] != std::byte{2}) return header;
  read_until(kSlotsAt);
  if (header.size() == kSlotsAt) read_until(header_bytes(header));
  return header;
}

// throws: core::Error, which names the input.
StreamSeal open_header(StandardInput& input, KeyRing& keys) {
  try {
    const std::vector<std::byte> bytes = read_header(input);
    const Header header = decode_header(bytes);
    return {bytes, keys.keys_of(header, bytes), header.chunk_bytes()};
  } catch (const DamageError& error) {
    throw core::Error("{}: {}", kInput, error.what());
  }
}

// What was authenticated is written before the next chunk is looked at.
void open_input(const StreamSeal& seal, crypto::Engine engine, StandardInput& input,
                Output& output) {
  ChunkReader reader(
      seal.keys, seal.chunk_bytes, seal.header.size(),
      [&](std::span<std::byte> place) { return input.read(place); }, engine);
  copy(
      seal.chunk_bytes, [&](std::span<std::byte> place) { return reader.get(place); },
      [&](std::span<const std::byte> plain) { output.write(plain); });
}

void work(const Request& request, const Places& places, const Hooks& hooks, JobReport& outcome) {
  KeyRing keys = ring_of(request, hooks);
  StandardInput input(hooks);
  const bool seals = request.encrypts();
  const StreamSeal seal =
      seals ? fresh_seal(seal_of_new_tree(request, keys)) : open_header(input, keys);
  const auto from = Clock::now();
  Output output(request, places, outcome);
  try {
    (seals ? seal_input : open_input)(seal, outcome.engine, input, output);
    output.finish();
    outcome.files = 1;
    outcome.bytes = input.bytes();
  } catch (const DamageError& error) {
    outcome.failures.push_back({kInput, error.what()});
  }
  outcome.bytes_total = input.bytes();
  outcome.seconds = std::chrono::duration<double>(Clock::now() - from).count();
}

}  // namespace

JobReport run_stream(const Request& request, const Places& places, crypto::Engine engine,
                     const Hooks& hooks) {
  JobReport outcome;
  outcome.files_total = 1;
  outcome.threads = 1;
  outcome.engine = engine;
  try {
    work(request, places, hooks, outcome);
    outcome.complete = true;
  } catch (const Stopped&) {
    // What was written to a stream stays there; a file never got its name.
  }
  return outcome;
}

}  // namespace tabane::encrypt
