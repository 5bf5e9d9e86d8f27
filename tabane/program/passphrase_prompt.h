// Secrets of the program's users: a passphrase typed on the terminal, where nobody sees it, and
// memory that core dumps and other processes of the same user do not get.
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

// Turns core dumps off and refuses debuggers, for the rest of the process; before a key is read.
// throws: core::SystemError.
void make_memory_unreadable();

// Only turns core dumps off: for ranks of MPI, whose libraries copy from each other's memory as a
// debugger does. throws: core::SystemError.
void forbid_core_dumps();

}  // namespace tabane::program
