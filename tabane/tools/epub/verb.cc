// tabane epub: books under Readium LCP's basic profile, and back.
#include "tabane/tools/epub/verb.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/core/units.h"
#include "tabane/crypto/keys.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/output.h"
#include "tabane/program/passphrase_prompt.h"
#include "tabane/program/progress.h"
#include "tabane/tools/epub/licence.h"

namespace tabane::program {

extern const Verb epub_inspect_verb;

namespace {

using namespace epub;

enum class Direction { protect, unprotect };

const char* name_of(Direction direction) {
  return direction == Direction::protect ? "epub protect" : "epub unprotect";
}

struct BooksOptions {
  std::vector<std::string> books;
  std::string output;
  std::optional<std::string> passphrase_file;
  std::optional<std::string> certificate, private_key;
  std::optional<int> threads;
  LicenceTerms terms;
  bool force = false, quiet = false;
  JsonOption json;
};

// Ignores errors, since a full disk or a closed pipe must not end threads; main() reports those of
// stdout.
void say(std::FILE* to, const std::string& text) {
  std::fputs(text.c_str(), to);
  std::fflush(to);
}

void warn(const std::string& text) {
  if (!text.empty()) say(stderr, fmt::format("warning: {}\n", printable(text)));
}

crypto::Passphrase read_passphrase(const std::optional<std::string>& file, bool twice) {
  if (!file) return ask_passphrase(twice, "Passphrase: ", "--passphrase-file FILE");
  auto read = crypto::read_passphrase_file(*file);
  warn(read.warning);
  return std::move(read.passphrase);
}

std::string line_of(Direction direction, const BookPaths& paths, const BookResult& result) {
  std::string line =
      fmt::format("{}: {} {}, {} clear", printable(paths.out.string()),
                  core::counted(result.encrypted, "resource"),
                  direction == Direction::protect ? "encrypted" : "decrypted", result.clear);
  if (result.obfuscated > 0) {
    line +=
        fmt::format(", {} left as they are", core::counted(result.obfuscated, "obfuscated font"));
  }
  return line + fmt::format(", {}\n", core::format_bytes(result.bytes_out));
}

// Shows progress and the result of each book.
class BooksReporter {
 public:
  BooksReporter(Direction direction, const BooksOptions& options,
                const std::vector<BookPaths>& books)
      : direction_(direction), options_(options), books_(books), line_(options.quiet) {}

  BooksHooks hooks() {
    return {.stop_requested = [] { return StopOnSignal::requested(); },
            .progress = [this](double done) { show(done); },
            .leftovers_removed = [this](std::size_t files) { tell_leftovers(files); },
            .book_done = [this](std::size_t i, const BookResult& r) { tell(books_[i], r); }};
  }
  void clear() { line_.clear(); }

 private:
  void show(double done) {
    const std::lock_guard lock(mutex_);
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin_;
    const bool known = done > 0.01 && gone.count() > 1;
    line_.show(books_.size() == 1 ? "" : core::counted(books_.size(), "book"), done,
               known ? gone.count() * (1 / done - 1) : -1);
  }
  void tell_leftovers(std::size_t files) const {
    if (options_.quiet || options_.json.to_stdout()) return;
    say(stdout,
        fmt::format("removed: {} of an interrupted run\n", core::counted(files, "temporary file")));
  }
  void tell(const BookPaths& paths, const BookResult& result) {
    const std::lock_guard lock(mutex_);
    line_.clear();
    warn(result.warning);
    if (!result.error.empty()) {
      if (!result.stopped)
        say(stderr, fmt::format("tabane {}: {}\n", name_of(direction_), printable(result.error)));
    } else if (!options_.quiet && !options_.json.to_stdout()) {
      say(stdout, line_of(direction_, paths, result));
    }
  }

  const Direction direction_;
  const BooksOptions& options_;
  const std::vector<BookPaths>& books_;
  std::mutex mutex_;
  ProgressLine line_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

lab::Json json_of(Direction direction, const std::vector<BookPaths>& paths,
                  const std::vector<BookResult>& results) {
  lab::Json books = lab::Json::array();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const BookResult& r = results[i];
    lab::Json book{{"in", lossy_utf8(paths[i].in)},
                   {"out", lossy_utf8(paths[i].out.string())},
                   {"title", lossy_utf8(r.title)},
                   {"resources_encrypted", r.encrypted},
                   {"resources_clear", r.clear},
                   {"fonts_obfuscated", r.obfuscated},
                   {"in_bytes", r.bytes_in},
                   {"out_bytes", r.error.empty() ? lab::Json(r.bytes_out) : lab::Json()}};
    if (!r.error.empty()) book["error"] = lossy_utf8(r.error);
    if (!r.warning.empty()) book["warning"] = lossy_utf8(r.warning);
    books.push_back(std::move(book));
  }
  return {{"schema_version", 1}, {"verb", name_of(direction)}, {"books", std::move(books)}};
}

int end(const BooksOptions& options, Direction direction, const std::vector<BookPaths>& books,
        const std::vector<BookResult>& results) {
  options.json.write(json_of(direction, books, results));
  const auto done = std::ranges::count_if(results, [](const auto& r) { return r.error.empty(); });
  const auto all = static_cast<std::ptrdiff_t>(results.size());
  if (std::ranges::any_of(results, &BookResult::stopped)) {
    fmt::print(stderr, "tabane {}: stopped after {} of {}; no half-written book was left\n",
               name_of(direction), done, core::counted(results.size(), "book"));
    StopOnSignal::die_as_asked();
  } else if (done < all && all > 1) {
    fmt::print(stderr, "tabane {}: {} of {} failed\n", name_of(direction), all - done,
               core::counted(results.size(), "book"));
  }
  return done == all ? kOk : kFailed;
}

void check_terms(const BooksOptions& options) {
  if (options.certificate.has_value() != options.private_key.has_value()) {
    throw core::UsageError("--certificate and --private-key go together");
  }
  const Rights& rights = options.terms.rights;
  for (const auto& [option, moment] :
       {std::pair("--start", &rights.start), {"--end", &rights.end}}) {
    if (!*moment || utc_of(**moment)) continue;
    throw core::UsageError(
        "{} {}: is no date; legal are 2026-01-31 and 2026-01-31T12:00:00Z, the latter also with "
        "an offset such as +09:00 for Z",
        option, **moment);
  }
  if (rights.start && rights.end && *utc_of(*rights.end) <= *utc_of(*rights.start)) {
    throw core::UsageError("--end: is not after --start");
  }
}

std::function<Provider()> provider_of(const BooksOptions& options) {
  if (!options.certificate) return [] { return Provider::for_tests(); };
  warn(crypto::warning_of(crypto::open_to_read(*options.private_key), *options.private_key));
  // Read now, so that errors in the files are reported before anything is made.
  auto provider =
      std::make_shared<Provider>(Provider::from_files(*options.certificate, *options.private_key));
  return [provider] { return std::move(*provider); };
}

// No book and no record may replace the files of the passphrase or of the provider's key.
void require_apart_from_keys(const BooksOptions& options, const std::vector<BookPaths>& books) {
  crypto::KeyFiles files;
  for (const auto& path : {options.passphrase_file, options.certificate, options.private_key}) {
    files.add(path);
  }
  for (const BookPaths& book : books) files.require_none("-o", book.out);
  if (!options.json.file().empty()) files.require_none("--json", options.json.file());
}

int run(const BooksOptions& options, Direction direction) {
  options.json.check(false);
  check_terms(options);
  BooksRequest request{.books = places_of(options.books, options.output, options.force),
                       .threads = static_cast<unsigned>(options.threads.value_or(0)),
                       .replace = options.force};
  for (const BookPaths& book : request.books) {
    require_record_apart(options.json.file(), book.in);
    require_record_apart(options.json.file(), book.out);
  }
  require_apart_from_keys(options, request.books);
  options.json.allow_errors();
  make_memory_unreadable();
  const auto provider = direction == Direction::protect ? provider_of(options) : nullptr;
  request.passphrase = read_passphrase(options.passphrase_file, direction == Direction::protect);
  if (direction == Direction::protect) warn(crypto::weakness_of(request.passphrase));
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the size limit fails alone, with EFBIG
  std::signal(SIGPIPE, SIG_IGN);  // the books are made, whoever has stopped reading of them
  const StopOnSignal stop;
  BooksReporter reporter(direction, options, request.books);
  const std::vector<BookResult> results =
      direction == Direction::protect
          ? protect_books(request, options.terms, provider, reporter.hooks())
          : unprotect_books(request, reporter.hooks());
  reporter.clear();
  return end(options, direction, request.books, results);
}

std::vector<Option> common_rows(BooksOptions& options) {
  return {{"BOOK", &options.books, "The books", {.required = true}},
          {"-o,--output OUT",
           &options.output,
           "The new book; for several books a directory, which is made if it is missing",
           {.required = true}},
          {"--passphrase-file FILE", &options.passphrase_file,
           "Read the passphrase from the first line of FILE; without it tabane asks for it"}};
}

std::vector<Option> terms_rows(BooksOptions& options) {
  LicenceTerms& terms = options.terms;
  return {
      {"--certificate FILE", &options.certificate,
       "Sign licences as the provider of this X.509 certificate (PEM); default: one for tests that "
       "is made for this call"},
      {"--private-key FILE", &options.private_key, "The certificate's RSA key (PEM)"},
      {"--provider URI", &terms.provider, "The provider's name in the licence, a URI"},
      {"--hint TEXT", &terms.hint, "What readers show when they ask for the passphrase"},
      {"--hint-url URL", &terms.hint_url,
       "Where readers find help with the passphrase; default: the hint itself"},
      {"--publication-url URL", &terms.publication_url,
       "Where readers get the protected book; default: its file name"},
      {"--user ID", &terms.user, "The user's id in the licence; default: none"},
      {"--start DATE", &terms.rights.start,
       "The licence holds from this moment on; a date is the beginning of its day in UTC"},
      {"--end DATE", &terms.rights.end,
       "The licence ends at this moment; a date is the beginning of its day in UTC"},
      {"--print N", &terms.rights.print, "At most N pages may be printed", {.range = kFromZero}},
      {"--copy N", &terms.rights.copy, "At most N characters may be copied", {.range = kFromZero}}};
}

std::vector<Option> last_rows(BooksOptions& options) {
  return {{"--force", &options.force,
           "Replace existing books, and remove the temporary files (.tabane-*.part) of killed runs "
           "from their folders. Only those are removed that are yours, an hour old and in use by "
           "no run"},
          {"-t,--threads N",
           &options.threads,
           "Use N threads; default: one for each PU that may be used",
           {.range = {1, 4096}}},
          options.json.row(),
          {"-q,--quiet", &options.quiet, "Show no progress and no results, only what fails"}};
}

Definition define_protect() {
  const auto options = std::make_shared<BooksOptions>();
  return {table(common_rows(*options), terms_rows(*options), last_rows(*options)),
          [options](const Given&) { return run(*options, Direction::protect); }};
}

Definition define_unprotect() {
  const auto options = std::make_shared<BooksOptions>();
  return {table(common_rows(*options), last_rows(*options)),
          [options](const Given&) { return run(*options, Direction::unprotect); }};
}

constexpr Verb kProtect{
    .name = "protect",
    .what = "Encrypt the resources of books, and add a licence",
    .examples =
        "  tabane epub protect book.epub -o protected.epub     asks for a passphrase\n"
        "  tabane epub protect *.epub -o protected/ --passphrase-file pass\n"
        "                                                      many books at once\n"
        "  tabane epub protect book.epub -o lent.epub --end 2027-01-31 --copy 2000\n"
        "The basic profile is for tests: readers that are certified refuse it.",
    .define = define_protect};
constexpr Verb kUnprotect{
    .name = "unprotect",
    .what = "Decrypt the resources of books of the basic profile, and drop the licence",
    .examples =
        "  tabane epub unprotect protected.epub -o book.epub\n"
        "  tabane epub unprotect protected/*.epub -o books/ --passphrase-file pass",
    .define = define_unprotect};
constexpr const Verb* kBelow[] = {&kProtect, &kUnprotect, &epub_inspect_verb, nullptr};

}  // namespace

extern constinit const Verb epub_verb{
    .name = "epub",
    .what = "Protect e-books with Readium LCP's basic profile, and open them again",
    .group = "Protect",
    .examples =
        "  tabane epub protect book.epub -o protected.epub\n"
        "  tabane epub inspect protected.epub\n"
        "  tabane epub unprotect protected.epub -o book.epub",
    .below = kBelow};

namespace {

namespace fs = std::filesystem;
using core::FileId;
using epub::BookPaths;

// Whether OUT is a directory for books, not one book's file.
bool is_folder(const std::string& output, std::size_t books) {
  if (output.empty()) throw core::UsageError("-o: the new book needs a name");
  if (output == "-") {
    throw core::UsageError("-o -: a book is a file, not a stream; a file of that name is ./-");
  }
  std::error_code error;
  if (output.ends_with('/') || fs::is_directory(output, error)) return true;
  if (books < 2) return false;
  if (!fs::exists(output, error)) return true;
  throw core::UsageError("-o {}: is no directory, which {} books need", output, books);
}

std::optional<FileId> identity_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino};
}

// A book must not replace another new one, or one that is read.
void require_apart(const std::vector<BookPaths>& books) {
  std::map<fs::path, std::string> from;
  std::map<FileId, std::string> read;
  for (const BookPaths& book : books) {
    const auto [place, is_new] = from.emplace(book.out, book.in);
    if (!is_new) {
      throw core::UsageError("{} and {} would both become {}; give them in two calls",
                             place->second, book.in, book.out.string());
    }
    if (const auto id = identity_of(book.in)) read.emplace(*id, book.in);
  }
  for (const BookPaths& book : books) {
    const auto id = identity_of(book.out);
    const auto itself = id ? read.find(*id) : read.end();
    if (itself == read.end()) continue;
    throw core::UsageError("-o {}: is the book {} itself; give another place", book.out.string(),
                           itself->second);
  }
}

// A link is not followed: it would be replaced, or lead to a place that was not checked.
void require_free(const std::vector<BookPaths>& books, bool force) {
  for (const BookPaths& book : books) {
    std::error_code error;
    const fs::file_status there = fs::symlink_status(book.out, error);
    if (!fs::exists(there)) continue;
    if (!fs::is_regular_file(there)) {
      throw core::UsageError("-o {}: is not a regular file; a book is nothing else",
                             book.out.string());
    }
    if (!force) {
      throw core::UsageError("{} exists; --force replaces it", book.out.string());
    }
  }
}

}  // namespace

std::vector<BookPaths> places_of(const std::vector<std::string>& books, const std::string& output,
                                 bool force) {
  const bool folder = is_folder(output, books.size());
  std::vector<BookPaths> places;
  for (const std::string& book : books) {
    const fs::path name = fs::path(book).filename();
    if (name.empty()) {
      throw core::UsageError("BOOK \"{}\": is not the name of a file", book);
    }
    places.push_back({book, folder ? output / name : fs::path(output)});
  }
  require_apart(places);
  require_free(places, force);
  if (folder) require_writable_directory(output);
  return places;
}

void require_record_apart(const std::string& record, const fs::path& book) {
  if (record.empty() || book.empty()) return;
  const fs::path place = fs::absolute(core::follow_output_path(record).path);
  const fs::path other = fs::absolute(book);
  const auto id = identity_of(place), folder = identity_of(place.parent_path());
  const bool is_book = id && id == identity_of(other);
  const bool becomes_it =
      place.filename() == other.filename() && folder && folder == identity_of(other.parent_path());
  if (!is_book && !becomes_it) return;
  throw core::UsageError("--json ({}) is the book {}; give another file", record, book.string());
}

}  // namespace tabane::program
