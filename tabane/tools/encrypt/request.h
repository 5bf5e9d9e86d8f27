// What a job is asked to do, and what it tells while it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tabane/crypto/cbc_cipher.h"
#include "tabane/crypto/engine.h"
#include "tabane/crypto/key_derivation.h"
#include "tabane/crypto/keys.h"
#include "tabane/device/module.h"
#include "tabane/tools/encrypt/identity.h"
#include "tabane/tools/encrypt/manifest_format.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {

enum class Direction { encrypt, decrypt, verify };
enum class Cipher { aes_256_gcm, aes_128_cbc, aes_256_cbc };

// Bytes of a key file for the cipher: 16 or 32.
constexpr std::size_t key_bytes(Cipher cipher) { return cipher == Cipher::aes_128_cbc ? 16 : 32; }

// As IN or OUT: standard input or output. A file of that name is ./-.
inline constexpr const char* kStandardStream = "-";

struct Request {
  Direction direction = Direction::encrypt;
  Cipher cipher = Cipher::aes_256_gcm;
  std::string in, out;  // out: not for verify
  // A file that the caller is going to write, given by --json; empty: none. It must neither be IN
  // or OUT nor lie there, nor in a sealed tree that IN is a part of.
  std::string record;
  crypto::KeyFiles key_files;  // that the caller reads what follows from; nothing replaces them
  MasterKey key;               // used if there is no passphrase; AES-128 takes the first 16 bytes
  bool has_key = true;         // false: only a passphrase, identities or recipients
  crypto::Passphrase passphrase;      // this and the next two: not for CBC
  std::vector<Identity> identities;   // that open, beside the key or passphrase
  std::vector<Recipient> recipients;  // that may open what is encrypted
  std::optional<crypto::Block>
      fixed_iv;  // CBC: for all files, nothing stored; otherwise stored in front
  std::vector<std::string> excludes;
  bool dry_run = false;  // plan and check, write nothing
  bool resume = false;   // keep what is complete and current
  bool update = false;   // with resume: bring a sealed tree up to date, by its manifest
  // With update: remove what IN lacks even if that is more than half of the files, and more than
  // ten, of which Hooks::may_remove() is asked otherwise.
  bool remove_most = false;
  bool force = false;  // replace what is there
  bool fsync = false;
  bool preserve = false;          // modes as they are, see modes.h
  bool hide_names = false;        // encrypt: a directory's names and structure only in the manifest
  bool quick = false;             // verify: only the manifest and what it tells files apart by
  bool without_manifest = false;  // decrypt, verify: take the files as they are
  std::optional<ManifestHash> root;  // decrypt, verify: of the manifest, if it is known
  unsigned threads = 0;              // 0: chosen from the files and the machine
  crypto::Engine engine = crypto::Engine::automatic;
  std::string device;  // of opencl; see device::choose_device()
  // Derives keys from passphrases at any cost that a header asks for; see KeyRing.
  bool allow_costly_passphrase = false;
  int passphrase_log2_n = crypto::kPassphraseLog2N;  // of what is written; less is for tests
  bool measure_copy = true;  // copies some of the input between the work, for Outcome::copy_share
};

struct Progress {
  std::uint64_t files = 0, bytes = 0;              // done
  std::uint64_t files_total = 0, bytes_total = 0;  // of the input
};

struct Hooks {
  // Called from any thread.
  std::function<bool()> stop_requested = [] { return false; };
  // Once, when neither OUT nor the record lies where the job reads or writes other things.
  std::function<void()> places_are_fit = [] {};
  std::function<void(const Progress&)> progress = [](const Progress&) {};  // ten times a second
  // Asks whether an update may remove so many of the files of OUT, where that needs a yes. May
  // throw Stopped.
  std::function<bool(std::uint64_t files, std::uint64_t of)> may_remove =
      [](std::uint64_t, std::uint64_t) { return false; };
  // Opens the coprocessor with this index; tests have one that fails.
  std::function<std::unique_ptr<device::Device>(std::size_t)> open_device = device::open_device;
};

}  // namespace tabane::encrypt
