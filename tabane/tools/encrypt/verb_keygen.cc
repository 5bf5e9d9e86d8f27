// tabane keygen: makes a key file, or a pair of keys.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "tabane/core/error.h"
#include "tabane/crypto/keys.h"
#include "tabane/program/command.h"
#include "tabane/program/passphrase_prompt.h"
#include "tabane/program/printable.h"
#include "tabane/tools/encrypt/identity.h"

namespace tabane::program {

namespace {

struct Options {
  std::string file;
  bool pair = false;
};

void make(const Options& options) {
  using namespace encrypt;
  if (std::filesystem::exists(std::filesystem::symlink_status(options.file))) {
    throw core::Error(fmt::format("{} exists, and a key file is never replaced", options.file));
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
            "The file to make; an existing file stays as it is",
            {.required = true}},
           {"--pair", &options->pair,
            "Write a secret X25519 key for decrypt --identity into FILE, and print its public key "
            "for encrypt --recipient"}},
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
        "                          whoever has it can encrypt, and only the secret key decrypts",
    .define = define};

}  // namespace tabane::program
