// tabane epub: books under Readium LCP's basic profile, and back.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>

#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/crypto/key_files.h"
#include "tabane/program/command.h"
#include "tabane/program/output.h"
#include "tabane/program/passphrase_prompt.h"
#include "tabane/program/printable.h"
#include "tabane/program/progress.h"
#include "tabane/program/unreadable_memory.h"
#include "tabane/tools/epub/books.h"
#include "tabane/tools/epub/moment.h"
#include "tabane/tools/epub/verb_places.h"

namespace tabane::program {

extern const Verb epub_inspect_verb;

namespace {

using namespace epub;

enum class Way { protect, unprotect };

struct Options {
  std::vector<std::string> books;
  std::string output;
  std::optional<std::string> passphrase_file;
  std::optional<std::string> certificate, private_key;
  std::optional<int> threads;
  Terms terms;
  bool force = false, quiet = false;
  JsonOption json;
};

// Also from threads, which a full disk or a closed pipe must not end: main() tells of stdout.
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

std::string count_of(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

std::string line_of(Way way, const BookPaths& paths, const BookResult& result) {
  std::string line = fmt::format("{}: {} {}, {} clear", printable(paths.out.string()),
                                 count_of(result.encrypted, "resource"),
                                 way == Way::protect ? "encrypted" : "decrypted", result.clear);
  if (result.obfuscated > 0) {
    line += fmt::format(", {} left as they are", count_of(result.obfuscated, "obfuscated font"));
  }
  return line + fmt::format(", {}\n", core::format_bytes(result.bytes_out));
}

// Shows progress and what becomes of each book.
class Teller {
 public:
  Teller(Way way, const Options& options, const std::vector<BookPaths>& books)
      : way_(way), options_(options), books_(books), line_(options.quiet) {}

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
    line_.show(books_.size() == 1 ? "" : count_of(books_.size(), "book"), done,
               known ? gone.count() * (1 / done - 1) : -1);
  }
  void tell_leftovers(std::size_t files) const {
    if (options_.quiet || options_.json.to_stdout()) return;
    say(stdout,
        fmt::format("removed: {} of an interrupted run\n", count_of(files, "temporary file")));
  }
  void tell(const BookPaths& paths, const BookResult& result) {
    const std::lock_guard lock(mutex_);
    line_.clear();
    warn(result.warning);
    if (!result.error.empty()) {
      if (!result.stopped) say(stderr, fmt::format("tabane: {}\n", printable(result.error)));
    } else if (!options_.quiet && !options_.json.to_stdout()) {
      say(stdout, line_of(way_, paths, result));
    }
  }

  const Way way_;
  const Options& options_;
  const std::vector<BookPaths>& books_;
  std::mutex mutex_;
  ProgressLine line_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

lab::Json json_of(Way way, const std::vector<BookPaths>& paths,
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
  return {{"schema_version", 1},
          {"verb", way == Way::protect ? "epub protect" : "epub unprotect"},
          {"books", std::move(books)}};
}

int end(const Options& options, Way way, const std::vector<BookPaths>& books,
        const std::vector<BookResult>& results) {
  options.json.write(json_of(way, books, results));
  const auto done = std::ranges::count_if(results, [](const auto& r) { return r.error.empty(); });
  const auto all = static_cast<std::ptrdiff_t>(results.size());
  if (std::ranges::any_of(results, &BookResult::stopped)) {
    fmt::print(stderr, "tabane: stopped after {} of {}; no half-written book was left\n", done,
               count_of(results.size(), "book"));
    StopOnSignal::die_as_asked();
  } else if (done < all && all > 1) {
    fmt::print(stderr, "tabane: {} of {} failed\n", all - done, count_of(results.size(), "book"));
  }
  return done == all ? kOk : kFailed;
}

void check_terms(const Options& options) {
  if (options.certificate.has_value() != options.private_key.has_value()) {
    throw core::UsageError("--certificate and --private-key go together");
  }
  const Rights& rights = options.terms.rights;
  for (const auto& [option, moment] :
       {std::pair("--start", &rights.start), {"--end", &rights.end}}) {
    if (!*moment || utc_of(**moment)) continue;
    throw core::UsageError(fmt::format(
        "{} {}: is no date; legal are 2026-01-31 and 2026-01-31T12:00:00Z, the latter also with "
        "an offset such as +09:00 for Z",
        option, **moment));
  }
  if (rights.start && rights.end && *utc_of(*rights.end) <= *utc_of(*rights.start)) {
    throw core::UsageError("--end: is not after --start");
  }
}

std::function<Provider()> provider_of(const Options& options) {
  if (!options.certificate) return [] { return Provider::for_tests(); };
  warn(crypto::warning_of(crypto::open_to_read(*options.private_key), *options.private_key));
  // Read now: what is wrong with the files is told before anything is made.
  auto provider =
      std::make_shared<Provider>(Provider::from_files(*options.certificate, *options.private_key));
  return [provider] { return std::move(*provider); };
}

// No book and no record may replace what the passphrase or the provider's key is read from.
void require_apart_from_keys(const Options& options, const std::vector<BookPaths>& books) {
  crypto::KeyFiles files;
  for (const auto& path : {options.passphrase_file, options.certificate, options.private_key}) {
    files.add(path);
  }
  for (const BookPaths& book : books) files.require_none("-o", book.out);
  if (!options.json.file().empty()) files.require_none("--json", options.json.file());
}

int run(const Options& options, Way way) {
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
  const auto provider = way == Way::protect ? provider_of(options) : nullptr;
  request.passphrase = read_passphrase(options.passphrase_file, way == Way::protect);
  if (way == Way::protect) warn(crypto::weakness_of(request.passphrase));
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the size limit fails alone, with EFBIG
  std::signal(SIGPIPE, SIG_IGN);  // the books are made, whoever has stopped reading of them
  const StopOnSignal stop;
  Teller teller(way, options, request.books);
  const std::vector<BookResult> results =
      way == Way::protect ? protect_books(request, options.terms, provider, teller.hooks())
                          : unprotect_books(request, teller.hooks());
  teller.clear();
  return end(options, way, request.books, results);
}

std::vector<Option> common_rows(Options& options) {
  return {{"BOOK", &options.books, "The books", {.required = true}},
          {"-o,--output OUT",
           &options.output,
           "The new book; for several books a directory, which is made if it is missing",
           {.required = true}},
          {"--passphrase-file FILE", &options.passphrase_file,
           "Read the passphrase from the first line of FILE; without it tabane asks for it"}};
}

std::vector<Option> terms_rows(Options& options) {
  Terms& terms = options.terms;
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
       "Where the protected book is to be had; default: its file name"},
      {"--user ID", &terms.user, "The user's id in the licence; default: none"},
      {"--start DATE", &terms.rights.start,
       "The licence holds from this moment on; a date is the beginning of its day in UTC"},
      {"--end DATE", &terms.rights.end,
       "The licence ends at this moment; a date is the beginning of its day in UTC"},
      {"--print N", &terms.rights.print, "At most N pages may be printed", {.range = kFromZero}},
      {"--copy N", &terms.rights.copy, "At most N characters may be copied", {.range = kFromZero}}};
}

std::vector<Option> last_rows(Options& options) {
  return {
      {"--force", &options.force,
       "Replace books that are there, and remove from the folders of the new books the "
       "temporary files (.tabane-*.part) of killed runs: those of yours that nobody has written "
       "to for an hour and no run has locked"},
      {"-t,--threads N",
       &options.threads,
       "Use N threads; default: one for each PU that may be used",
       {.range = {1, 4096}}},
      options.json.row(),
      {"-q,--quiet", &options.quiet, "Show no progress and no results, only what fails"}};
}

Definition define_protect() {
  const auto options = std::make_shared<Options>();
  return {table(common_rows(*options), terms_rows(*options), last_rows(*options)),
          [options](const Given&) { return run(*options, Way::protect); }};
}

Definition define_unprotect() {
  const auto options = std::make_shared<Options>();
  return {table(common_rows(*options), last_rows(*options)),
          [options](const Given&) { return run(*options, Way::unprotect); }};
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

}  // namespace tabane::program
