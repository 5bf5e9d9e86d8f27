// What a small process pays for a child that ends at once, and for a thread that does: fork, _exit
// and waitpid, or pthread_create and pthread_join, each timed alone. No OpenMP: its threads would
// make the process larger.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tabane/tools/survey/bench_truth/program.h"

namespace {

void fork_and_wait() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child < 0 || waitpid(child, nullptr, 0) != child) std::exit(1);
}

void* end_at_once(void*) { return nullptr; }

void create_and_join() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, end_at_once, nullptr) != 0) std::exit(1);
  pthread_join(thread, nullptr);
}

std::vector<double> times(int samples, void (*work)()) {
  std::vector<double> seconds;
  for (int i = -2; i < samples; ++i) {
    const double begin = truth::now();
    work();
    if (i >= 0) seconds.push_back(truth::now() - begin);
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const truth::Arguments arguments = truth::read_arguments(argc, argv);
  const auto forks = times(arguments.samples, fork_and_wait);
  truth::print("fork", forks);
  truth::print("thread", times(arguments.samples, create_and_join));
  return truth::end();
}
