#include "tabane/lab/commands/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <limits>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kStackBytes = 32768;

struct Start {
  const Spawn& what;
  pid_t parent;
  sigset_t mask;
  int* failed;  // errno
};

bool connect(int descriptor, int as) {
  if (descriptor < 0) return true;
  return descriptor == as ? fcntl(as, F_SETFD, 0) == 0 : dup2(descriptor, as) == as;
}

// In the child, in the memory of the parent or a copy of it; the parent waits: nothing here may
// allocate or throw. The parent's handlers end with execve(); until then no signal knows this
// process.
int replace_with_program(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.parent) _exit(SIGKILL);  // it has ended before
  bool connected = start.what.folder == nullptr || chdir(start.what.folder) == 0;
  for (int as = 0; as < 3; ++as)
    connected = connected && connect(start.what.streams[static_cast<std::size_t>(as)], as);
  if (connected) {
    sigprocmask(SIG_SETMASK, &start.mask, nullptr);
    execve(start.what.file, start.what.arguments, start.what.variables);
  }
  *start.failed = errno;
  _exit(1);
}

}  // namespace

pid_t spawn(const Spawn& what) {
  alignas(64) std::byte stack[kStackBytes];
  int own = 0;
  void* shared = &own;
  if (what.copied)
    shared = mmap(nullptr, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return -1;
  Start start{.what = what, .parent = getpid(), .mask = {}, .failed = static_cast<int*>(shared)};
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &start.mask);
  const int memory = what.copied ? 0 : CLONE_VM;
  const pid_t pid =
      clone(replace_with_program, stack + kStackBytes, memory | CLONE_VFORK | SIGCHLD, &start);
  const int failed = pid < 0 ? errno : *start.failed;
  if (what.copied) munmap(shared, sizeof own);
  pthread_sigmask(SIG_SETMASK, &start.mask, nullptr);
  if (failed == 0) return pid;
  while (pid > 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  errno = failed;
  return -1;
}

// By a copy that does all that another does, but finds no program.
double bytes_of_copy() {
  alignas(64) std::byte stack[kStackBytes];
  char* none[] = {nullptr};
  int failed = 0;
  const Spawn nothing{.file = "", .arguments = none, .variables = none};
  Start start{.what = nothing, .parent = getpid(), .mask = {}, .failed = &failed};
  pthread_sigmask(SIG_SETMASK, nullptr, &start.mask);
  const pid_t pid = clone(replace_with_program, stack + kStackBytes, CLONE_VFORK | SIGCHLD, &start);
  rusage usage{};
  if (pid < 0 || wait4(pid, nullptr, 0, &usage) != pid)
    return std::numeric_limits<double>::infinity();
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

struct KeptText::Hash {
  XXH3_state_t state;
};

KeptText::KeptText(std::size_t most_bytes, bool hashed)
    : most_(most_bytes), hash_(hashed ? new Hash : nullptr, [](Hash* hash) { delete hash; }) {
  if (hashed) XXH3_128bits_reset(&hash_->state);
}

void KeptText::add(std::string_view bytes) {
  if (hash_) XXH3_128bits_update(&hash_->state, bytes.data(), bytes.size());
  text_ += bytes;
  if (text_.size() > 2 * most_) text_.erase(0, text_.size() - most_);
}

std::string KeptText::text() const {
  return text_.size() > most_ ? text_.substr(text_.size() - most_) : text_;
}

std::string KeptText::hash() const {
  if (!hash_) return "";
  const XXH128_hash_t hash = XXH3_128bits_digest(&hash_->state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

PipeReader::PipeReader(std::size_t most_bytes, bool hashed) : kept_(most_bytes, hashed) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw core::SystemError("pipe2", "output of a command", errno);
  reading_.reset(ends[0]);
  writing_.reset(ends[1]);
  fcntl(reading_.get(), F_SETFL, O_NONBLOCK);
  if (most_bytes == 0 && !hashed) nothing_.reset(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

// Returns the number of bytes taken; 0 at the end; -1 with errno.
ssize_t PipeReader::take() {
  constexpr std::size_t kMostMoved = std::size_t{1} << 20;
  if (nothing_.valid())
    return splice(reading_.get(), nullptr, nothing_.get(), nullptr, kMostMoved, SPLICE_F_NONBLOCK);
  std::array<char, 65536> bytes;
  const ssize_t n = read(reading_.get(), bytes.data(), bytes.size());
  if (n > 0) kept_.add({bytes.data(), static_cast<std::size_t>(n)});
  return n;
}

void PipeReader::read_some() {
  // Who writes without end is not read without end.
  constexpr int kMostReads = 64;
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t n = take();
    if (n == 0 || (n < 0 && errno != EINTR)) return;
  }
}

}  // namespace tabane::lab
