#include "tabane/program/passphrase_prompt.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/crypto/secret.h"

namespace tabane::program {
namespace {

using core::Descriptor;
using crypto::Passphrase;

constexpr std::size_t kMostBytes = 1024;
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

volatile std::sig_atomic_t caught = 0;
void note(int signal_number) { caught = signal_number; }

// For a scope: read() returns when a signal comes, and the signal waits for the end of the scope.
class InterruptibleReads {
 public:
  InterruptibleReads() {
    caught = 0;
    struct sigaction action {};
    action.sa_handler = note;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~InterruptibleReads() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  InterruptibleReads(const InterruptibleReads&) = delete;
  InterruptibleReads& operator=(const InterruptibleReads&) = delete;

 private:
  std::array<struct sigaction, kSignals.size()> before_{};
};

class NoEcho {
 public:
  explicit NoEcho(int terminal) : terminal_(terminal) {
    if (tcgetattr(terminal_, &before_) != 0)
      throw core::SystemError("tcgetattr", "/dev/tty", errno);
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHOE | ECHOK);
    silent.c_lflag |= ICANON | ISIG | ECHONL;
    tcsetattr(terminal_, TCSAFLUSH, &silent);
  }
  ~NoEcho() { tcsetattr(terminal_, TCSAFLUSH, &before_); }
  NoEcho(const NoEcho&) = delete;
  NoEcho& operator=(const NoEcho&) = delete;

 private:
  int terminal_;
  termios before_{};
};

// A line in memory that is wiped, with room to see that it is too long.
struct TypedLine {
  crypto::LockedBytes<kMostBytes + 2> bytes;
  std::size_t size = 0;
  bool ended = false;

  std::span<const std::byte> text() const { return bytes.bytes().first(size); }
};

// Reads until the end of the line; what is beyond the room is dropped.
void read_line(int terminal, TypedLine& line) {
  while (caught == 0) {
    std::byte byte{};
    const ssize_t got = read(terminal, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw core::SystemError("read", "/dev/tty", errno);
    if (got == 0 || byte == std::byte{'\n'}) {
      line.ended = true;
      return;
    }
    if (line.size < line.bytes.bytes().size()) line.bytes.bytes()[line.size++] = byte;
  }
}

void say(int terminal, std::string_view text) {
  if (write(terminal, text.data(), text.size()) < 0) {
    throw core::SystemError("write", "/dev/tty", errno);
  }
}

// Asks again after the program was stopped (Ctrl-Z) and continued.
void ask_line(int terminal, std::string_view question, TypedLine& line) {
  while (!line.ended) {
    line.size = 0;
    {
      const InterruptibleReads reads;
      const NoEcho silent(terminal);
      say(terminal, question);
      read_line(terminal, line);
    }
    if (caught != 0) std::raise(caught);
  }
  if (line.size == 0) throw core::UsageError("the passphrase is empty");
  if (line.size > kMostBytes) {
    throw core::UsageError("the passphrase is longer than 1024 bytes");
  }
}

}  // namespace

Passphrase ask_passphrase(bool twice, const char* question, const char* instead) {
  const Descriptor terminal(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!terminal.valid()) {
    throw core::UsageError("there is no terminal to ask for a passphrase: give {}", instead);
  }
  TypedLine line;
  ask_line(terminal.get(), question, line);
  if (twice) {
    TypedLine again;
    ask_line(terminal.get(), "The same passphrase again: ", again);
    if (!std::ranges::equal(line.text(), again.text())) {
      throw core::UsageError("the two passphrases are not the same");
    }
  }
  return Passphrase::of(line.text());
}

void forbid_core_dumps() {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) {
    throw core::SystemError("setrlimit", "RLIMIT_CORE", errno);
  }
}

void make_memory_unreadable() {
  forbid_core_dumps();
  // A program that the system pipes core dumps to takes them whatever the limit.
  if (prctl(PR_SET_DUMPABLE, 0) != 0) throw core::SystemError("prctl", "PR_SET_DUMPABLE", errno);
}

}  // namespace tabane::program
