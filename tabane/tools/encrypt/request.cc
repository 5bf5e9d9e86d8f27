#include "tabane/tools/encrypt/request.h"

#include "tabane/core/error.h"

namespace tabane::encrypt {
namespace {

void check_device(const Request& request) {
  if (request.engine != crypto::Engine::opencl) return;
  if (request.in == kStandardStream) {
    throw core::UsageError(
        "--engine opencl works on files; standard input takes auto, openssl or ipsec-mb");
  }
  if (!request.encrypts() && !request.is_sealed()) {
    throw core::UsageError(
        "--engine opencl decrypts and verifies only aes-256-gcm; for aes-*-cbc give auto, openssl "
        "or ipsec-mb");
  }
  device::choose_device(device::devices(), request.device);
}

// What does not go with IN or OUT as a standard stream.
void check_stream(const Request& request) {
  const bool reads = request.in == kStandardStream, writes = request.out == kStandardStream;
  if (!reads && !writes) return;
  const auto refuse_if = [](bool given, const char* what, const char* why) {
    if (given) throw core::UsageError("{} does not go with -: {}", what, why);
  };
  refuse_if(request.dry_run, "--dry-run", "a stream can be read only once");
  refuse_if(request.update, "--update", "it brings a directory up to date");
  refuse_if(request.resume, "--resume", "a stream has to be read and written from its beginning");
  if (!reads) return;
  refuse_if(request.quick || request.root || request.without_manifest,
            "--quick, --root or --without-manifest", "a stream has no manifest");
  refuse_if(request.hide_names, "--hide-names", "a stream has no names");
  refuse_if(request.xattrs || !request.selection.paths().empty(), "--xattrs or PATH",
            "a stream has no manifest");
  refuse_if(!request.is_sealed(), "--cipher aes-*-cbc",
            "a stream is written before its end is known, so it must be authenticated");
}

}  // namespace

void check(const Request& request) {
  const bool cbc = !request.is_sealed();
  if (cbc && !request.passphrase.empty()) {
    throw core::UsageError(
        "AES-CBC stores no salt, so it takes no passphrase; give a key file, or aes-256-gcm");
  }
  if (cbc && (!request.identities.empty() || !request.recipients.empty())) {
    throw core::UsageError("AES-CBC stores no keys, so it has no recipients and identities");
  }
  if (!cbc && request.fixed_iv) {
    throw core::UsageError("aes-256-gcm draws its own nonces; a fixed IV goes with aes-*-cbc");
  }
  if (cbc && (request.xattrs || !request.selection.paths().empty())) {
    throw core::UsageError("AES-CBC has no manifest, which --xattrs and PATH need");
  }
  if (request.update && (!request.resume || !request.seals())) {
    throw core::UsageError("--update brings a tree up to date that is sealed with aes-256-gcm");
  }
  check_stream(request);
  check_device(request);
}

}  // namespace tabane::encrypt
