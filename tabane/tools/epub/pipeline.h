// Resources of one book on their way through memory: read in their order, worked on by any thread,
// several at a time, and written in their order.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/tools/epub/archive.h"
#include "tabane/tools/epub/deflate.h"
#include "tabane/tools/epub/new_archive.h"
#include "tabane/tools/epub/workers.h"
#include "tabane/tools/epub/xml_encryption.h"

namespace tabane::epub {

// Larger resources, plain or stored, are streamed by the thread of their book.
inline constexpr std::uint64_t kWholeBytes = std::uint64_t{16} << 20;

// What ends the work on a book when the user asks for it.
class Stopped : public core::Error {
 public:
  Stopped() : core::Error("stopped") {}
};

// What one thread works with.
struct Tools {
  // The cipher of a book; the same one as long as the book is the same. book: never reused.
  crypto::CbcCipher& cipher(std::uint64_t book, const Key& key);
  // Bytes of no content.
  std::span<std::byte> scratch(std::size_t bytes);

  Deflater deflater;

 private:
  std::unique_ptr<crypto::CbcCipher> cipher_;
  std::uint64_t book_ = 0;
  std::vector<std::byte> scratch_;
};

// What the books of a job share.
struct Job {
  explicit Job(unsigned threads, std::function<bool()> stop)
      : workers(threads), tools(threads), stop_requested(std::move(stop)) {}
  void go_on() const {  // throws: Stopped.
    if (stop_requested()) throw Stopped();
  }
  std::size_t window(std::size_t books) const;  // bytes of a book that may be in memory

  Workers workers;
  std::vector<Tools> tools;  // one a thread
  std::function<bool()> stop_requested;
  std::atomic<std::uint64_t> bytes_done = 0;  // of the archives that are read
  std::atomic<std::uint64_t> next_book = 1;
};

// A resource in memory.
struct Piece {
  // Room in front of what is read, and behind it, for an IV and a padding.
  static constexpr std::size_t kRoom = crypto::kBlockBytes;

  const Entry* entry = nullptr;
  int how = 0;  // what the transform knows it by
  std::unique_ptr<std::byte[]> bytes;
  std::size_t begin = 0, end = 0;  // of the content
  Content::Shape shape;
  std::exception_ptr problem;
  std::atomic<bool> ready = false;

  std::span<std::byte> content() { return {bytes.get() + begin, end - begin}; }
  // Makes room for new content of so many bytes, with kRoom around it.
  std::span<std::byte> renew(std::size_t size);
};

// What is done to resources.
class Transform {
 public:
  virtual ~Transform() = default;
  // Turns what is stored into what is to be stored, and sets the shapes; a piece's problem if it
  // has one. Several threads at once, with pieces of their own.
  virtual void run(std::span<Piece* const> pieces, Tools& tools) const = 0;
};

class Pipeline {
 public:
  Pipeline(Job& job, std::size_t worker, std::size_t window, const Archive& book,
           const Transform& transform)
      : job_(job), worker_(worker), window_(window), book_(book), transform_(transform) {}
  ~Pipeline() { job_.workers.drop(this); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // The next resource in the order in which they will be written. The content uses the pipeline.
  std::unique_ptr<Content> add(const Entry& entry, int how);

 private:
  class Output;
  void read_ahead(std::size_t until);
  void submit(std::size_t first, std::size_t last);
  Piece& finished(std::size_t index);
  void release(std::size_t index);

  Job& job_;
  const std::size_t worker_;
  const std::size_t window_;
  const Archive& book_;
  const Transform& transform_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  std::size_t next_ = 0;       // to be read
  std::size_t in_memory_ = 0;  // bytes
};

}  // namespace tabane::epub
