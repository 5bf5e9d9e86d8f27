// A passphrase typed on the terminal, where nobody sees it.
#pragma once

#include "tabane/crypto/keys.h"

namespace tabane::program {

// Asks on the terminal of this process (/dev/tty, whatever stdin and stderr are) without echo;
// twice: asks once more and compares. A signal that comes meanwhile finds the echo back on.
// throws: core::UsageError without a terminal, or if the passphrase is empty, longer than 1024
// bytes or not the same twice.
crypto::Passphrase ask_passphrase(
    bool twice, const char* question = "Passphrase: ",
    const char* instead = "--key-file FILE or --passphrase-file FILE");

}  // namespace tabane::program
