// The verb `tabane study ap1000`.
#pragma once

#include <CLI/CLI.hpp>

namespace tabane::cli {

void add_ap1000_study(CLI::App& study_verb);

}  // namespace tabane::cli
