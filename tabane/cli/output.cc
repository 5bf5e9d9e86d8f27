#include "tabane/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::cli {
namespace {

// A device or a pipe is written to, never replaced by a file.
bool is_device(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_other(path, ignored);
}

}  // namespace

void JsonOption::add_to(CLI::App& verb) {
  option_ = verb.add_option("--json", file_, "Write the results as JSON to stdout, or to FILE")
                ->expected(0, 1)
                ->type_name("[=FILE]");
}

void JsonOption::check() const {
  if (given() && !to_stdout()) require_writable_file("--json=", file_);
}

void JsonOption::write(const lab::Json& json) const {
  if (!given()) return;
  const std::string text = json.dump(1) + "\n";
  if (to_stdout()) {
    std::fputs(text.c_str(), stdout);
    return;
  }
  write_whole_file(file_, text);
}

void require_writable_file(std::string_view flag, const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw core::UsageError(fmt::format("{}{}: is a directory", flag, path.string()));
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (access(is_device(path) ? path.c_str() : folder.c_str(), W_OK) != 0) {
    throw core::UsageError(
        fmt::format("{}{}: cannot write there: {}", flag, path.string(), std::strerror(errno)));
  }
}

void require_writable_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw core::UsageError(fmt::format("--output {}: the directory cannot be made: {}",
                                       directory.string(), error.message()));
  }
  if (!std::filesystem::is_directory(directory)) {
    throw core::UsageError(fmt::format("--output {}: not a directory", directory.string()));
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    throw core::UsageError(fmt::format("--output {}: files cannot be made there: {}",
                                       directory.string(), std::strerror(errno)));
  }
}

void write_whole_file(const std::filesystem::path& path, const std::string& text) {
  const bool replace = !is_device(path);
  const std::filesystem::path temporary = replace ? path.string() + ".part" : path.string();
  try {
    core::write_file(temporary, text);
  } catch (const core::SystemError& error) {
    std::error_code ignored;
    if (replace) std::filesystem::remove(temporary, ignored);
    throw core::SystemError("write", path.string(), error.code());
  }
  if (!replace) return;
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) throw core::SystemError("rename", path.string(), error.value());
}

}  // namespace tabane::cli
