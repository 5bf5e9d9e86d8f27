// tabane rekey: changes whom a sealed tree is for.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "tabane/core/error.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/passphrase_prompt.h"
#include "tabane/program/progress.h"
#include "tabane/tools/encrypt/job_text.h"
#include "tabane/tools/encrypt/rekey.h"
#include "tabane/tools/encrypt/run_keys.h"

namespace tabane::program {
namespace {

using namespace encrypt;

struct Options {
  std::string tree;
  std::optional<std::string> key_file, passphrase_file, new_key_file, new_passphrase_file;
  std::vector<std::string> identities, recipients;
  bool new_passphrase = false, add = false, list = false, allow_costly = false;
};

void warn(const std::string& text) {
  if (!text.empty()) fmt::print(stderr, "warning: {}\n", printable(text));
}

MasterKey key_of(const std::string& path, bool is_new) {
  crypto::KeyFile file = crypto::read_key_file(path, kMasterKeyBytes);
  warn(file.warning);
  if (is_new && !file.weakness.empty()) throw core::UsageError(file.weakness);
  return std::move(file.key);
}

crypto::Passphrase passphrase_of(const std::string& path) {
  crypto::PassphraseFile file = crypto::read_passphrase_file(path);
  warn(file.warning);
  return std::move(file.passphrase);
}

// What the tree is opened with.
Request read_old(const Options& options) {
  Request given;
  given.allow_costly_passphrase = options.allow_costly;
  given.has_key = options.key_file.has_value();
  if (options.key_file) given.key = key_of(*options.key_file, false);
  if (options.passphrase_file) given.passphrase = passphrase_of(*options.passphrase_file);
  for (const std::string& path : options.identities) {
    IdentityFile file = read_identity_file(path);
    warn(file.warning);
    std::ranges::move(file.identities, std::back_inserter(given.identities));
  }
  const bool none = !given.has_key && given.passphrase.empty() && given.identities.empty();
  if (none) given.passphrase = ask_passphrase(false);
  return given;
}

NewOpeners read_new(const Options& options) {
  NewOpeners openers;
  openers.keeps = options.add;
  for (const std::string& recipient : options.recipients) {
    std::ranges::copy(read_recipients(recipient), std::back_inserter(openers.recipients));
  }
  if (options.new_key_file) openers.key = key_of(*options.new_key_file, true);
  if (options.new_passphrase_file) openers.passphrase = passphrase_of(*options.new_passphrase_file);
  if (options.new_passphrase) openers.passphrase = ask_passphrase(true, "New passphrase: ");
  if (!openers.passphrase.empty()) warn(crypto::weakness_of(openers.passphrase));
  return openers;
}

void require_somebody(const Options& options) {
  if (!options.recipients.empty() || options.new_key_file || options.new_passphrase_file ||
      options.new_passphrase) {
    return;
  }
  throw core::UsageError(
      "nobody is named who can open TREE: give --recipient, --new-key-file, "
      "--new-passphrase-file or --new-passphrase");
}

void look_at_key_files(const Options& options) {
  crypto::KeyFiles files;
  for (const auto& path : {options.key_file, options.passphrase_file, options.new_key_file,
                           options.new_passphrase_file}) {
    files.add(path);
  }
  for (const std::string& path : options.identities) files.add(path);
  for (const std::string& path : options.recipients) files.add(path, false);
  files.require_none("TREE", options.tree + "/.tabane/keys");
  warn(text_of_keys_inside(files, "TREE", options.tree, true));
}

void run(const Options& options) {
  std::string openers;
  if (options.list) {
    openers = openers_of(options.tree);
  } else {
    require_somebody(options);
    openers_of(options.tree);  // nobody likes to type a passphrase for nothing
    look_at_key_files(options);
    make_memory_unreadable();
    const Request old = read_old(options);
    const NewOpeners now = read_new(options);
    const StopOnSignal stop;
    const auto stop_requested = [] { return StopOnSignal::requested(); };
    KeyRing ring = ring_of(old, {.stop_requested = stop_requested});
    try {
      openers = rekey(options.tree, ring, now, stop_requested);
    } catch (const Stopped&) {
      StopOnSignal::die_as_asked();
    } catch (const WrongKey& error) {
      throw core::Error("wrong key: {} is sealed for {}; nothing was changed", options.tree,
                        error.expected());
    }
  }
  fmt::print("{} is sealed for {}\n", printable(options.tree), openers);
}

Definition define() {
  const auto options = std::make_shared<Options>();
  return {{{"TREE", &options->tree, "A directory that encrypt wrote", {.required = true}},
           {"--key-file FILE",
            &options->key_file,
            "Open TREE with the key in FILE",
            {.excludes = {"--passphrase-file"}}},
           {"--passphrase-file FILE", &options->passphrase_file,
            "Open TREE with the passphrase in the first line of FILE; without any key, tabane asks "
            "for a passphrase"},
           {"--identity FILE", &options->identities,
            "Open TREE with the secret keys in FILE; the option may be repeated"},
           {"--allow-costly-passphrase", &options->allow_costly,
            "Derive a key from the passphrase even if TREE asks for more than 1 GiB of memory or "
            "four times the usual time"},
           {"--recipient KEY", &options->recipients,
            "Let TREE open for a public key: the text tabane1..., or a FILE with one in each line; "
            "the option may be repeated"},
           {"--new-key-file FILE", &options->new_key_file, "Let TREE open with the key in FILE"},
           {"--new-passphrase-file FILE", &options->new_passphrase_file,
            "Let TREE open with the passphrase in the first line of FILE"},
           {"--new-passphrase",
            &options->new_passphrase,
            "Let TREE open with a passphrase that tabane asks for",
            {.excludes = {"--new-passphrase-file"}}},
           {"--add", &options->add, "Keep the present keys and recipients of TREE, too"},
           {"--list", &options->list, "Show who can open TREE, and change nothing"}},
          [options](const Given&) {
            run(*options);
            return kOk;
          }};
}

}  // namespace

extern constinit const Verb rekey_verb{
    .name = "rekey",
    .what =
        "Change who can open an encrypted tree, without touching its files; former keys still open "
        "the files that are already there",
    .group = "Protect",
    .examples =
        "  tabane rekey --key-file my.key --add --recipient ann.pub sealed\n"
        "                        lets Ann open the tree, too\n"
        "  tabane rekey --identity me.identity --recipient me.pub --recipient bob.pub sealed\n"
        "                        opens the tree for these two only; the recipients before them "
        "can\n"
        "                        still open the files that they could open before\n"
        "  tabane rekey --new-passphrase sealed\n"
        "                        asks for the old passphrase, and twice for a new one\n"
        "  tabane rekey --list sealed\n"
        "                        shows who can open the tree, and changes nothing",
    .define = define};

}  // namespace tabane::program
