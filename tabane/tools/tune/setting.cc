#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/error.h"
#include "tabane/lab/commands/child.h"
#include "tabane/program/args.h"
#include "tabane/tools/tune/tune_plan.h"

namespace tabane::program {
namespace {

using core::UsageError;

// Open MPI binds ranks by itself, so that threads share a core: what a placement must replace.
constexpr std::pair<const char*, const char*> kUnbindRanks[] = {
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {"PRTE_MCA_hwloc_default_binding_policy", "none"}};

// A script that starts `words` for each index at once; it ends with the first bad exit code.
std::string shards_script(const std::vector<std::string>& words, int processes) {
  const std::string line = line_with_index(words, "$i");
  return fmt::format(
      "p=; for i in $(seq 0 {}); do {} & p=\"$p $!\"; done; "
      "for j in $p; do wait $j || exit; done",
      processes - 1, line);
}

std::vector<std::string> surroundings(const CommandSetting& setting, bool launched) {
  std::vector<std::string> words;
  if (setting.arenas) words.push_back(fmt::format("MALLOC_ARENA_MAX={}", *setting.arenas));
  if (launched && !setting.placement.empty())
    for (const auto& [name, value] : kUnbindRanks)
      words.push_back(fmt::format("{}={}", name, value));
  if (!words.empty()) words.insert(words.begin(), "env");
  return words;
}

}  // namespace

bool needs_surroundings(const CommandSetting& setting) {
  if (setting.as_started) return false;
  return !setting.placement.empty() || !setting.memory.empty() || !setting.allocator.empty() ||
         setting.huge_pages || (setting.threads && !setting.threads_in_command);
}

std::string line_with_index(const std::vector<std::string>& words, const std::string& variable) {
  // The mark made the shell's quotes necessary, so that they can be left and entered again.
  const std::string quoted = "'" + variable + "'";
  std::string line = shell_line(words);
  for (std::size_t at = 0; (at = line.find(kIndexMark, at)) != std::string::npos;
       at += quoted.size())
    line.replace(at, 1, quoted);
  return line;
}

std::vector<std::string> filled(const std::vector<std::string>& words, const Values& values) {
  std::vector<std::string> all;
  for (const std::string& word : words) all.push_back(lab::filled_in(word, values));
  return all;
}

Values values_of(const CommandSetting& setting, const std::string& index) {
  Values values = setting.values;
  values.emplace_back("processes", std::to_string(setting.processes));
  if (setting.threads) values.emplace_back("threads", std::to_string(*setting.threads));
  values.emplace_back("index", index);
  return values;
}

RunRequest run_request(const CommandSetting& setting, int process) {
  RunRequest request;
  request.placement = setting.placement.empty() ? "none" : setting.placement;
  if (setting.memory == "local") request.localalloc = true;
  if (setting.memory == "interleave") request.interleave = "all";
  request.threads = setting.threads;
  request.own_threads = !setting.threads;
  request.huge_pages = setting.huge_pages;
  if (!setting.allocator.empty()) request.allocator = setting.allocator;
  if (setting.parted) {
    request.process = process;
    request.processes = setting.processes;
  }
  request.force_environment = true;
  return request;
}

std::vector<std::string> run_options(const CommandSetting& setting, const std::string& part) {
  std::vector<std::string> words;
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  if (!part.empty()) add({"--part", part});
  add({"--placement", setting.placement.empty() ? "none" : setting.placement});
  if (setting.threads)
    add({"-t", std::to_string(*setting.threads)});
  else
    add({"--own-threads"});
  if (setting.memory == "local") add({"-l"});
  if (setting.memory == "interleave") add({"-i", "all"});
  if (!setting.allocator.empty()) add({"--malloc", setting.allocator});
  if (setting.huge_pages) add({"--huge-pages"});
  add({"--force-env"});
  return words;
}

std::vector<std::string> start_words(const CommandSetting& setting,
                                     const std::vector<std::string>& command,
                                     const std::string& launcher, bool shards,
                                     const std::string& program) {
  const Values values = values_of(setting, shards ? kIndexMark : "0");
  std::vector<std::string> words = filled(command, values);
  if (needs_surroundings(setting)) {
    std::vector<std::string> run = {program, "run", "-q"};
    const std::string part = shards ? fmt::format("{}/{}", kIndexMark, setting.processes)
                                    : (launcher.empty() ? "" : "launcher");
    for (const std::string& option : run_options(setting, part)) run.push_back(option);
    run.emplace_back("--");
    words.insert(words.begin(), run.begin(), run.end());
  }
  if (shards) words = {"sh", "-c", shards_script(words, setting.processes)};
  const auto before = filled(lab::words_of_line(launcher), values);
  words.insert(words.begin(), before.begin(), before.end());
  if (setting.as_started) return words;
  const auto around = surroundings(setting, !launcher.empty());
  words.insert(words.begin(), around.begin(), around.end());
  return words;
}

// ---- kept ----

lab::Json to_json(const CommandSetting& setting) {
  lab::Json values = lab::Json::object();
  for (const auto& [name, value] : setting.values) values[name] = value;
  const auto or_null = [](const std::string& text) {
    return text.empty() ? lab::Json(nullptr) : lab::Json(text);
  };
  return {{"as_started", setting.as_started},
          {"processes", setting.processes},
          {"parted", setting.parted},
          {"threads", setting.threads ? lab::Json(*setting.threads) : lab::Json(nullptr)},
          {"threads_in_command", setting.threads_in_command},
          {"placement", or_null(setting.placement)},
          {"memory", or_null(setting.memory)},
          {"allocator", or_null(setting.allocator)},
          {"huge_pages", setting.huge_pages},
          {"arenas", setting.arenas ? lab::Json(*setting.arenas) : lab::Json(nullptr)},
          {"values", values}};
}

CommandSetting setting_from_json(const lab::Json& json) {
  try {
    const auto word = [&](const char* key) {
      const lab::Json& value = json.at(key);
      const std::string text = value.is_null() ? std::string() : value.get<std::string>();
      if (!std::ranges::all_of(text, [](char c) { return 'a' <= c && c <= 'z'; }))
        throw UsageError("its {} is not one that tabane tune writes", key);
      return text;
    };
    const auto number = [&](const char* key) {
      const lab::Json& value = json.at(key);
      return value.is_null() ? std::optional<int>() : std::optional<int>(value.get<int>());
    };
    CommandSetting setting;
    setting.as_started = json.at("as_started").get<bool>();
    setting.processes = json.at("processes").get<int>();
    setting.parted = json.at("parted").get<bool>();
    setting.threads = number("threads");
    setting.threads_in_command = json.value("threads_in_command", false);
    setting.placement = word("placement");
    setting.memory = word("memory");
    setting.allocator = word("allocator");
    setting.huge_pages = json.at("huge_pages").get<bool>();
    setting.arenas = number("arenas");
    for (const auto& [name, value] : json.at("values").items())
      setting.values.emplace_back(name, value.get<std::string>());
    if (setting.processes < 1 || setting.processes > 1'000'000)
      throw UsageError("the number of processes cannot be");
    return setting;
  } catch (const lab::Json::exception&) {
    throw UsageError("it holds no tuning of a command");
  }
}

}  // namespace tabane::program
