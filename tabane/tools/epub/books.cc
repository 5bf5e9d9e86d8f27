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
#include "tabane/core/output_file.h"
#include "tabane/core/output_path.h"
#include "tabane/core/same_place.h"
#include "tabane/crypto/random.h"
#include "tabane/tools/epub/decrypting.h"
#include "tabane/tools/epub/encrypting.h"
#include "tabane/tools/epub/moment.h"
#include "tabane/tools/epub/package.h"

namespace tabane::epub {
namespace {

constexpr std::uint64_t kMostMimetype = 256;

// The file's name, and what a reader would miss, as others read it.
std::string mimetype_warning(const Archive& book) {
  const Entry* const entry = book.find(kMimetypeName);
  if (entry != nullptr && entry->bytes <= kMostMimetype &&
      book.text_of(*entry, kMostMimetype).starts_with(kMimetype)) {
    return {};
  }
  return fmt::format("{}: its first file is to be mimetype, with the text {}; the new book has it",
                     book.path(), kMimetype);
}

// What makes no new licence: another one, or what only another program can open.
void require_unprotected(const Archive& book, const EncryptionXml& encryption) {
  if (book.find(kLicenceName) != nullptr || !encryption.by_licence().empty()) {
    throw core::Error(
        fmt::format("{}: is protected by a licence already; tabane epub unprotect "
                    "opens it with its passphrase",
                    book.path()));
  }
  if (const auto& foreign = encryption.foreign()) {
    throw core::Error(fmt::format("{}: {} is encrypted by another system already ({})", book.path(),
                                  foreign->first, foreign->second));
  }
}

// One book on its way from one archive to another, in one thread.
struct Way {
  Job& job;
  const std::size_t worker;
  const std::size_t window;
  const BookPaths& paths;
  const bool replace;
  BookResult& result;

  void finish(NewArchive& out) const {
    out.write(replace);
    result.bytes_out = std::filesystem::file_size(paths.out);
  }
};

// An entry that no key is needed for.
void copy(const Way& way, const Archive& book, const Entry& entry, NewArchive& out) {
  ++way.result.clear;
  way.job.bytes_done += entry.stored;
  out.copy(book, entry);
}

bool is_rewritten(const Entry& entry) {
  return entry.is_folder() || entry.name == kMimetypeName || entry.name == kEncryptionName ||
         entry.name == kLicenceName;
}

// A book as it is opened.
struct Source {
  const Archive archive;
  const Package package;
  EncryptionXml encryption;

  explicit Source(const std::string& path)
      : archive(path), package(read_package(archive)), encryption(archive) {}
};

// Whether an entry needs the licence's key in a protected book.
bool needs_key(const Source& book, const Entry& entry) {
  return !is_rewritten(entry) && !stays_clear(book.package, entry.name) &&
         !book.encryption.obfuscated().contains(entry.name);
}

Key new_key() {
  Key key;
  crypto::fill_random(key.bytes());
  return key;
}

// Adds a resource, and to the list that it is encrypted.
void encrypt(const Way& way, Source& book, const Entry& entry, const Key& key, Pipeline& pipeline,
             NewArchive& out) {
  const Encrypting how = way_of(book.package, entry);
  const bool large = std::max(entry.bytes, entry.stored) > kWholeBytes;
  out.add(entry.name, entry.time,
          large ? encrypted_stream(way.job, book.archive, entry, how, key)
                : pipeline.add(entry, static_cast<int>(how)),
          false);
  book.encryption.add(
      entry.name,
      {.deflated = is_deflated(entry, how), .bytes = entry.bytes, .bytes_are_told = true});
  ++way.result.encrypted;
}

void protect(const Way& way, const Terms& terms, const Key& user,
             const std::shared_future<Provider>& provider) {
  Source book(way.paths.in);
  require_unprotected(book.archive, book.encryption);
  way.result.title = book.package.title;
  way.result.warning = mimetype_warning(book.archive);
  way.result.obfuscated = book.encryption.obfuscated().size();
  const Key key = new_key();
  const Encrypt transform(way.job.next_book++, book.archive.path(), key);
  Pipeline pipeline(way.job, way.worker, way.window, book.archive, transform);
  NewArchive out(way.paths.out);
  out.add_text(kMimetypeName, std::string(kMimetype), false);
  for (const Entry& entry : book.archive.entries()) {
    if (is_rewritten(entry)) continue;
    if (needs_key(book, entry)) {
      encrypt(way, book, entry, key, pipeline, out);
    } else {
      copy(way, book.archive, entry, out);
    }
  }
  out.add_text(kEncryptionName, book.encryption.text(), true);
  out.add_text(kLicenceName,
               new_licence(terms, way.paths.out.filename().string(), user, key, provider.get()),
               true);
  way.finish(out);
}

Key opened(const Archive& book, const Licence& licence, const Key& user) {
  if (const std::string fault = fault_of(licence); !fault.empty()) {
    throw core::Error(fmt::format("{}: {}", book.path(), fault));
  }
  std::optional<Key> key = content_key(licence, user);
  if (key) return std::move(*key);
  throw core::Error(fmt::format("{}: the passphrase is not the one of its licence{}", book.path(),
                                licence.hint.empty() ? "" : "; its hint is: " + licence.hint));
}

// Nothing authenticates the list of encrypted resources: a resource that it does not name, or not
// as what the licence's key has encrypted, would stay encrypted.
void require_right_list(const Source& book) {
  const auto refuse = [&](const std::string& name, const std::string& why) {
    throw core::Error(fmt::format("{}: {}{}; {} was changed, or another program made the book",
                                  book.archive.path(), name, why, kEncryptionName));
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

// Adds a resource as it was before it was encrypted.
void decrypt(const Way& way, const Archive& book, const Entry& entry, const Encrypted& how,
             const Key& key, Pipeline& pipeline, NewArchive& out) {
  const bool large = std::max({entry.bytes, entry.stored, how.bytes}) > kWholeBytes;
  out.add(entry.name, entry.time,
          large ? decrypted_stream(way.job, book, entry, how, key) : pipeline.add(entry, 0),
          how.deflated);
  ++way.result.encrypted;
}

void unprotect(const Way& way, const Key& user) {
  const Source book(way.paths.in);
  const Licence licence = read_licence(book.archive);
  const Key key = opened(book.archive, licence, user);
  require_right_list(book);
  way.result.title = book.package.title;
  way.result.obfuscated = book.encryption.obfuscated().size();
  if (const std::string ended = expiry(licence.rights, utc_now()); !ended.empty()) {
    way.result.warning =
        fmt::format("{}: the rights of its licence {}", book.archive.path(), ended);
  }
  const Decrypt transform(way.job.next_book++, book.archive.path(), book.encryption, key);
  Pipeline pipeline(way.job, way.worker, way.window, book.archive, transform);
  NewArchive out(way.paths.out);
  out.add_text(kMimetypeName, std::string(kMimetype), false);
  for (const Entry& entry : book.archive.entries()) {
    if (is_rewritten(entry)) continue;
    const auto found = book.encryption.by_licence().find(entry.name);
    if (found == book.encryption.by_licence().end()) {
      copy(way, book.archive, entry, out);
    } else {
      decrypt(way, book.archive, entry, found->second, key, pipeline, out);
    }
  }
  // Decrypting looks at the list until the last resource is written.
  EncryptionXml rest(book.archive);
  rest.remove_by_licence();
  if (!rest.empty()) out.add_text(kEncryptionName, rest.text(), true);
  way.finish(out);
}

std::uint64_t size_or_0(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

// Where a folder cannot be opened, its books tell it.
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
                            const std::function<void(const Way&)>& work) {
  const std::size_t threads = request.threads > 0 ? request.threads : core::thread_binding().size();
  Job job(static_cast<unsigned>(threads), hooks.stop_requested);
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

std::vector<BookResult> protect_books(const BooksRequest& request, const Terms& terms,
                                      const std::function<Provider()>& provider,
                                      const BooksHooks& hooks) {
  const Key user = user_key(request.passphrase);
  const std::shared_future<Provider> signer = std::async(std::launch::async, provider).share();
  return run(request, hooks, [&](const Way& way) { protect(way, terms, user, signer); });
}

std::vector<BookResult> unprotect_books(const BooksRequest& request, const BooksHooks& hooks) {
  const Key user = user_key(request.passphrase);
  return run(request, hooks, [&](const Way& way) { unprotect(way, user); });
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
