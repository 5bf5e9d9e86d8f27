#include "tabane/tools/epub/licence.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"
#include "tabane/crypto/sha256.h"
#include "tabane/lab/record/text.h"
#include "tabane/program/layout.h"
#include "tabane/tools/epub/package.h"

namespace tabane::epub {
namespace {

using Json = nlohmann::json;  // its keys are sorted, as the signature's canonical form wants them

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
constexpr const char* kSha256 = "http://www.w3.org/2001/04/xmlenc#sha256";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Returns no object if the text is not JSON, or nested so deep that the recursions that copy and
// write it would overflow the stack.
Json parsed(const std::string& text) {
  constexpr int kMostDepth = 100;
  bool deep = false;
  const auto keep = [&](int depth, Json::parse_event_t, const Json&) {
    deep = deep || depth > kMostDepth;
    return !deep;
  };
  Json json = Json::parse(text, keep, false);
  return deep ? Json() : json;
}

// Returns the text that is signed: without white space and without the signature.
std::string canonical(Json licence) {
  licence.erase("signature");
  return licence.dump();
}

std::string new_uuid() {
  std::array<std::byte, 16> b;
  crypto::fill_random(b);
  b[6] = (b[6] & std::byte{0x0f}) | std::byte{0x40};  // version 4
  b[8] = (b[8] & std::byte{0x3f}) | std::byte{0x80};
  std::string text;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", std::to_integer<unsigned>(b[i]));
  }
  return text;
}

Json links_of(const LicenceTerms& terms, std::string_view file) {
  const std::string hint = terms.hint_url.empty() ? "data:text/plain;charset=utf-8," +
                                                        program::percent_encoded(terms.hint)
                                                  : terms.hint_url;
  const std::string book =
      terms.publication_url.empty() ? program::percent_encoded(file) : terms.publication_url;
  return {{{"rel", "hint"}, {"href", hint}},
          {{"rel", "publication"}, {"href", book}, {"type", kMimetype}}};
}

// Readers want moments in full: Readium's code takes no mere date.
Json rights_of(const Rights& rights) {
  Json json = Json::object();
  if (rights.start) json["start"] = utc_of(*rights.start).value_or(*rights.start);
  if (rights.end) json["end"] = utc_of(*rights.end).value_or(*rights.end);
  if (rights.print) json["print"] = *rights.print;
  if (rights.copy) json["copy"] = *rights.copy;
  return json;
}

// Return fields of a licence of any origin, in which fields may be missing or of another type.
std::string text_at(const Json& json, const char* path) {
  const Json::json_pointer pointer(path);
  return json.contains(pointer) && json.at(pointer).is_string()
             ? json.at(pointer).get<std::string>()
             : std::string();
}
std::optional<std::string> moment_at(const Json& json, const char* path) {
  const std::string text = text_at(json, path);
  return text.empty() ? std::nullopt : std::optional(text);
}
std::optional<std::uint64_t> number_at(const Json& json, const char* path) {
  const Json::json_pointer pointer(path);
  if (!json.contains(pointer) || !json.at(pointer).is_number_unsigned()) return std::nullopt;
  return json.at(pointer).get<std::uint64_t>();
}

SignatureCheck signature_of(const Json& json) {
  const auto certificate = from_base64(text_at(json, "/signature/certificate"));
  const auto value = from_base64(text_at(json, "/signature/value"));
  if (certificate && value) {
    return check_signature(canonical(json), text_at(json, "/signature/algorithm"), *certificate,
                           *value);
  }
  SignatureCheck check;
  check.problem = json.contains("signature") ? "it cannot be read" : "there is none";
  return check;
}

// ---- moments ----

using std::chrono::seconds;

// Whether a text has the characters of a form, with any digit for each 0.
bool has_form(std::string_view text, std::string_view form) {
  return std::ranges::equal(text, form, [](char c, char wanted) {
    return wanted == '0' ? c >= '0' && c <= '9' : c == wanted;
  });
}

std::string utc_text(std::chrono::sys_seconds moment) {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(moment)));
}

}  // namespace

std::string utc_now() {
  return utc_text(std::chrono::floor<seconds>(std::chrono::system_clock::now()));
}

std::optional<std::string> utc_of(std::string_view iso8601) {
  constexpr std::size_t kZone = 19;  // where it begins
  std::string text(iso8601);
  if (text.size() == 10) text += "T00:00:00Z";
  if (text.ends_with('Z')) text.replace(text.size() - 1, 1, "+00:00");
  if (text.size() > kZone && text[kZone] == '.') {  // a fraction of a second
    const std::size_t end = text.find_first_not_of("0123456789", kZone + 1);
    if (end > kZone + 1) text.erase(kZone, end - kZone);
  }
  if (!has_form(text, "0000-00-00T00:00:00+00:00") &&
      !has_form(text, "0000-00-00T00:00:00-00:00")) {
    return std::nullopt;
  }
  const auto number = [&](std::size_t place, std::size_t digits) {
    return std::stoi(text.substr(place, digits));
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  const int zone_hours = number(20, 2), zone_minutes = number(23, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 60 || zone_hours > 23 ||
      zone_minutes > 59) {
    return std::nullopt;
  }
  const std::chrono::minutes local(60 * hour + minute), offset(60 * zone_hours + zone_minutes);
  return utc_text(std::chrono::sys_days(date) + local + seconds(second) +
                  (text[kZone] == '-' ? offset : -offset));
}

Key user_key(const crypto::Passphrase& passphrase) {
  crypto::Sha256Sum sum = crypto::sha256(passphrase.bytes());
  Key key;
  std::ranges::copy(sum, key.bytes().begin());
  crypto::wipe(sum);
  return key;
}

std::string new_licence(const LicenceTerms& terms, std::string_view file, const Key& user,
                        const Key& content, const Provider& provider) {
  const std::string id = new_uuid();
  Json json{
      {"id", id},
      {"issued", utc_now()},
      {"provider", terms.provider},
      {"encryption",
       {{"profile", kBasicProfile},
        {"content_key",
         {{"algorithm", kAes256Cbc}, {"encrypted_value", encrypt_value(user, content.bytes())}}},
        {"user_key",
         {{"algorithm", kSha256},
          {"text_hint", terms.hint},
          {"key_check", encrypt_value(user, bytes_of(id))}}}}},
      {"links", links_of(terms, file)},
      {"rights", rights_of(terms.rights)}};
  if (!terms.user.empty()) json["user"] = {{"id", terms.user}};
  try {
    const std::string signature = provider.sign(canonical(json));
    json["signature"] = {{"algorithm", kRsaSha256},
                         {"certificate", lab::to_base64(provider.certificate())},
                         {"value", lab::to_base64(signature)}};
    return json.dump();
  } catch (const Json::type_error&) {
    throw core::Error("{}: the hint, the provider, the user or a URL for its licence is not UTF-8",
                      file);
  }
}

Licence read_licence(const Archive& book) {
  const Entry* const entry = book.find(kLicenceName);
  if (entry == nullptr) {
    throw core::Error("{}: has no {}, so it is not protected by a licence", book.path(),
                      kLicenceName);
  }
  const Json json = parsed(book.text_of(*entry, kMostBytes));
  if (!json.is_object()) {
    throw core::Error("{}: {} is no licence: it is not JSON, or nested too deep", book.path(),
                      kLicenceName);
  }
  Licence licence{.id = text_at(json, "/id"),
                  .issued = text_at(json, "/issued"),
                  .provider = text_at(json, "/provider"),
                  .profile = text_at(json, "/encryption/profile"),
                  .hint = text_at(json, "/encryption/user_key/text_hint"),
                  .user = text_at(json, "/user/id"),
                  .key_check = text_at(json, "/encryption/user_key/key_check"),
                  .content_key = text_at(json, "/encryption/content_key/encrypted_value"),
                  .rights = {.start = moment_at(json, "/rights/start"),
                             .end = moment_at(json, "/rights/end"),
                             .print = number_at(json, "/rights/print"),
                             .copy = number_at(json, "/rights/copy")},
                  .signature = signature_of(json)};
  if (licence.id.empty() || licence.key_check.empty() || licence.content_key.empty()) {
    throw core::Error("{}: {} is no licence: it lacks id, key_check or content_key", book.path(),
                      kLicenceName);
  }
  return licence;
}

std::string fault_of(const Licence& licence) {
  if (licence.profile != kBasicProfile) {
    return fmt::format(
        "its profile is {}, whose keys only certified readers can make; known here "
        "is {}",
        licence.profile.empty() ? "not named" : licence.profile, kBasicProfile);
  }
  if (licence.signature.good) return {};
  return "the signature of its licence is not good: " + licence.signature.problem;
}

std::optional<Key> content_key(const Licence& licence, const Key& user) {
  if (decrypt_value(user, licence.key_check) != licence.id) return std::nullopt;
  std::optional<std::string> bytes = decrypt_value(user, licence.content_key);
  if (!bytes) return std::nullopt;
  const auto found = std::as_writable_bytes(std::span(*bytes));
  std::optional<Key> key;
  if (found.size() == kKeyBytes) std::ranges::copy(found, key.emplace().bytes().begin());
  crypto::wipe(found);
  return key;
}

std::string expiry(const Rights& rights, std::string_view now) {
  const auto start = rights.start ? utc_of(*rights.start) : std::nullopt;
  const auto end = rights.end ? utc_of(*rights.end) : std::nullopt;
  if (end && *end < now) return "ended on " + *rights.end;
  if (start && *start > now) return "begin only on " + *rights.start;
  return {};
}

}  // namespace tabane::epub
