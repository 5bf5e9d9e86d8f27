#include "tabane/workloads/aes_dir/epub/books.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <future>
#include <mutex>
#include <optional>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/workloads/aes_dir/epub/decrypting.h"
#include "tabane/workloads/aes_dir/epub/encrypting.h"
#include "tabane/workloads/aes_dir/epub/package.h"
#include "tabane/workloads/aes_dir/sealed_format.h"

namespace tabane::workloads::aes_dir::epub {
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
  out.copy(book, entry);
}

bool is_rewritten(const Entry& entry) {
  return entry.is_folder() || entry.name == kMimetypeName || entry.name == kEncryptionName ||
         entry.name == kLicenceName;
}

void protect(const Way& way, const Terms& terms, const Key& user,
             const std::shared_future<Provider>& provider) {
  const Archive book(way.paths.in);
  const Package package = read_package(book);
  EncryptionXml encryption(book);
  require_unprotected(book, encryption);
  BookResult& result = way.result;
  result.title = package.title;
  result.warning = mimetype_warning(book);
  result.obfuscated = encryption.obfuscated().size();
  Key key;
  fill_random(key.bytes());
  const Encrypt encrypt(way.job.next_book++, book.path(), key);
  Pipeline pipeline(way.job, way.worker, way.window, book, encrypt);
  NewArchive out(way.paths.out);
  out.add_text(kMimetypeName, std::string(kMimetype), false);
  for (const Entry& entry : book.entries()) {
    if (is_rewritten(entry)) continue;
    if (stays_clear(package, entry.name) || encryption.obfuscated().contains(entry.name)) {
      copy(way, book, entry, out);
      continue;
    }
    const Encrypting how = way_of(package, entry);
    const bool large = std::max(entry.bytes, entry.stored) > kWholeBytes;
    out.add(entry.name, entry.time,
            large ? encrypted_stream(way.job, book, entry, how, key)
                  : pipeline.add(entry, static_cast<int>(how)),
            false);
    encryption.add(
        entry.name,
        {.deflated = is_deflated(entry, how), .bytes = entry.bytes, .bytes_are_told = true});
    ++result.encrypted;
  }
  out.add_text(kEncryptionName, encryption.text(), true);
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

void unprotect(const Way& way, const Key& user) {
  const Archive book(way.paths.in);
  const Package package = read_package(book);
  EncryptionXml encryption(book);
  const Licence licence = read_licence(book);
  const Key key = opened(book, licence, user);
  BookResult& result = way.result;
  result.title = package.title;
  result.obfuscated = encryption.obfuscated().size();
  if (const std::string ended = expiry(licence.rights, utc_now()); !ended.empty()) {
    result.warning = fmt::format("{}: the rights of its licence {}", book.path(), ended);
  }
  for (const auto& [name, how] : encryption.by_licence()) {
    if (book.find(name) != nullptr) continue;
    throw core::Error(
        fmt::format("{}: {}, which {} names, is missing", book.path(), name, kEncryptionName));
  }
  const Decrypt decrypt(way.job.next_book++, book.path(), encryption, key);
  Pipeline pipeline(way.job, way.worker, way.window, book, decrypt);
  NewArchive out(way.paths.out);
  out.add_text(kMimetypeName, std::string(kMimetype), false);
  for (const Entry& entry : book.entries()) {
    if (is_rewritten(entry)) continue;
    const auto found = encryption.by_licence().find(entry.name);
    if (found == encryption.by_licence().end()) {
      copy(way, book, entry, out);
      continue;
    }
    const Encrypted& how = found->second;
    const bool large = std::max({entry.bytes, entry.stored, how.bytes}) > kWholeBytes;
    out.add(entry.name, entry.time,
            large ? decrypted_stream(way.job, book, entry, how, key) : pipeline.add(entry, 0),
            how.deflated);
    ++result.encrypted;
  }
  // Decrypting looks at the list until the last resource is written.
  EncryptionXml rest(book);
  rest.remove_by_licence();
  if (!rest.empty()) out.add_text(kEncryptionName, rest.text(), true);
  way.finish(out);
}

std::uint64_t size_or_0(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
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

}  // namespace tabane::workloads::aes_dir::epub
