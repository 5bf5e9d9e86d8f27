// Encrypts, decrypts or verifies a file or a directory tree with all cores.
#pragma once

#include "tabane/tools/encrypt/request.h"

namespace tabane::encrypt {

class Crew;
struct Places;

// Refuses what run_job() would refuse before it needs the key; writes nothing. throws: as
// run_job().
void check_job(const Request& request);

// Does the job; standard input by run_stream(). Files that fail are listed in the outcome and leave
// no output; the others go on.
// throws, before anything is written: core::UsageError for an impossible request (out inside in or
// equal to it, output that exists without resume or force, a cipher that does not go with the key);
// core::SystemError if in or out cannot be opened; core::Error if the key fits no file (for
// CBC: as far as paddings tell), or if a directory that is to be decrypted or verified holds no
// sealed file.
// crew: who works on it (threads.h); without one, this process. If one of them is lost, or cannot
// help, its part is done all the same.
JobReport run_job(const Request& request, const Hooks& hooks, Crew& crew);
JobReport run_job(const Request& request, const Hooks& hooks = {});

// Seals, opens or verifies standard input, one chunk after the other, by one thread. A file as
// output appears complete or not at all; a stream gets each chunk once it is authenticated. What is
// wrong with a chunk, or that the last one is missing, is a failure in the outcome. No
// JobReport::complete: the job was asked to stop. throws: core::Error if the header or the key does
// not fit, before anything is written; core::SystemError if the input cannot be read or the output
// written. memory: a few chunks.
JobReport run_stream(const Request& request, const Places& places, crypto::Engine engine,
                     const Hooks& hooks);

}  // namespace tabane::encrypt
