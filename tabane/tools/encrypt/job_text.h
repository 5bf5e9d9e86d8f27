// What encrypt, decrypt and verify tell: the progress, the summary, the failures, the JSON.
#pragma once

#include <string>
#include <vector>

#include "tabane/lab/record/record.h"
#include "tabane/tools/encrypt/input_manifest.h"
#include "tabane/tools/encrypt/request.h"

namespace tabane::program {

std::string name_of(encrypt::Direction direction);       // "encrypt", as the verbs
std::string name_in_past(encrypt::Direction direction);  // "encrypted"
std::string name_of(encrypt::Cipher cipher);             // "aes-256-gcm", as --cipher
std::string name_of(crypto::Engine engine);              // "openssl", as --engine

// "1 234 of 20 000 files, 1.2 of 3.4 GiB, 2.14 GB/s"; a rate below 0 is not known.
std::string progress_text(const encrypt::Progress& progress, double bytes_per_second = -1);

// Share of the work that is done, 0…1; a file counts for as much as some bytes.
double progress_share(const encrypt::Progress& progress);

// A few lines; also what would be done, for a dry run.
std::string summary_text(const encrypt::Request& request, const encrypt::JobReport& outcome);

// What the cipher and the options leave open; one sentence each, without a full stop.
std::vector<std::string> warnings_of(const encrypt::Request& request,
                                     const encrypt::JobReport& outcome);

// The warning that a file of keys lies in a place of this name; empty: none does. sealed: the place
// is that of what is encrypted.
std::string text_of_keys_inside(const crypto::KeyFiles& files, const char* what,
                                const std::string& place, bool sealed);

// Lines "path: reason", at most `most` of them and then how many there are more; safe to print on a
// terminal.
std::string failures_text(const encrypt::JobReport& outcome, std::size_t most);

// The same for what a dry run of an update found that it would remove, and for files that were left
// out because of their names.
std::string removals_text(const encrypt::JobReport& outcome, std::size_t most);
std::string temporaries_text(const encrypt::JobReport& outcome, std::size_t most);

// Trace events as Chrome and Perfetto define them; https://ui.perfetto.dev draws them.
std::string trace_text(const encrypt::Trace& trace);

lab::Json to_json(const encrypt::Request& request, const encrypt::JobReport& outcome);

// An entry of a manifest as a line of ls -l; safe to print on a terminal.
std::string listing_line(const encrypt::ManifestSummary& all, const encrypt::ManifestEntry& entry);
// The same as JSON, which kListingEnd ends. first: no entry was before this one.
std::string listing_json(const encrypt::ManifestSummary& all, const encrypt::ManifestEntry& entry,
                         bool first);
inline constexpr const char* kListingEnd = "\n ]\n}\n";

}  // namespace tabane::program
