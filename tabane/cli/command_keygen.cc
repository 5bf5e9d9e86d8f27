// tabane keygen: makes a key file.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "tabane/cli/command.h"
#include "tabane/cli/options.h"
#include "tabane/cli/printable.h"
#include "tabane/cli/unreadable_memory.h"
#include "tabane/core/error.h"
#include "tabane/workloads/aes_dir/keys.h"

namespace tabane::cli {

void add_keygen_command(CLI::App& app, int&) {
  auto file = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("keygen", "Make a key file for encrypt --key-file");
  show_examples_first(
      *verb, "  tabane keygen my.key    makes a key of 32 random bytes that only you can read");
  verb->add_option("FILE", *file, "The file to make; an existing file stays as it is")->required();
  verb->callback([file] {
    if (std::filesystem::exists(std::filesystem::symlink_status(*file)))
      throw core::Error(fmt::format("{} exists, and a key file is never replaced", *file));
    make_memory_unreadable();
    workloads::aes_dir::write_new_key_file(*file);
    fmt::print(
        stderr,
        "{} is a new key; keep a copy in a safe place: what it encrypts is lost without it\n",
        printable(*file));
  });
}

}  // namespace tabane::cli
