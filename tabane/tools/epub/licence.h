// META-INF/license.lcpl: the licence of Readium LCP 1.0, basic profile. It holds the content key
// under the user's passphrase, and is signed by a provider.
//
// The basic profile is the one for tests: how the key comes from the passphrase is public, where
// the profiles of production keep it secret.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tabane/crypto/keys.h"
#include "tabane/tools/epub/archive.h"
#include "tabane/tools/epub/cryptography.h"

namespace tabane::epub {

inline constexpr const char* kBasicProfile = "http://readium.org/lcp/basic-profile";

struct Rights {
  std::optional<std::string> start, end;     // ISO 8601
  std::optional<std::uint64_t> print, copy;  // pages; characters
};

// The choices of whoever protects a book.
struct LicenceTerms {
  std::string provider = "https://example.com/tabane-test-provider";
  std::string hint = "The passphrase that the book was protected with";
  std::string hint_url;         // empty: a data: URL of the hint
  std::string publication_url;  // empty: the book's file name
  std::string user;             // its id; empty: none is named
  Rights rights;
};

struct Licence {
  std::string id, issued, provider, profile, hint, user;
  std::string key_check, content_key;  // base64
  Rights rights;
  SignatureCheck signature;
};

// SHA-256 of the passphrase.
Key user_key(const crypto::Passphrase& passphrase);

// Returns the text of a new, signed licence. file: the book's name. throws: core::Error if the
// terms are not UTF-8.
std::string new_licence(const LicenceTerms& terms, std::string_view file, const Key& user,
                        const Key& content, const Provider& provider);

// Reads the licence of a protected book, and checks its signature. throws: core::Error naming the
// book if it has none, or one that cannot be read.
Licence read_licence(const Archive& book);

// Returns why a licence should not be followed: it has another profile, or its signature is not
// good. Empty: nothing is wrong.
std::string fault_of(const Licence& licence);

// Returns null if the user key is not that of the licence.
std::optional<Key> content_key(const Licence& licence, const Key& user);

// Returns what the rights say about a moment, as a clause: "ended on …"; empty: they are in force.
// now: as utc_now() writes it.
std::string expiry(const Rights& rights, std::string_view now);

// Moments as licences have them: ISO 8601, as RFC 3339 narrows it.
std::string utc_now();  // "2026-01-31T12:00:00Z"

// Returns the moment in UTC as utc_now() writes it; null unless it is a date, or a date and a time
// with Z or an offset.
std::optional<std::string> utc_of(std::string_view iso8601);

}  // namespace tabane::epub
