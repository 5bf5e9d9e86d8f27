// The threads of a job on many books, and the resources of one book on their way through memory:
// read in their order, worked on by any thread, several at a time, and written in their order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/epub/archive.h"
#include "tabane/tools/epub/cryptography.h"
#include "tabane/tools/epub/new_archive.h"
#include "tabane/tools/epub/package.h"

namespace tabane::epub {

// Each book has one thread that reads and writes it; threads without a book do parts of others'
// books.
class Workers {
 public:
  // worker: the number of the thread, from 0.
  using BookPart = std::function<void(std::size_t worker)>;
  using Book = std::function<void(std::size_t book, std::size_t worker)>;

  explicit Workers(unsigned threads) : threads_(threads) {}
  unsigned threads() const { return threads_; }

  // Calls book(0 … books - 1), each in one thread. Calls tick from this thread, ten times a second.
  // throws: std::system_error if the system starts no thread; the first exception of a book, once
  // the other threads have done the rest.
  void run(std::size_t books, const Book& book, const std::function<void()>& tick);

  // Adds a part of a book for any thread. owner: identifies the book. A part that throws ends its
  // thread and counts as done: its owner must not wait() for it, but may drop().
  void add(const void* owner, BookPart part);
  // Does parts of this owner until done() holds. done: true for good once its parts are done.
  void wait(const void* owner, std::size_t worker, const std::function<bool()>& done);
  // Removes the owner's parts that nobody has begun, and waits for the others.
  void drop(const void* owner);

 private:
  struct Queued {
    const void* owner;
    BookPart part;
  };
  void serve(std::size_t worker, std::size_t books, const Book& book);
  void do_part(std::deque<Queued>::iterator which, std::size_t worker,
               std::unique_lock<std::mutex>& lock);

  const unsigned threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> queue_;
  std::map<const void*, std::size_t> running_;  // parts
  std::size_t next_book_ = 0, open_books_ = 0;
};

// Larger resources, plain or stored, are streamed by the thread of their book.
inline constexpr std::uint64_t kWholeBytes = std::uint64_t{16} << 20;

// Ends the work on a book when the user asks for that.
class Stopped : public core::Error {
 public:
  Stopped() : core::Error("stopped") {}
};

// The tools of one thread.
struct WorkerTools {
  // Returns the cipher of a book, made when the book changes. book: a number that is never reused.
  crypto::CbcCipher& cipher(std::uint64_t book, const Key& key);
  // Returns bytes of any content.
  std::span<std::byte> scratch(std::size_t bytes);

  Deflater deflater;

 private:
  std::unique_ptr<crypto::CbcCipher> cipher_;
  std::uint64_t book_ = 0;
  std::vector<std::byte> scratch_;
};

// The threads and counters that the books of a job share.
struct BooksJob {
  explicit BooksJob(unsigned threads, std::function<bool()> stop)
      : workers(threads), tools(threads), stop_requested(std::move(stop)) {}
  void go_on() const {  // throws: Stopped.
    if (stop_requested()) throw Stopped();
  }
  std::size_t window(std::size_t books) const;  // bytes of a book that may be in memory

  Workers workers;
  std::vector<WorkerTools> tools;  // one a thread
  std::function<bool()> stop_requested;
  std::atomic<std::uint64_t> bytes_done = 0;  // of the archives that are read
  std::atomic<std::uint64_t> next_book = 1;
};

// A resource in memory.
struct Piece {
  // Room in front of what is read, and behind it, for an IV and a padding.
  static constexpr std::size_t kRoom = crypto::kBlockBytes;

  const Entry* entry = nullptr;
  const EncryptedResource* how = nullptr;
  std::unique_ptr<std::byte[]> bytes;
  std::size_t begin = 0, end = 0;  // of the content
  Content::Shape shape;
  std::exception_ptr problem;
  std::atomic<bool> ready = false;

  std::span<std::byte> content() { return {bytes.get() + begin, end - begin}; }
  // Makes room for new content of so many bytes, with kRoom around it.
  std::span<std::byte> renew(std::size_t size);
};

// A book that is read, and its content key.
struct KeyedBook {
  const Archive& archive;
  const Key& key;
  std::uint64_t number;  // of the job's next_book
};

// Replaces the stored bytes of pieces by those to store, and sets their shapes, or the problem of a
// piece. Called by several threads at once, with pieces of their own.
using Transform = void (*)(const KeyedBook& book, std::span<Piece* const> pieces,
                           WorkerTools& tools);

class Pipeline {
 public:
  Pipeline(BooksJob& job, std::size_t worker, std::size_t window, const KeyedBook& book,
           Transform transform)
      : job_(job), worker_(worker), window_(window), book_(book), transform_(transform) {}
  ~Pipeline() { job_.workers.drop(this); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Adds the next resource in the order of writing. The content uses the pipeline. how: must live
  // as long.
  std::unique_ptr<Content> add(const Entry& entry, const EncryptedResource& how);

 private:
  class Output;
  void read_ahead(std::size_t until);
  void submit(std::size_t first, std::size_t last);
  Piece& finished(std::size_t index);
  void release(std::size_t index);

  BooksJob& job_;
  const std::size_t worker_;
  const std::size_t window_;
  const KeyedBook book_;
  const Transform transform_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  std::size_t next_ = 0;       // to be read
  std::size_t in_memory_ = 0;  // bytes
};

// ---- resources in both directions: encrypted with a content key, and decrypted again ----
//
// Small ones are pieces in memory, large ones streams.

// Returns how a resource is to be encrypted. Deflated ones are not deflated again: a ZIP file holds
// just the raw stream that XML Encryption wants.
EncryptedResource encryption_for(const Package& package, const Entry& entry);

void encrypt_pieces(const KeyedBook& book, std::span<Piece* const> pieces, WorkerTools& tools);
void decrypt_pieces(const KeyedBook& book, std::span<Piece* const> pieces, WorkerTools& tools);

// Return the content of a resource that is too large for memory; one that is encrypted is deflated
// already, or is not to be.
std::unique_ptr<Content> encrypted_stream(BooksJob& job, const KeyedBook& book, const Entry& entry,
                                          const EncryptedResource& how);
std::unique_ptr<Content> decrypted_stream(BooksJob& job, const KeyedBook& book, const Entry& entry,
                                          const EncryptedResource& how);

struct Conversion {
  Transform transform = nullptr;
  decltype(&encrypted_stream) stream = nullptr;
  bool restores = false;  // the resources, deflated as they were
};
inline constexpr Conversion kEncrypting{encrypt_pieces, encrypted_stream, false};
inline constexpr Conversion kDecrypting{decrypt_pieces, decrypted_stream, true};

}  // namespace tabane::epub
