// EPUB books under Readium LCP's basic profile, and back: many at once, with all threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tabane/crypto/keys.h"
#include "tabane/tools/epub/cryptography.h"
#include "tabane/tools/epub/licence.h"

namespace tabane::epub {

struct BookPaths {
  std::string in;
  std::filesystem::path out;
};

struct BookResult {
  std::string error;  // empty: the new book is there
  bool stopped = false;
  std::string title;
  std::size_t encrypted = 0, clear = 0, obfuscated = 0;  // resources
  std::uint64_t bytes_in = 0, bytes_out = 0;             // of the files
  std::string warning;                                   // empty: there is none
};

struct BooksRequest {
  std::vector<BookPaths> books;
  crypto::Passphrase passphrase;
  unsigned threads = 0;  // 0: one for each PU that may be used
  // Whether to replace regular files, after removing what killed runs left in their folders; see
  // remove_own_leftovers().
  bool replace = false;
};

struct BooksHooks {
  // Called from any thread.
  std::function<bool()> stop_requested = [] { return false; };
  // done: 0 … 1. From the calling thread, ten times a second. Must not throw.
  std::function<void(double done)> progress = [](double) {};
  // From the calling thread, before any book is made. Must not throw.
  std::function<void(std::size_t files)> leftovers_removed = [](std::size_t) {};
  // From any thread, one at a time, as soon as a book is done. Must not throw.
  std::function<void(std::size_t book, const BookResult& result)> book_done =
      [](std::size_t, const BookResult&) {};
};

// Return one result for each book; a failure of one does not affect the others. throw:
// std::system_error if no thread can be started. provider: is called once, while books are read.
std::vector<BookResult> protect_books(const BooksRequest& request, const LicenceTerms& terms,
                                      const std::function<Provider()>& provider,
                                      const BooksHooks& hooks);
std::vector<BookResult> unprotect_books(const BooksRequest& request, const BooksHooks& hooks);

// The description of a book without its key.
struct BookReport {
  std::string title, version;
  std::size_t encrypted = 0, clear = 0, obfuscated = 0;
  std::string foreign;               // what else has encrypted something; empty: nothing
  std::unique_ptr<Licence> licence;  // null: there is none
  std::string fault;                 // of the licence; empty: none
  std::string expiry;                // of its rights; empty: they are in force
};

// throws: core::SystemError, core::Error; both name the file.
BookReport inspect_book(const std::string& path);

}  // namespace tabane::epub
