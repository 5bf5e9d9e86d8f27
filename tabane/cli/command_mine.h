// The verbs below `tabane mine`.
#pragma once

#include <CLI/CLI.hpp>

namespace tabane::cli {

void add_mine_generate(CLI::App& mine);
void add_mine_keygen(CLI::App& mine);
void add_mine_encrypt(CLI::App& mine);
void add_mine_count(CLI::App& mine);
void add_mine_decrypt(CLI::App& mine);

}  // namespace tabane::cli
