#include "tabane/comm/transport/mpi_module.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "tabane/core/loadable_module.h"

namespace tabane::comm {
namespace {

constexpr const char* kOpenMpi = "libtabane_mpi_openmpi.so";
constexpr const char* kMpich = "libtabane_mpi_mpich.so";
constexpr const char* kDirectoryVariable = "TABANE_MPI_MODULE";

const char* variable(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it meanwhile
}

int number_in(const char* name) {
  const char* const text = variable(name);
  int number = 0;
  if (text != nullptr) std::from_chars(text, text + std::string_view(text).size(), number);
  return number;
}

// A program with more rights than its caller does not take the caller's word for it.
std::filesystem::path directory_of_modules() {
  const char* const given = secure_getenv(kDirectoryVariable);
  return given != nullptr ? given
                          : core::module_directory(core::this_program(), core::module_places());
}

// MPI's own plugins look for its symbols among all: RTLD_GLOBAL.
void* load() {
  const std::optional<MpiLauncher> launcher = mpi_launcher();
  const std::string started =
      launcher ? fmt::format("this process was started by an MPI launcher ({} is set)",
                             launcher->variable)
               : "the transport mpi was asked for";
  const std::vector<std::string> modules =
      launcher ? launcher->modules : std::vector<std::string>{kOpenMpi, kMpich};
  const std::filesystem::path directory = directory_of_modules();
  for (const std::string& module : modules) {
    const std::filesystem::path file = directory / module;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    // A directory that the user has named is the user's choice.
    const bool is_named = secure_getenv(kDirectoryVariable) != nullptr;
    const std::string distrust = is_named ? "" : core::distrust_of(file, core::this_program());
    if (!distrust.empty()) {
      throw core::UsageError(
          "{}, but tabane's module for MPI is not loaded: {}. If you trust it all the same, set "
          "{}={}",
          started, distrust, kDirectoryVariable, directory.string());
    }
    if (void* const loaded = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) return loaded;
    throw core::UsageError("{}, but tabane's module for MPI cannot be loaded: {}", started,
                           dlerror());
  }
  throw core::UsageError(
      "{}, but tabane's module for MPI, {}, is not in {}: install the headers of this MPI (Debian: "
      "libopenmpi-dev or libmpich-dev) and build tabane again, or give the module's directory by "
      "{}, or ask for the transport shm",
      started, fmt::join(modules, " or "), directory.string(), kDirectoryVariable);
}

template <class Entry>
Entry* entry(void* module, const char* name) {
  if (void* const found = dlsym(module, name)) return reinterpret_cast<Entry*>(found);
  throw core::UsageError("tabane's module for MPI is of another version: it has no {}", name);
}

// The module gets and returns objects of the program's classes.
void require_same_version(void* module) {
  const std::string_view version = entry<const char>(module, "tabane_mpi_version");
  if (version == TABANE_VERSION) return;
  throw core::UsageError(
      "tabane's module for MPI in {} is of version {}, and this program of {}: give "
      "the directory of its own by {}",
      directory_of_modules().string(), version, TABANE_VERSION, kDirectoryVariable);
}

// It stays loaded: MPI leaves handlers behind that run at exit.
decltype(tabane_mpi_open)* opener_in_module() {
  void* const module = load();
  require_same_version(module);
  return entry<decltype(tabane_mpi_open)>(module, "tabane_mpi_open");
}

// Variables of launchers that are no reason to take MPI, but may be one where it was asked for.
constexpr std::array<const char*, 6> kOtherLaunchers{
    "PMI_RANK", "PMI_FD", "PALS_RANKID", "FLUX_TASK_RANK", "MPI_LOCALRANKID", "JSM_NAMESPACE_RANK"};

// Rank 0 is there. "4(x2),3"
int ranks_on_first_slurm_node() { return number_in("SLURM_STEP_TASKS_PER_NODE"); }

// Whether the program itself has started MPI.
bool mpi_runs() {
  using Initialized = int(int*);
  auto* const initialized = reinterpret_cast<Initialized*>(dlsym(RTLD_DEFAULT, "MPI_Initialized"));
  int yes = 0;
  return initialized != nullptr && initialized(&yes) == 0 && yes != 0;
}

// Alone, MPI would start with one rank, and leave variables behind that look like a launcher's.
void require_launcher() {
  if (mpi_launcher() || mpi_runs() || number_in("SLURM_STEP_NUM_TASKS") > 1) return;
  if (std::ranges::any_of(kOtherLaunchers, [](const char* name) { return variable(name); })) return;
  throw core::UsageError(
      "the transport mpi was asked for, but no MPI launcher has started this process: start it by "
      "mpirun -n RANKS PROGRAM, or ask for the transport shm");
}

}  // namespace

std::optional<MpiLauncher> mpi_launcher() {
  const bool slurm = variable("SLURM_PROCID") != nullptr;
  if (variable("OMPI_COMM_WORLD_SIZE") != nullptr) {
    return MpiLauncher{"OMPI_COMM_WORLD_SIZE",
                       number_in("OMPI_COMM_WORLD_SIZE"),
                       {kOpenMpi},
                       number_in("OMPI_COMM_WORLD_LOCAL_SIZE")};
  }
  if (variable("PMIX_RANK") != nullptr) {
    return MpiLauncher{"PMIX_RANK",
                       slurm ? number_in("SLURM_STEP_NUM_TASKS") : 0,
                       {kOpenMpi, kMpich},
                       slurm ? ranks_on_first_slurm_node() : 0};
  }
  if (variable("PMI_RANK") != nullptr && variable("PMI_SIZE") != nullptr) {
    MpiLauncher launcher{"PMI_SIZE",
                         number_in("PMI_SIZE"),
                         {kMpich},
                         slurm ? ranks_on_first_slurm_node() : number_in("MPI_LOCALNRANKS")};
    if (slurm) launcher.modules.emplace_back(kOpenMpi);
    return launcher;
  }
  return {};
}

std::string complaint_about_task() {
  // Those that say how many tasks a step has: `task` is set for each, `number` is that number. LSF
  // and PBS tell a task only of slots and nodes, which one task may have to itself.
  struct System {
    const char *name, *task, *number, *remedy;
  };
  constexpr std::array<System, 2> kSystems{
      {{"Slurm", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_TASKS",
        "srun --mpi=pmix, or another one of those that srun --mpi=list shows"},
       {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "flux run -o pmi=simple, or -o pmi=pmix"}}};
  const auto found = std::ranges::find_if(kSystems, [](const System& system) {
    return variable(system.task) != nullptr && number_in(system.number) > 1;
  });
  if (found == kSystems.end() || mpi_launcher() || mpi_runs()) return "";
  return fmt::format(
      "{} has started this process as one of several tasks ({}={}), but no MPI connects them, so "
      "each would do the whole job: start them by {}, or start one task; if each is to do a job of "
      "its own, unset {}",
      found->name, found->number, number_in(found->number), found->remedy, found->task);
}

double silence_limit(std::optional<double> given) {
  constexpr const char* kVariable = "TABANE_SILENCE_LIMIT";
  constexpr double kMost = 1e6, kDefault = 30;
  const char* const text = variable(kVariable);
  double limit = given.value_or(kDefault);
  if (!given && text != nullptr) {
    const std::string_view all = text;
    const auto [end, code] = std::from_chars(all.data(), all.data() + all.size(), limit);
    if (code != std::errc{} || end != all.data() + all.size()) limit = -1;
  }
  if (limit >= 0 && limit <= kMost) return limit;
  throw core::UsageError(
      "{} = {} cannot be: give the seconds after which a host that is silent is lost, "
      "or 0 for never",
      given ? "silence_limit_s" : kVariable, given ? fmt::format("{}", *given) : text);
}

std::unique_ptr<MpiWorld> open_mpi_world(double silence_limit_s) {
  require_launcher();
  static const auto open = opener_in_module();
  std::unique_ptr<MpiWorld> world(open(silence_limit_s));
  const std::optional<MpiLauncher> launcher = mpi_launcher();
  if (!launcher || launcher->ranks == 0 || launcher->ranks == world->size()) return world;
  throw core::UsageError(
      "{} says that there are {} ranks, but the MPI of tabane's module {} knows of {}: it is not "
      "the MPI whose launcher was used",
      launcher->variable, launcher->ranks, fmt::join(launcher->modules, " or "), world->size());
}

}  // namespace tabane::comm
