#include "tabane/program/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/lab/record/json.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/survey/survey.h"
#include "tabane/program/layout.h"

namespace tabane::program {
namespace {

// Of --json: a program runs one verb.
bool written = false;         // its results
bool errors_allowed = false;  // in its file

void put_on_stdout(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// Of --json: without FILE it is empty.
bool is_json_stdout(const std::string& file) { return file.empty() || is_stdout(file); }

void write_json(const std::string& file, const lab::Json& json) {
  write_text(file.empty() ? "-" : file, json.dump(1) + "\n");
}

// What was typed for an option or argument; empty: nothing.
std::string typed(const Given& given, const char* name) {
  const Words* const words = given.words(name);
  return words ? words->front() : "";
}

// The directory where a file is made, or the stream itself.
std::filesystem::path written_to(const core::OutputPath& place) {
  if (place.stream) return place.path;
  return place.path.has_parent_path() ? place.path.parent_path() : ".";
}

}  // namespace

bool is_stdout(std::string_view file) { return file == "-" || core::leads_to(file, STDOUT_FILENO); }

void require_writable_text(std::string_view flag, const std::string& file) {
  if (!file.empty() && !is_stdout(file)) require_writable_file(flag, file);
}

void write_text(const std::string& file, const std::string& text) {
  if (is_stdout(file))
    put_on_stdout(text);
  else if (!file.empty())
    core::write_output(file, text);
}

Option JsonOption::row() {
  return {"--json[=FILE]", &file_, "Write the results as JSON to stdout, or to FILE"};
}

bool JsonOption::to_stdout() const { return given() && is_json_stdout(*file_); }

void JsonOption::check(bool errors) const {
  if (given() && !to_stdout()) require_writable_file("--json=", *file_);
  errors_allowed = errors;
}

void JsonOption::allow_errors() const { errors_allowed = true; }

void JsonOption::write(const lab::Json& json) const {
  if (!given()) return;
  write_json(*file_, json);
  written = true;
}

void JsonOption::write(const core::Produce& produce) const {
  written = to_stdout();  // no error can follow what stands there
  written ? produce(put_on_stdout) : core::write_output(*file_, produce);
  written = true;
}

void write_error(const Given& given, const std::string& sentence, int exit_code) {
  const std::string command = given.verb.substr(given.verb.find(' ') + 1);
  const std::string file = typed(given, "--json"), out = typed(given, "OUT");
  if (written || file.empty() || (is_json_stdout(file) && is_stdout(out))) return;
  if (!is_json_stdout(file) && !errors_allowed) return;
  try {
    write_json(file, {{"schema_version", 1},
                      {"kind", "error"},
                      {"tabane_version", lab::version()},
                      {"command", command},
                      {"error", lossy_utf8(sentence)},
                      {"exit_status", exit_code}});
  } catch (const core::Error&) {
    // There is another error to report.
  }
}

void require_writable_file(std::string_view flag, const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw core::UsageError("{}{}: is a directory", flag, path.string());
  }
  const auto refuse = [&](int code) {
    throw core::UsageError("{}{}: cannot write there: {}", flag, path.string(),
                           std::strerror(code));
  };
  try {
    const core::OutputPath place = core::follow_output_path(path);
    if (access(written_to(place).c_str(), W_OK) != 0) refuse(errno);
  } catch (const core::SystemError& error) {
    refuse(error.code());
  }
}

void require_writable_directory(const std::filesystem::path& directory, std::string_view flag) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw core::UsageError("{} {}: the directory cannot be made: {}", flag, directory.string(),
                           error.message());
  }
  if (!std::filesystem::is_directory(directory)) {
    throw core::UsageError("{} {}: not a directory", flag, directory.string());
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    throw core::UsageError("{} {}: files cannot be made there: {}", flag, directory.string(),
                           std::strerror(errno));
  }
}

namespace {

// Of all keys and texts: what is shown of a record must not steer a terminal. Only what a tuning
// keeps for itself, which is compared and not shown, stays as it is.
lab::Json without_controls_in(const lab::Json& json) {
  if (json.is_string()) return without_controls(json.text());
  if (!json.is_structured()) return json;
  lab::Json all = json.is_array() ? lab::Json::array() : lab::Json::object();
  for (const auto& [key, value] : json.items()) {
    lab::Json shown =
        key == lab::detail::kTuning && value.is_object() ? value : without_controls_in(value);
    if (json.is_array())
      all.push_back(std::move(shown));
    else
      all[without_controls(key)] = std::move(shown);
  }
  return all;
}

}  // namespace

lab::Record read_record(const std::string& file) {
  const std::string text = core::read_file(file);
  try {
    lab::Record record = lab::record_from_json(without_controls_in(lab::Json::parse(text)));
    // A survey that did not reach its end lacks the views that results of several probes make.
    if (record.kind == lab::Kind::survey) lab::present(record);
    return record;
  } catch (const core::Error& error) {
    throw core::UsageError("{}: {}", file, error.what());
  }
}

}  // namespace tabane::program
