// Pairs of keys as texts and files: an identity opens what is sealed for its recipient.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tabane/crypto/key_derivation.h"

namespace tabane::encrypt {

using Recipient = crypto::X25519Public;

struct Identity {
  crypto::X25519Secret secret;
  Recipient recipient{};  // that belongs to it
};

// "tabane1…"
std::string text_of(const Recipient& recipient);

// throws: core::UsageError saying what is wrong with it, without showing a secret.
Recipient parse_recipient(std::string_view text);

// The recipient that `file_or_text` is, if it begins with "tabane1", or those of the file: one in
// each line that is not empty and does not begin with '#'.
// throws: core::SystemError; core::UsageError naming the file and line.
std::vector<Recipient> read_recipients(const std::string& file_or_text);

struct IdentityFile {
  std::vector<Identity> identities;  // at least one
  std::string warning;               // others can read the file; empty: they cannot
};

// Reads "TABANE-SECRET-KEY-1…" lines beside empty ones and comments. throws: as read_recipients().
IdentityFile read_identity_file(const std::string& path);

// Makes a file with a fresh identity that only its owner can read and that was not there; returns
// its recipient. throws: core::SystemError naming the file.
Recipient write_new_identity(const std::string& path);

}  // namespace tabane::encrypt
