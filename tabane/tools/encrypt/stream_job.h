// A job on standard input, whose size nobody knows before its end: one chunk after the other, by
// one thread.
#pragma once

#include "tabane/tools/encrypt/places.h"

namespace tabane::encrypt {

// Seals, opens or verifies standard input. A file as output appears complete or not at all; a
// stream gets each chunk once it is authenticated. What is wrong with a chunk, or that the last one
// is missing, is a failure in the outcome. No JobReport::complete: the job was asked to stop.
// throws: core::Error if the header or the key does not fit, before anything is written;
// core::SystemError if the input cannot be read or the output written. memory: a few chunks.
JobReport run_stream(const Request& request, const Places& places, crypto::Engine engine,
                     const Hooks& hooks);

}  // namespace tabane::encrypt
