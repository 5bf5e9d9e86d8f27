#include "tabane/tools/encrypt/job_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <initializer_list>
#include <iterator>

#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/record_head.h"
#include "tabane/program/layout.h"
#include "tabane/tools/encrypt/copy_share.h"

namespace tabane::program {
namespace {

using namespace encrypt;
using core::counted, core::grouped;

constexpr std::size_t kChangedShown = 20;

// The name of a value among those of all, in their order.
const char* nth(auto value, std::initializer_list<const char*> names) {
  const auto i = static_cast<std::size_t>(value);
  TABANE_ASSERT(i < names.size());
  return names.begin()[i];
}

std::string files_text(std::uint64_t files) { return counted(files, "file"); }

std::string crew_text(const JobReport& outcome) {
  const std::string on = outcome.ranks > 1 ? fmt::format(" of {} ranks", outcome.ranks) : "";
  return fmt::format("{}{}, {}", counted(outcome.threads, "thread"), on, name_of(outcome.engine));
}

// "1 234 files, 5 symbolic links"
std::string entries_text(std::uint64_t files, const JobReport& outcome) {
  std::string text = files_text(files);
  if (outcome.links > 0) {
    text += ", " + counted(outcome.links, "symbolic link");
  }
  return text;
}

// "left out: 2 symbolic links, 1 excluded"; empty if there is nothing.
std::string other_files_text(const JobReport& outcome) {
  std::string out, kept;
  const auto add = [](std::string& list, std::uint64_t number, const std::string& text) {
    if (number > 0) list += (list.empty() ? "" : ", ") + text;
  };
  add(out, outcome.symlinks, counted(outcome.symlinks, "symbolic link"));
  add(out, outcome.special, counted(outcome.special, "special file"));
  add(out, outcome.excluded, grouped(outcome.excluded) + " excluded");
  add(out, outcome.temporaries.size(), counted(outcome.temporaries.size(), "temporary file"));
  add(kept, outcome.files_kept, files_text(outcome.files_kept) + " complete already");
  std::string text;
  if (!out.empty()) text += "left out: " + out + "\n";
  if (!kept.empty()) text += "kept: " + kept + "\n";
  if (outcome.files_unlisted > 0) {
    text += fmt::format(
        "sealed anew: {} of OUT, older or exchanged, which its manifest did not "
        "have\n",
        files_text(outcome.files_unlisted));
  }
  if (outcome.removed > 0) {
    text += fmt::format("removed: {} that IN no longer has\n",
                        counted(outcome.removed, "file or directory", "files and directories"));
  }
  if (outcome.leftovers_removed > 0) {
    text += fmt::format("removed: {} of an interrupted run\n",
                        counted(outcome.leftovers_removed, "temporary file"));
  }
  return text;
}

std::string speed_text(const JobReport& outcome) {
  if (outcome.seconds <= 0 || outcome.files == 0) return "";
  const double bytes = static_cast<double>(outcome.bytes) / outcome.seconds;
  const double files = static_cast<double>(outcome.files) / outcome.seconds;
  return fmt::format(": {}, {} files/s", core::format_value(bytes, "B/s"),
                     files < 100 ? fmt::format("{:.3g}", files)
                                 : grouped(static_cast<std::uint64_t>(std::llround(files))));
}

std::string free_text(const JobReport& outcome) {
  if (!outcome.free_bytes) return "";
  return fmt::format("; {} free where OUT is", core::format_bytes(*outcome.free_bytes));
}

// What a verification cannot tell; empty: nothing.
std::string unknown_text(const Request& request) {
  if (request.direction != Direction::verify || request.is_sealed()) return "";
  return fmt::format(
      "not known: whether the content was changed, or whether the key is right for each file; {} "
      "stores nothing that tells\n",
      name_of(request.cipher));
}

// Errors begin with the path, or with the name in its directory, which is told already.
std::string reason_of(const Failure& failure) {
  for (const std::size_t from : {std::size_t{0}, failure.path.rfind('/') + 1}) {
    const std::string prefix = failure.path.substr(from) + ": ";
    if (failure.what.starts_with(prefix)) return failure.what.substr(prefix.size());
  }
  return failure.what;
}

// Lines for the first of a list, and how many more there are.
std::string lines_of(const auto& list, std::size_t most, const auto& line_of) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, list.size()); ++i) text += line_of(list[i]);
  if (list.size() <= most) return text;
  return text + fmt::format("and {} more, which -v or --json lists\n", grouped(list.size() - most));
}

lab::Json or_null(bool is_known, const lab::Json& value) { return is_known ? value : nullptr; }

// The two texts by which JSON has a path, which may not be UTF-8.
lab::Json path_json(const std::string& name, const std::string& path, bool is_known = true) {
  return {{name, or_null(is_known, lossy_utf8(path))},
          {name + "_percent_encoded", or_null(is_known, percent_encoded(path))}};
}

lab::Json list_of(const std::vector<std::string>& paths) {
  lab::Json list = lab::Json::array();
  for (const std::string& path : paths) list.push_back(path_json("path", path));
  return list;
}

}  // namespace

std::string name_of(Direction direction) {
  return nth(direction, {"encrypt", "decrypt", "verify"});
}

std::string name_in_past(Direction direction) {
  return nth(direction, {"encrypted", "decrypted", "verified"});
}

std::string name_of(Cipher cipher) {
  return nth(cipher, {"aes-256-gcm", "aes-128-cbc", "aes-256-cbc"});
}

std::string name_of(crypto::Engine engine) {
  return nth(engine, {"auto", "openssl", "ipsec-mb", "opencl"});
}

std::string progress_text(const Progress& progress, double bytes_per_second) {
  std::string done = core::format_bytes(progress.bytes);
  const std::string total = core::format_bytes(progress.bytes_total);
  const std::string unit = total.substr(total.find(' '));
  if (done.ends_with(unit)) done.resize(done.size() - unit.size());
  const std::string text = fmt::format("{} of {} files, {} of {}", grouped(progress.files),
                                       grouped(progress.files_total), done, total);
  if (bytes_per_second < 0) return text;
  return fmt::format("{}, {}", text, core::format_value(bytes_per_second, "B/s"));
}

double progress_share(const Progress& progress) {
  const auto work = [](std::uint64_t files, std::uint64_t bytes) {
    return static_cast<double>(files) * kBytesOfFile + static_cast<double>(bytes);
  };
  const double total = work(progress.files_total, progress.bytes_total);
  return total > 0 ? std::min(1.0, work(progress.files, progress.bytes) / total) : 1.0;
}

std::string summary_text(const Request& request, const JobReport& outcome) {
  if (request.dry_run) {
    return fmt::format("would {} {}, {}, in {} with {}{}\n", name_of(request.direction),
                       entries_text(outcome.files_total, outcome),
                       core::format_bytes(outcome.bytes_total),
                       counted(outcome.directories, "directory", "directories"), crew_text(outcome),
                       free_text(outcome)) +
           other_files_text(outcome);
  }
  const std::string entries = entries_text(outcome.files, outcome);
  const std::string seconds = core::format_seconds(outcome.seconds);
  std::string text =
      request.quick ? fmt::format(
                          "checked {} quickly in {}: the manifest, and of each file its size, salt "
                          "and last tag; contents were not read\n",
                          entries, seconds)
                    : fmt::format("{} {}, {} in {}{}\n", name_in_past(request.direction), entries,
                                  core::format_bytes(outcome.bytes), seconds, speed_text(outcome));
  text += crew_text(outcome);
  if (const auto& share = outcome.copy_share) {
    text += fmt::format("; {:.0f} % [{:.0f}, {:.0f}] of the speed of plain copying",
                        100 * share->value, 100 * share->interval.low, 100 * share->interval.high);
  }
  text += "\n" + unknown_text(request) + other_files_text(outcome);
  return outcome.root ? text + "root: " + crypto::hexadecimal(*outcome.root) + "\n" : text;
}

namespace {

void add_cbc_warnings(const Request& request, const JobReport& outcome,
                      std::vector<std::string>& warnings) {
  const bool verifies = request.direction == Direction::verify;
  warnings.push_back(fmt::format(
      "{} does not authenticate: changes of the encrypted files are not detected{}",
      name_of(request.cipher), verifies ? "; only their sizes and padding can be checked" : ""));
  if (request.fixed_iv && request.encrypts() && outcome.files_total > 1) {
    warnings.push_back(
        fmt::format("{} share the initialisation vector of --iv: where two begin with the same "
                    "bytes, their ciphertexts begin with the same blocks, and anyone sees that; "
                    "without --iv, each file gets its own",
                    files_text(outcome.files_total)));
  }
}

void add_warnings_of_out(const JobReport& outcome, std::vector<std::string>& warnings) {
  if (outcome.free_bytes && *outcome.free_bytes < outcome.bytes_total) {
    warnings.push_back(fmt::format("where OUT is, {} are free, and IN has {}",
                                   core::format_bytes(*outcome.free_bytes),
                                   core::format_bytes(outcome.bytes_total)));
  }
  if (outcome.doubtful.empty()) return;
  const std::size_t more = outcome.doubtful.size() - 1;
  warnings.push_back(fmt::format(
      "OUT keeps {}{}, named like a temporary file, but without the mark of one, as on file "
      "systems without modes such as FAT, or not to be opened: remove it if an interrupted run has "
      "left it",
      lossy_utf8(outcome.doubtful.front()), more == 0 ? "" : " and " + files_text(more) + " more"));
}

}  // namespace

std::vector<std::string> warnings_of(const Request& request, const JobReport& outcome) {
  std::vector<std::string> warnings;
  for (const std::string& remark : outcome.remarks) {
    warnings.push_back(remark + "; what it had to do, rank 0 has done");
  }
  std::ranges::copy(outcome.device_remarks, std::back_inserter(warnings));
  if (request.without_manifest) {
    warnings.push_back(
        "each file was checked alone: without the manifest nobody knows whether some were "
        "exchanged, renamed, added or put back in an older version, or are missing");
  }
  for (const std::string& path : outcome.changed) {
    if (warnings.size() == kChangedShown) {
      warnings.push_back("and others: in all, " + files_text(outcome.changed.size()) +
                         " had changed while they were read");
      break;
    }
    warnings.push_back(lossy_utf8(path) + " had changed while it was read, and was read once more");
  }
  add_warnings_of_out(outcome, warnings);
  if (outcome.version_1_tree) {
    warnings.push_back(
        "this tree is of version 1, which has no manifest: each file was checked alone, and nobody "
        "knows whether some were exchanged, renamed, added or put back in an older version, or are "
        "missing; what this tabane encrypts has a manifest, so such a tree was replaced");
  }
  if (!request.is_sealed()) add_cbc_warnings(request, outcome, warnings);
  return warnings;
}

std::string text_of_keys_inside(const crypto::KeyFiles& files, const char* what,
                                const std::string& place, bool sealed) {
  const std::vector<std::string> inside = files.inside(place);
  if (inside.empty()) return "";
  return fmt::format("{} is in {} ({}): {}", fmt::join(inside, ", "), what, place,
                     sealed ? "who gets that, has what opens it, too"
                            : "what is encrypted with it does not give it back; keep another copy");
}

std::string failures_text(const JobReport& outcome, std::size_t most) {
  return lines_of(outcome.failures, most, [](const Failure& failure) {
    return fmt::format("{}: {}\n", printable(failure.path.empty() ? "." : failure.path),
                       printable(reason_of(failure)));
  });
}

std::string removals_text(const JobReport& outcome, std::size_t most) {
  return lines_of(outcome.would_remove, most, [](const std::string& path) {
    return fmt::format("would remove: {}\n", printable(path));
  });
}

std::string temporaries_text(const JobReport& outcome, std::size_t most) {
  return lines_of(outcome.temporaries, most, [](const std::string& path) {
    return fmt::format("left out: {} is what an interrupted run has left of a file\n",
                       printable(path));
  });
}

namespace {

lab::Json failures_json(const JobReport& outcome) {
  lab::Json failures = lab::Json::array();
  for (const Failure& failure : outcome.failures) {
    lab::Json json = path_json("path", failure.path);
    json["reason"] = lossy_utf8(reason_of(failure));
    json["difference"] = or_null(!failure.difference.empty(), failure.difference);
    failures.push_back(std::move(json));
  }
  return failures;
}

// The times and speeds of a job that was no dry run.
lab::Json speeds_json(const JobReport& outcome, bool worked, bool reads_all) {
  const double seconds = worked ? outcome.seconds : 0;
  const core::Ratio share = outcome.copy_share.value_or(core::Ratio{});
  const auto rate = [](std::uint64_t amount, double in) {
    return or_null(in > 0, static_cast<double>(amount) / in);
  };
  // What copying all would have taken in this run.
  const double copy_seconds = outcome.copy_share ? seconds * share.value : 0;
  return {{"seconds", or_null(worked, seconds)},
          {"bytes_per_second", rate(outcome.bytes, reads_all ? seconds : 0)},
          {"files_per_second", rate(outcome.files, seconds)},
          {"copy_bytes_per_second", rate(outcome.bytes, copy_seconds)},
          {"copy_files_per_second", rate(outcome.files, copy_seconds)},
          {"share_of_copy_speed", or_null(outcome.copy_share.has_value(), share.value)},
          {"share_of_copy_speed_interval",
           or_null(outcome.copy_share.has_value(), {share.interval.low, share.interval.high})}};
}

}  // namespace

std::string trace_text(const Trace& trace) {
  const auto begin = trace.events().front().begin;
  const auto microseconds = [](Trace::Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  std::string text = "[\n";
  for (const Trace::Event& event : trace.events()) {
    lab::Json json = {{"name", event.what},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", event.thread},
                      {"ts", microseconds(event.begin - begin)},
                      {"dur", microseconds(event.end - event.begin)}};
    if (event.files > 0) {
      json["args"] = {
          {"first_file", lossy_utf8(event.file)}, {"files", event.files}, {"bytes", event.bytes}};
    }
    text += json.dump() + (&event == &trace.events().back() ? "\n" : ",\n");
  }
  return text + "]\n";
}

lab::Json to_json(const Request& request, const JobReport& outcome) {
  const bool worked = !request.dry_run;
  const auto if_worked = [worked](std::uint64_t count) { return or_null(worked, count); };
  lab::Json json = {
      {"schema_version", 1},
      {"kind", name_of(request.direction)},
      {"tabane_version", lab::version()},
      {"cipher", name_of(request.cipher)},
      {"engine", name_of(outcome.engine)},
      {"threads", outcome.threads},
      {"ranks", outcome.ranks},
      {"dry_run", request.dry_run},
      {"complete", outcome.complete},
      {"files_total", outcome.files_total},
      {"input_bytes_total", outcome.bytes_total},
      {"directories", outcome.directories},
      {"files_done", if_worked(outcome.files)},
      {"input_bytes_done", or_null(worked && !request.quick, outcome.bytes)},
      {"files_kept", if_worked(outcome.files_kept)},
      {"files_sealed_anew", if_worked(outcome.files_unlisted)},
      {"links", outcome.links},
      {"symlinks", outcome.symlinks},
      {"special_files", outcome.special},
      {"excluded", outcome.excluded},
      {"temporary_files", list_of(outcome.temporaries)},
      {"removed", if_worked(outcome.removed)},
      {"would_remove", list_of(outcome.would_remove)},
      {"leftovers_removed", if_worked(outcome.leftovers_removed)},
      {"free_bytes", or_null(outcome.free_bytes.has_value(), outcome.free_bytes.value_or(0))}};
  json.update(speeds_json(outcome, worked, !request.quick));
  json.update({{"authenticated", request.is_sealed() && !request.quick},
               {"warnings", warnings_of(request, outcome)},
               {"root", outcome.root ? lab::Json(crypto::hexadecimal(*outcome.root)) : nullptr},
               {"failures", failures_json(outcome)}});
  return json;
}

namespace {

// In local time; seconds since 1970 where the calendar has no such year.
std::string time_text(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm local{};
  char text[64];
  if (localtime_r(&time, &local) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) == 0) {
    return fmt::format("@{}", seconds);
  }
  return text;
}

// "-rw-r-----", as ls writes it; with an h in front, as tar does, for a further name of a file.
std::string mode_text(const ManifestEntry& entry) {
  std::string text = entry.kind == EntryKind::directory ? "d"
                     : entry.kind == EntryKind::link    ? "l"
                     : entry.same_as.empty()            ? "-"
                                                        : "h";
  for (unsigned i = 0; i < 9; ++i) text += (entry.mode >> (8 - i) & 1) != 0 ? "rwx"[i % 3] : '-';
  const auto mark = [&](unsigned bit, std::size_t at, char with_x, char without_x) {
    if ((entry.mode & bit) != 0) text[at] = text[at] == 'x' ? with_x : without_x;
  };
  mark(S_ISUID, 3, 's', 'S');
  mark(S_ISGID, 6, 's', 'S');
  mark(S_ISVTX, 9, 't', 'T');
  return text;
}

}  // namespace

std::string listing_line(const ManifestSummary& all, const ManifestEntry& entry) {
  const bool is_file = entry.kind == EntryKind::file;
  const bool is_link = entry.kind == EntryKind::link;
  return fmt::format("{} {:>{}}  {}  {}{}{}\n", mode_text(entry),
                     is_file ? std::to_string(entry.sealed.bytes) : "-",
                     fmt::formatted_size("{}", all.largest), time_text(entry.seconds),
                     entry.path.empty() ? "." : printable(entry.path),
                     is_link                 ? " -> "
                     : entry.same_as.empty() ? ""
                                             : " link to ",
                     printable(is_link ? entry.target : entry.same_as));
}

std::string listing_json(const ManifestSummary& all, const ManifestEntry& entry, bool first) {
  std::string before = ",\n";
  if (first) {
    const lab::Json head = {{"schema_version", 1},
                            {"kind", "list"},
                            {"tabane_version", lab::version()},
                            {"root", crypto::hexadecimal(all.root)},
                            {"tree_id", crypto::hexadecimal(all.head.tree_id)},
                            {"generation", all.head.generation},
                            {"hidden_names", all.head.hidden_names}};
    before = head.dump(1);
    before.resize(before.size() - 2);  // the end of the line, and of the object
    before += ",\n \"entries\": [\n";
  }
  lab::Json json = {{"kind", nth(entry.kind, {"", "directory", "file", "link"})}};
  json.update(path_json("path", entry.path));
  json.update({{"mode", fmt::format("{:04o}", entry.mode)},
               {"seconds", entry.seconds},
               {"nanoseconds", entry.nanoseconds},
               {"bytes", or_null(entry.kind == EntryKind::file, entry.sealed.bytes)}});
  json.update(path_json("target", entry.target, entry.kind == EntryKind::link));
  json.update(path_json("same_as", entry.same_as, !entry.same_as.empty()));
  json.update({{"sparse", entry.sparse}, {"attributes", entry.attributes.size()}});
  return before + "  " + json.dump();
}

}  // namespace tabane::program
