// tabane keygen: makes a key file, or a pair of keys.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/crypto/keys.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/passphrase_prompt.h"
#include "tabane/tools/encrypt/identity.h"
#include "tabane/tools/encrypt/key_slots.h"

namespace tabane::program {

namespace {

struct Options {
  std::string file;
  bool pair = false, show = false;
};

std::vector<encrypt::Recipient> recipients_in(const std::string& file) {
  std::vector<encrypt::Recipient> recipients;
  try {
    for (const encrypt::Identity& identity : encrypt::read_identity_file(file).identities)
      recipients.push_back(identity.recipient);
  } catch (const core::UsageError&) {
    return encrypt::read_recipients(file);
  }
  return recipients;
}

void make(const Options& options) {
  using namespace encrypt;
  if (options.show) {
    make_memory_unreadable();
    for (const Recipient& recipient : recipients_in(options.file))
      fmt::print("{} {}\n", text_of(fingerprint_of(recipient)), text_of(recipient));
    return;
  }
  if (std::filesystem::exists(std::filesystem::symlink_status(options.file))) {
    throw core::Error("{} exists, and a key file is never replaced", options.file);
  }
  make_memory_unreadable();
  if (options.pair) {
    fmt::print("{}\n", encrypt::text_of(write_new_identity(options.file)));
  } else {
    crypto::write_new_key_file(options.file);
  }
  fmt::print(
      stderr,
      "{} is a new {}; keep a copy in a safe place: what is encrypted {} is lost without it\n",
      printable(options.file), options.pair ? "identity" : "key",
      options.pair ? "for its public key" : "with it");
}

Definition define() {
  const auto options = std::make_shared<Options>();
  return {{{"FILE",
            &options->file,
            "The file to make, which must not exist; with --show, the file to read",
            {.required = true}},
           {"--pair", &options->pair,
            "Write a secret X25519 key for decrypt --identity into FILE, and print its public key "
            "for encrypt --recipient"},
           {"--show",
            &options->show,
            "Show the public keys in FILE, of --pair or for --recipient, after the names that "
            "rekey --list gives them",
            {.excludes = {"--pair"}}}},
          [options](const Given&) {
            make(*options);
            return kOk;
          }};
}

}  // namespace

extern constinit const Verb keygen_verb{
    .name = "keygen",
    .what = "Make a key file for encrypt, or a secret and a public key",
    .group = "Protect",
    .examples =
        "  tabane keygen my.key    makes a key of 32 random bytes that only you can read\n"
        "  tabane keygen --pair me.identity > me.pub\n"
        "                          makes a secret key, and prints the public key that belongs to "
        "it:\n"
        "                          whoever has it can encrypt, and only the secret key decrypts\n"
        "  tabane keygen --show me.pub\n"
        "                          shows the name that rekey --list gives this key",
    .define = define};

}  // namespace tabane::program
