#include "tabane/lab/page/gnuplot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/lab/page/plot.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

namespace fs = std::filesystem;

// Empty if gnuplot wrote no such file.
std::string read_text(const fs::path& path) {
  return fs::exists(path) ? core::read_file(path) : std::string();
}

// Whether there is a file of that name where programs are looked up.
bool in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return fs::exists(program);
  const char* variable = std::getenv("PATH");
  std::istringstream path(variable == nullptr ? "/bin:/usr/bin" : variable);
  std::error_code ignored;
  for (std::string directory; std::getline(path, directory, ':');)
    if (fs::exists(fs::path(directory.empty() ? "." : directory) / program, ignored)) return true;
  return false;
}

// Starts program with one argument in directory, with its messages in messages.txt there. Returns
// errno.
int spawn_in(const fs::path& directory, const std::string& program, const std::string& argument,
             pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "messages.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::string name = program, no_user_settings = "-d", script = argument;
  std::array<char*, 4> arguments = {name.data(), no_user_settings.data(), script.data(), nullptr};
  const int failed =
      posix_spawnp(&pid, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

// Waits for a child and kills it if it takes longer than `limit`; then returns null.
std::optional<int> status_within(pid_t pid, std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + limit;
  auto pause = std::chrono::milliseconds(1);
  int status = 0;
  for (pid_t done = 0; done == 0;) {
    done = waitpid(pid, &status, WNOHANG);
    if (done == pid) return status;
    if (done == 0 && Clock::now() >= end) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(20));
  }
  kill(pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return std::nullopt;
}

std::string first_line(const std::string& text) {
  const auto begin = text.find_first_not_of("\r\n ");
  if (begin == std::string::npos) return "no message";
  return text.substr(begin, text.find('\n', begin) - begin);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// gnuplot writes a group for every change of its pen, most of them empty.
void remove_empty_groups(std::string& svg) {
  std::string out;
  out.reserve(svg.size());
  std::size_t at = 0;
  while (at < svg.size()) {
    const auto open = svg.find("<g ", at);
    if (open == std::string::npos) break;
    const auto close = svg.find('>', open);
    if (close == std::string::npos) break;
    out.append(svg, at, open - at);
    const auto next = svg.find_first_not_of(" \t\r\n", close + 1);
    if (next != std::string::npos && svg.compare(next, 4, "</g>") == 0) {
      at = next + 4;
      while (at < svg.size() && svg[at] == '\n') ++at;
    } else {
      out.append(svg, open, close + 1 - open);
      at = close + 1;
    }
  }
  out.append(svg, at);
  svg = std::move(out);
}

// Rewrites "rgb(  0, 114, 178)" by `colour_of(0x0072b2)`.
template <class F>
std::string rewrite_colours(const std::string& svg, F colour_of) {
  std::string out;
  out.reserve(svg.size());
  std::size_t at = 0;
  for (auto open = svg.find("rgb("); open != std::string::npos; open = svg.find("rgb(", at)) {
    unsigned r = 0, g = 0, b = 0;
    const auto close = svg.find(')', open);
    if (close == std::string::npos ||
        std::sscanf(svg.substr(open, close - open).c_str(), "rgb(%u,%u,%u", &r, &g, &b) != 3)
      break;
    out.append(svg, at, open - at);
    out += colour_of(fmt::format("#{:02x}{:02x}{:02x}", r & 255, g & 255, b & 255));
    at = close + 1;
  }
  out.append(svg, at);
  return out;
}

std::string page_colour(const std::string& hex) {
  if (hex == "#000000") return "currentColor";
  for (const auto& colour : figure_colours())
    if (hex == colour.hex) return fmt::format("var(--{},{})", colour.variable, hex);
  return hex;
}

std::string attribute(std::string_view svg, std::string_view name) {
  const auto at = svg.find(fmt::format("{}=\"", name));
  if (at == std::string_view::npos) return "";
  const auto begin = at + name.size() + 2;
  return std::string(svg.substr(begin, svg.find('"', begin) - begin));
}

Drawing draw_in(const fs::path& directory, const std::string& stem, const std::string& script,
                const std::string& data, const std::string& program,
                std::chrono::milliseconds limit) {
  core::write_file(directory / (stem + ".gp"), script);
  core::write_file(directory / (stem + ".dat"), data);
  pid_t pid = -1;
  if (const int failed = spawn_in(directory, program, stem + ".gp", pid); failed != 0)
    return {"", fmt::format("{} cannot be run: {}", program, std::strerror(failed)),
            failed == ENOENT && !in_path(program)};
  const std::optional<int> status = status_within(pid, limit);
  if (!status)
    return {"",
            fmt::format("{} did not end within {} s on {}.gp and was killed", program,
                        static_cast<double>(limit.count()) / 1000, stem),
            false, true};
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
    return {"",
            fmt::format("{} failed on {}.gp: {}", program, stem,
                        first_line(read_text(directory / "messages.txt"))),
            false};
  std::string svg = read_text(directory / (stem + ".svg"));
  if (svg.find("</svg>") == std::string::npos)
    return {"", fmt::format("{} wrote no {}.svg", program, stem), false};
  return {std::move(svg), "", false};
}

}  // namespace

Drawing run_gnuplot(const std::string& stem, const std::string& script, const std::string& data,
                    const std::string& program, std::chrono::milliseconds limit) {
  try {
    return draw_in(core::ScratchFolder("tabane-figure").path(), stem, script, data, program, limit);
  } catch (const core::SystemError& error) {
    return {"", fmt::format("gnuplot has no files to work on: {}", error.what()), false};
  }
}

std::string inline_svg(std::string_view svg, std::string_view prefix, std::string_view title) {
  const auto canvas = svg.find("<g id=\"gnuplot_canvas\"");
  if (canvas == std::string_view::npos) return "";
  const std::string view_box = attribute(svg.substr(0, canvas), "viewBox");
  std::string body(svg.substr(canvas));

  if (const auto background = body.find("<rect x=\"0\" y=\"0\""); background < body.find("<defs>"))
    body.erase(background, body.find("/>", background) + 2 - background);
  for (auto at = body.find("<title>"); at != std::string::npos; at = body.find("<title>"))
    body.erase(at, body.find("</title>", at) + 8 - at);
  remove_empty_groups(body);
  replace_all(body, "fill=\"black\"", "fill=\"currentColor\"");
  replace_all(body, "stroke=\"black\"", "stroke=\"currentColor\"");
  replace_all(body, "color=\"black\"", "color=\"currentColor\"");
  replace_all(body, "font-family=\"sans-serif\" ", "");
  for (const char* id : {"id='", "id=\"", "href='#", "url(#"})
    replace_all(body, id, fmt::format("{}{}-", id, prefix));
  body = rewrite_colours(body, page_colour);
  return fmt::format("<svg viewBox=\"{}\" role=\"img\" aria-label=\"{}\">\n{}", view_box,
                     escape_html(title), body);
}

}  // namespace tabane::lab
