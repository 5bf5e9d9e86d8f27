#include "tabane/tools/epub/books.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/epub/package.h"
#include "tabane/tools/epub/pipeline.h"

namespace tabane::epub {
namespace {

constexpr std::uint64_t kMostMimetype = 256;

// Returns a warning if the first file is not the mimetype that readers expect.
std::string mimetype_warning(const Archive& book) {
  const Entry* const entry = book.find(kMimetypeName);
  if (entry != nullptr && entry->bytes <= kMostMimetype &&
      book.text_of(*entry, kMostMimetype).starts_with(kMimetype)) {
    return {};
  }
  return fmt::format("{}: its first file is to be mimetype, with the text {}; the new book has it",
                     book.path(), kMimetype);
}

// Refuses a book that has a licence already, or that only another program can open.
void require_unprotected(const Archive& book, const EncryptionXml& encryption) {
  if (book.find(kLicenceName) != nullptr || !encryption.by_licence().empty()) {
    throw core::Error(
        "{}: is protected by a licence already; tabane epub unprotect "
        "opens it with its passphrase",
        book.path());
  }
  if (const auto& foreign = encryption.foreign()) {
    throw core::Error("{}: {} is encrypted by another system already ({})", book.path(),
                      foreign->first, foreign->second);
  }
}

// The work on one book, from one archive to another, in one thread.
struct BookTask {
  BooksJob& job;
  const std::size_t worker;
  const std::size_t window;
  const BookPaths& paths;
  const bool replace;
  BookResult& result;
};

bool is_rewritten(const Entry& entry) {
  return entry.is_folder() || entry.name == kMimetypeName || entry.name == kEncryptionName ||
         entry.name == kLicenceName;
}

// A book that was opened.
struct OpenBook {
  const Archive archive;
  const Package package;
  EncryptionXml encryption;

  explicit OpenBook(const std::string& path)
      : archive(path), package(read_package(archive)), encryption(archive) {}
};

// Whether an entry needs the licence's key in a protected book.
bool needs_key(const OpenBook& book, const Entry& entry) {
  return !is_rewritten(entry) && !stays_clear(book.package, entry.name) &&
         !book.encryption.obfuscated().contains(entry.name);
}

// Adds the entries of a book to the new one: new content of those in the list of encrypted ones,
// and the others as they are. Calls add_lists(), and writes the book.
void convert(const BookTask& task, const OpenBook& book, const Key& key,
             const Conversion& conversion, const std::function<void(NewArchive&)>& add_lists) {
  const KeyedBook keyed{book.archive, key, task.job.next_book++};
  Pipeline pipeline(task.job, task.worker, task.window, keyed, conversion.transform);
  NewArchive out(task.paths.out);
  out.add_text(kMimetypeName, std::string(kMimetype), false);
  for (const Entry& entry : book.archive.entries()) {
    if (is_rewritten(entry)) continue;
    const auto found = book.encryption.by_licence().find(entry.name);
    if (found == book.encryption.by_licence().end()) {
      ++task.result.clear;
      task.job.bytes_done += entry.stored;
      out.copy(book.archive, entry);
      continue;
    }
    const EncryptedResource& how = found->second;
    const bool large = std::max({entry.bytes, entry.stored, how.bytes}) > kWholeBytes;
    out.add(entry.name, entry.time,
            large ? conversion.stream(task.job, keyed, entry, how) : pipeline.add(entry, how),
            conversion.restores && how.deflated);
    ++task.result.encrypted;
  }
  add_lists(out);
  out.write(task.replace);
  task.result.bytes_out = std::filesystem::file_size(task.paths.out);
}

void protect(const BookTask& task, const LicenceTerms& terms, const Key& user,
             const std::shared_future<Provider>& provider) {
  OpenBook book(task.paths.in);
  require_unprotected(book.archive, book.encryption);
  task.result.title = book.package.title;
  task.result.warning = mimetype_warning(book.archive);
  task.result.obfuscated = book.encryption.obfuscated().size();
  for (const Entry& entry : book.archive.entries()) {
    if (!needs_key(book, entry)) continue;
    book.encryption.add(entry.name, encryption_for(book.package, entry));
  }
  Key key;
  crypto::fill_random(key.bytes());
  convert(task, book, key, kEncrypting, [&](NewArchive& out) {
    const std::string name = task.paths.out.filename().string();
    out.add_text(kEncryptionName, book.encryption.text(), true);
    out.add_text(kLicenceName, new_licence(terms, name, user, key, provider.get()), true);
  });
}

Key opened(const Archive& book, const Licence& licence, const Key& user) {
  if (const std::string fault = fault_of(licence); !fault.empty()) {
    throw core::Error("{}: {}", book.path(), fault);
  }
  std::optional<Key> key = content_key(licence, user);
  if (key) return std::move(*key);
  throw core::Error("{}: the passphrase is not the one of its licence{}", book.path(),
                    licence.hint.empty() ? "" : "; its hint is: " + licence.hint);
}

// Nothing authenticates the list of encrypted resources. A resource that is missing there, or not
// listed as encrypted by the licence's key, would stay encrypted.
void require_right_list(const OpenBook& book) {
  const auto refuse = [&](const std::string& name, const std::string& why) {
    throw core::Error("{}: {}{}; {} was changed, or another program made the book",
                      book.archive.path(), name, why, kEncryptionName);
  };
  if (const auto& foreign = book.encryption.foreign()) {
    refuse(foreign->first,
           fmt::format(" is encrypted in another way than by the licence ({})", foreign->second));
  }
  const auto& listed = book.encryption.by_licence();
  for (const auto& [name, how] : listed) {
    const Entry* const entry = book.archive.find(name);
    if (entry == nullptr) refuse(name, ", which is listed as encrypted, is missing");
    if (is_rewritten(*entry)) refuse(name, ", which is listed as encrypted, is no resource");
  }
  for (const Entry& entry : book.archive.entries()) {
    if (!needs_key(book, entry) || listed.contains(entry.name)) continue;
    refuse(entry.name, fmt::format(" is not listed in {}, but the licence is for all resources",
                                   kEncryptionName));
  }
}

void unprotect(const BookTask& task, const Key& user) {
  const OpenBook book(task.paths.in);
  const Licence licence = read_licence(book.archive);
  const Key key = opened(book.archive, licence, user);
  require_right_list(book);
  task.result.title = book.package.title;
  task.result.obfuscated = book.encryption.obfuscated().size();
  if (const std::string ended = expiry(licence.rights, utc_now()); !ended.empty()) {
    task.result.warning =
        fmt::format("{}: the rights of its licence {}", book.archive.path(), ended);
  }
  convert(task, book, key, kDecrypting, [&](NewArchive& out) {
    // A copy, since decrypting reads the list until the last resource is written.
    EncryptionXml rest(book.archive);
    rest.remove_by_licence();
    if (!rest.empty()) out.add_text(kEncryptionName, rest.text(), true);
  });
}

std::uint64_t size_or_0(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

// A folder that cannot be opened is reported by its books.
std::size_t remove_leftovers_beside(const std::vector<BookPaths>& books) {
  std::map<std::filesystem::path, std::filesystem::path> folders;  // with a book in them
  std::set<core::FileId> read;
  for (const BookPaths& book : books) {
    folders.emplace(book.out.parent_path(), book.out);
    struct stat status {};
    if (::stat(book.in.c_str(), &status) == 0) read.insert({status.st_dev, status.st_ino});
  }
  std::size_t removed = 0;
  for (const auto& [_, book] : folders) {
    try {
      const core::Descriptor folder = core::open_parent(book, book.string());
      removed += core::remove_own_leftovers(folder.get(), read);
    } catch (const core::SystemError&) {
      continue;
    }
  }
  return removed;
}

std::vector<BookResult> run(const BooksRequest& request, const BooksHooks& hooks,
                            const std::function<void(const BookTask&)>& work) {
  const std::size_t threads = request.threads > 0 ? request.threads : core::thread_binding().size();
  BooksJob job(static_cast<unsigned>(threads), hooks.stop_requested);
  std::vector<BookResult> results(request.books.size());
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    total += results[i].bytes_in = size_or_0(request.books[i].in);
  }
  if (request.replace) {
    const std::size_t removed = remove_leftovers_beside(request.books);
    if (removed > 0) hooks.leftovers_removed(removed);
  }
  const std::size_t window = job.window(results.size());
  std::mutex one_at_a_time;
  job.workers.run(
      results.size(),
      [&](std::size_t i, std::size_t worker) {
        BookResult& result = results[i];
        try {
          job.go_on();
          work({job, worker, window, request.books[i], request.replace, result});
        } catch (const Stopped&) {
          result.stopped = true;
          result.error = "stopped";
        } catch (const std::exception& error) {
          result.error = error.what();
        }
        const std::lock_guard lock(one_at_a_time);
        hooks.book_done(i, result);
      },
      [&] {
        const auto done = static_cast<double>(job.bytes_done.load());
        hooks.progress(total == 0 ? 0 : std::min(1.0, done / static_cast<double>(total)));
      });
  return results;
}

}  // namespace

std::vector<BookResult> protect_books(const BooksRequest& request, const LicenceTerms& terms,
                                      const std::function<Provider()>& provider,
                                      const BooksHooks& hooks) {
  const Key user = user_key(request.passphrase);
  const std::shared_future<Provider> signer = std::async(std::launch::async, provider).share();
  return run(request, hooks, [&](const BookTask& task) { protect(task, terms, user, signer); });
}

std::vector<BookResult> unprotect_books(const BooksRequest& request, const BooksHooks& hooks) {
  const Key user = user_key(request.passphrase);
  return run(request, hooks, [&](const BookTask& task) { unprotect(task, user); });
}

BookReport inspect_book(const std::string& path) {
  const Archive book(path);
  const Package package = read_package(book);
  const EncryptionXml encryption(book);
  BookReport report{.title = package.title,
                    .version = package.version,
                    .encrypted = encryption.by_licence().size(),
                    .obfuscated = encryption.obfuscated().size()};
  for (const Entry& entry : book.entries()) {
    if (!is_rewritten(entry) && !encryption.by_licence().contains(entry.name)) ++report.clear;
  }
  if (const auto& foreign = encryption.foreign()) {
    report.foreign = fmt::format("{} ({})", foreign->first, foreign->second);
  }
  if (book.find(kLicenceName) == nullptr) return report;
  report.licence = std::make_unique<Licence>(read_licence(book));
  report.fault = fault_of(*report.licence);
  report.expiry = expiry(report.licence->rights, utc_now());
  return report;
}

}  // namespace tabane::epub
