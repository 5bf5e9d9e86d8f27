// tabane._team: teams whose tasks are calls of a Python function.
#include "tabane/team/team.h"

#include <pthread.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/error.h"

namespace py = pybind11;

namespace tabane::team {
namespace {

// Of a thread that is in map(): its state in the interpreter, whose lock it does not hold outside
// of tasks. Null in tasks and in other threads.
thread_local PyThreadState* without_lock = nullptr;
thread_local bool announced = false;

// What os.fork() tells the interpreter. Forks in tasks are by Python, which tells it itself.
void before_fork() {
  if (without_lock == nullptr) return;
  PyEval_RestoreThread(without_lock);
  PyOS_BeforeFork();
  announced = true;
}

void after_fork(void (*tell)()) {
  if (!std::exchange(announced, false)) return;
  tell();
  without_lock = PyEval_SaveThread();
}

class WithoutLock {
 public:
  WithoutLock() { without_lock = PyEval_SaveThread(); }
  ~WithoutLock() { PyEval_RestoreThread(std::exchange(without_lock, nullptr)); }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;
};

class InTask {
 public:
  InTask() : before_(std::exchange(without_lock, nullptr)) {}
  ~InTask() { without_lock = before_; }
  InTask(const InTask&) = delete;
  InTask& operator=(const InTask&) = delete;

 private:
  PyThreadState* before_;
  py::gil_scoped_acquire lock_;
};

// Returns what task(i) returns, as bytes.
std::string call(const py::function& task, std::size_t i) {
  const InTask in_task;
  try {
    return py::cast<std::string>(task(i));
  } catch (const py::error_already_set& error) {
    // Destroyed here, where the lock is held.
    throw std::runtime_error(error.what());
  }
}

py::list map(Team& team, std::size_t n, const py::function& task) {
  std::vector<std::string> results;
  {
    const WithoutLock released;
    results = team.map<std::string>(n, [&](std::size_t i) { return call(task, i); });
  }
  py::list list(n);
  for (std::size_t i = 0; i < n; ++i) list[i] = py::bytes(std::exchange(results[i], {}));
  return list;
}

py::dict report(const Team& team) {
  const TeamReport& last = team.report();
  py::dict report;
  report["processes"] = last.processes;
  report["threads"] = last.threads;
  report["seconds"] = last.seconds;
  report["fork_seconds"] = last.fork_seconds;
  report["tasks"] = last.tasks;
  report["remarks"] = last.remarks;
  return report;
}

}  // namespace

PYBIND11_MODULE(_team, module) {
  module.attr("__version__") = TABANE_VERSION;
  pthread_atfork(
      before_fork, [] { after_fork(PyOS_AfterFork_Parent); },
      [] { after_fork(PyOS_AfterFork_Child); });
  // The translator that was registered last is asked first.
  py::register_exception<TaskError>(module, "TaskError", PyExc_RuntimeError);
  py::register_exception<core::LostError>(module, "LostError", PyExc_RuntimeError);
  py::register_exception<core::UsageError>(module, "UsageError", PyExc_ValueError);
  py::class_<Team>(module, "Team")
      .def(py::init([](int processes, int threads, bool allow_other_threads, bool prepare_memory) {
             return Team({.processes = processes,
                          .threads = threads,
                          .prepare_memory = prepare_memory,
                          .allow_other_threads = allow_other_threads});
           }),
           py::arg("processes"), py::arg("threads"), py::arg("allow_other_threads"),
           py::arg("prepare_memory"))
      .def("map", &map, py::arg("n"), py::arg("task"))
      .def("report", &report);
}

}  // namespace tabane::team
