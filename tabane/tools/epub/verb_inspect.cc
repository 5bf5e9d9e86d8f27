// tabane epub inspect: describes a book and its licence.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/crypto/keys.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/output.h"
#include "tabane/program/passphrase_prompt.h"
#include "tabane/tools/epub/books.h"
#include "tabane/tools/epub/verb.h"

namespace tabane::program {
namespace {

using namespace epub;

struct InspectOptions {
  std::vector<std::string> books;
  std::optional<std::string> passphrase_file;
  JsonOption json;
};

struct Inspected {
  std::string path;
  std::string error;  // empty: it could be read
  BookReport report;
  std::optional<bool> opens;  // with the passphrase that was given
};

bool is_good(const Inspected& book) {
  return book.error.empty() && book.report.fault.empty() && book.opens.value_or(true);
}

std::string row(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format("  {:<12}{}\n", name, printable(value));
}

std::string signature_text(const SignatureCheck& check) {
  if (!check.good) return "NOT GOOD: " + check.problem;
  return fmt::format("good, by {}{}, valid until {}", check.subject,
                     check.self_signed ? ", for which nobody vouches" : "", check.valid_until);
}

std::string rights_text(const Rights& rights, const std::string& expiry) {
  std::vector<std::string> parts;
  if (rights.start) parts.push_back("from " + *rights.start);
  if (rights.end) parts.push_back("until " + *rights.end);
  if (rights.print) parts.push_back(fmt::format("print {} pages", *rights.print));
  if (rights.copy) parts.push_back(fmt::format("copy {} characters", *rights.copy));
  if (parts.empty()) return "unlimited";
  return fmt::format("{}{}", fmt::join(parts, ", "),
                     expiry.empty() ? "" : "; NOT IN FORCE: " + expiry);
}

std::string licence_text(const Inspected& book) {
  const Licence& licence = *book.report.licence;
  return row("licence", licence.id) + row("issued", licence.issued) +
         row("provider", licence.provider) + row("profile", licence.profile) +
         row("user", licence.user) + row("hint", licence.hint) +
         row("rights", rights_text(licence.rights, book.report.expiry)) +
         row("signature", signature_text(licence.signature)) +
         (book.opens ? row("passphrase", *book.opens ? "opens it" : "DOES NOT OPEN IT") : "");
}

std::string text_of(const Inspected& book) {
  const BookReport& report = book.report;
  return fmt::format("{}\n", printable(book.path)) + row("title", report.title) +
         row("EPUB", report.version) +
         row("resources",
             fmt::format("{} encrypted, {} clear{}", report.encrypted, report.clear,
                         report.obfuscated > 0
                             ? fmt::format(", {} of them obfuscated fonts", report.obfuscated)
                             : "")) +
         row("other", report.foreign.empty() ? "" : "encrypted otherwise: " + report.foreign) +
         (report.licence ? licence_text(book) : row("licence", "none"));
}

template <class T>
lab::Json or_null(const std::optional<T>& value) {
  return value ? lab::Json(*value) : lab::Json();
}

lab::Json json_of(const Licence& licence, const BookReport& report) {
  const Rights& rights = licence.rights;
  return {{"id", licence.id},
          {"issued", licence.issued},
          {"provider", licence.provider},
          {"profile", licence.profile},
          {"user", licence.user},
          {"hint", licence.hint},
          {"rights",
           {{"start", or_null(rights.start)},
            {"end", or_null(rights.end)},
            {"print_pages", or_null(rights.print)},
            {"copy_characters", or_null(rights.copy)},
            {"in_force", report.expiry.empty()}}},
          {"signature",
           {{"good", licence.signature.good},
            {"problem", licence.signature.problem},
            {"certificate", licence.signature.subject},
            {"self_signed", licence.signature.self_signed}}},
          {"fault", report.fault}};
}

lab::Json json_of(const Inspected& book) {
  lab::Json json{{"in", lossy_utf8(book.path)}};
  if (!book.error.empty()) {
    json["error"] = lossy_utf8(book.error);
    return json;
  }
  const BookReport& report = book.report;
  json["title"] = lossy_utf8(report.title);
  json["epub_version"] = lossy_utf8(report.version);
  json["resources_encrypted"] = report.encrypted;
  json["resources_clear"] = report.clear;
  json["fonts_obfuscated"] = report.obfuscated;
  json["licence"] = report.licence ? json_of(*report.licence, report) : lab::Json();
  json["passphrase_opens"] = or_null(book.opens);
  return json;
}

Inspected inspect(const std::string& path, const std::optional<Key>& user) {
  Inspected book{.path = path};
  try {
    book.report = inspect_book(path);
    if (user && book.report.licence) {
      book.opens = content_key(*book.report.licence, *user).has_value();
    }
  } catch (const core::Error& error) {
    book.error = error.what();
  }
  return book;
}

int run(const InspectOptions& options) {
  options.json.check(false);
  crypto::KeyFiles files;
  files.add(options.passphrase_file);
  if (!options.json.file().empty()) files.require_none("--json", options.json.file());
  for (const std::string& book : options.books) require_record_apart(options.json.file(), book);
  options.json.allow_errors();
  if (std::ranges::find(options.books, "") != options.books.end()) {
    throw core::UsageError("BOOK \"\": is not the name of a file");
  }
  make_memory_unreadable();
  std::optional<Key> user;
  if (options.passphrase_file) {
    const auto read = crypto::read_passphrase_file(*options.passphrase_file);
    if (!read.warning.empty()) fmt::print(stderr, "warning: {}\n", printable(read.warning));
    user = user_key(read.passphrase);
  }
  lab::Json books = lab::Json::array();
  int code = kOk;
  for (const std::string& path : options.books) {
    const Inspected book = inspect(path, user);
    if (!book.error.empty()) {
      fmt::print(stderr, "tabane epub inspect: {}\n", printable(book.error));
      code = kFailed;
    } else if (!options.json.to_stdout()) {
      fmt::print("{}", text_of(book));
    }
    if (code == kOk && !is_good(book)) code = kVerification;
    if (options.json.given()) books.push_back(json_of(book));
  }
  options.json.write({{"schema_version", 1}, {"verb", "epub inspect"}, {"books", books}});
  return code;
}

Definition define() {
  const auto options = std::make_shared<InspectOptions>();
  return {{{"BOOK", &options->books, "The books", {.required = true}},
           {"--passphrase-file FILE", &options->passphrase_file,
            "Try the passphrase in the first line of FILE"},
           options->json.row()},
          [options](const Given&) { return run(*options); }};
}

}  // namespace

extern constinit const Verb epub_inspect_verb{
    .name = "inspect",
    .what = "Show a book's licence, and check its signature",
    .examples =
        "  tabane epub inspect protected.epub\n"
        "  tabane epub inspect protected.epub --passphrase-file pass\n"
        "                                     says also whether it opens the book\n"
        "It ends with 4 if the licence or the passphrase is not good.",
    .define = define};

}  // namespace tabane::program
