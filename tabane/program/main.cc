// tabane VERB [options] [-- command]
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string_view>

#include "tabane/comm/message.h"
#include "tabane/core/error.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/output.h"

namespace tabane::program {
namespace {

int fail(const std::string& sentence, int code) {
  std::fprintf(stderr, "%s\n", printable(sentence).c_str());
  return code;
}

// What libraries throw says which of their functions it came from.
std::string sentence_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return "there is not enough memory";
  const auto* of_path = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  if (!of_path) return error.what();
  return fmt::format("{}: cannot be reached: {}", of_path->path1().string(),
                     of_path->code().message());
}

int code_of(const std::exception& error) {
  if (dynamic_cast<const core::UsageError*>(&error)) return kUsage;
  if (const auto* abort = dynamic_cast<const comm::AbortError*>(&error)) return abort->code();
  if (dynamic_cast<const core::LostError*>(&error)) return kLost;
  if (dynamic_cast<const core::VerificationError*>(&error)) return kVerification;
  return kFailed;
}

int fail(const std::exception& error, int code, const std::string& speaker = "tabane: ") {
  fail(speaker + sentence_of(error), code);
  if (const auto* more = dynamic_cast<const MoreLines*>(&error)) {
    for (const std::string& line : more->lines()) fail(line, code);
  }
  return code;
}

// What `run` starts has codes of its own, so all failures of `run` itself have one that is rare.
int as_seen_by_caller(int code, int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "run" ? kRunFailed : code;
}

int run(int argc, char** argv) {
  if (argc == 1) {
    std::fputs(help_text(tabane_program, tabane_program.name).c_str(), stderr);
    return kUsage;
  }
  Call call;
  try {
    call = understand(tabane_program, Words(argv + 1, argv + argc));
  } catch (const WrongArguments& error) {
    return fail(error.what(), as_seen_by_caller(kUsage, argc, argv));
  }
  if (call.answer) {
    std::fputs(call.answer->c_str(), stdout);
    return kOk;
  }
  try {
    return call.run();
  } catch (const std::exception& error) {
    const int code = as_seen_by_caller(code_of(error), argc, argv);
    write_error(call.given, sentence_of(error), code);
    return fail(error, code, call.given.verb + ": ");
  }
}

// What was printed may still be in a buffer, and the disk may be full.
int end(int code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return code;
  const int failed = code == kOk ? kFailed : code;
  // Which write has failed is not known any more: what one more meets is the reason.
  if (::write(STDOUT_FILENO, "\n", 1) < 0)
    return fail(core::SystemError("write", "stdout", errno), failed);
  return fail(core::Error("stdout: not all could be written"), failed);
}

Definition define_program() {
  return {.options = {{"-V,--version",
                       {},
                       "Print the version, the compiler and the libraries, and exit",
                       {.answer = [] { return version_text() + "\n"; }}}},
          .run = {}};
}

}  // namespace

constinit const Verb tabane_program{
    .name = "tabane",
    .what = "Measure and tune parallel machines, and the programs that run on them",
    .examples =
        "  tabane survey                     measures this machine in two minutes, and writes a "
        "page\n"
        "  tabane time 'sort a' 'sort --parallel=1 a'\n"
        "                                    which is faster, by how much, and how certain is it\n"
        "  tabane explain -- ./solver        finds what holds it back\n"
        "  tabane tune -- ./solver           finds the threads, places and memory that are fastest",
    .define = define_program,
    .below = kVerbs};

}  // namespace tabane::program

int main(int argc, char** argv) {
  using namespace tabane;
  try {
    return program::end(program::run(argc, argv));
  } catch (const std::exception& error) {
    return program::fail(error, program::code_of(error));
  }
}
