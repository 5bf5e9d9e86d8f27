// The verbs. Each is defined, with its table of options, in the file of its name. Errors leave
// run() as exceptions, which main() turns into a sentence and a code.
#pragma once

#include "tabane/program/args.h"

namespace tabane::program {

extern const Verb survey_verb, report_verb, study_verb, compare_verb, tune_verb, run_verb,
    time_verb, encrypt_verb, decrypt_verb, verify_verb, keygen_verb, rekey_verb, epub_verb,
    scg_verb, linpack_verb, slalom_verb, matmul_verb, mine_verb;
// Hidden: writes the man page and the completions of the program when it is built.
extern const Verb generate_docs_verb;

// The program, of which the verbs are a part.
extern const Verb tabane_program;

// Below `tabane study`, `epub` and `mine`.
extern const Verb pc_cluster_study, process_thread_study;
extern const Verb epub_inspect_verb;
extern const Verb mine_generate_verb, mine_keygen_verb, mine_encrypt_verb, mine_count_verb,
    mine_decrypt_verb;

}  // namespace tabane::program
