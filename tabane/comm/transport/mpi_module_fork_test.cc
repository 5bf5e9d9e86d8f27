#include "tabane/comm/transport/mpi_module.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "tabane/comm/launch.h"
#include "tabane/core/loadable_module.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::comm {
namespace {

// The variables that tell of a launcher are what the test says, and nothing else.
class MpiModule : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* const name : kNames) {
      if (const char* const text = getenv(name)) before_[name] = text;
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const char* const name : kNames) unsetenv(name);
    for (const auto& [name, text] : before_) setenv(name.c_str(), text.c_str(), 1);
  }
  static void set(const char* name, const char* text) { setenv(name, text, 1); }

 private:
  static constexpr std::array<const char*, 21> kNames{"TABANE_SILENCE_LIMIT",
                                                      "OMPI_COMM_WORLD_SIZE",
                                                      "OMPI_COMM_WORLD_LOCAL_SIZE",
                                                      "MPI_LOCALNRANKS",
                                                      "SLURM_STEP_TASKS_PER_NODE",
                                                      "PMIX_RANK",
                                                      "PMI_RANK",
                                                      "PMI_SIZE",
                                                      "PMI_FD",
                                                      "SLURM_PROCID",
                                                      "SLURM_JOB_ID",
                                                      "SLURM_NTASKS",
                                                      "SLURM_STEP_NUM_TASKS",
                                                      "PALS_RANKID",
                                                      "FLUX_TASK_RANK",
                                                      "MPI_LOCALRANKID",
                                                      "JSM_NAMESPACE_RANK",
                                                      "FLUX_JOB_SIZE",
                                                      "LSF_PM_TASKID",
                                                      "LSB_DJOB_NUMPROC",
                                                      "PBS_NODENUM"};
  std::map<std::string, std::string> before_;
};

TEST_F(MpiModule, IsNotWantedWithoutALauncher) {
  EXPECT_FALSE(mpi_launcher());
  EXPECT_EQ(detect_transport(), TransportKind::shm);
}

TEST_F(MpiModule, IsNotWantedInTheShellOfASlurmJob) {
  set("SLURM_JOB_ID", "17");
  set("SLURM_NTASKS", "8");
  set("SLURM_PROCID", "0");
  EXPECT_FALSE(mpi_launcher());
  set("PMI_RANK", "0");  // and no PMI_SIZE
  EXPECT_FALSE(mpi_launcher());
}

TEST_F(MpiModule, IsThatOfTheLauncher) {
  set("PMI_RANK", "0");
  set("PMI_SIZE", "3");
  EXPECT_EQ(detect_transport(), TransportKind::mpi);
  EXPECT_EQ(mpi_launcher()->ranks, 3);
  EXPECT_EQ(mpi_launcher()->modules, std::vector<std::string>{"libtabane_mpi_mpich.so"});
  set("SLURM_PROCID", "0");  // its PMI serves every MPI
  EXPECT_EQ(mpi_launcher()->modules.size(), 2U);
  set("PMIX_RANK", "0");
  set("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_EQ(mpi_launcher()->ranks, 4);
  EXPECT_EQ(mpi_launcher()->modules.front(), "libtabane_mpi_openmpi.so");
  set("OMPI_COMM_WORLD_SIZE", "2");
  EXPECT_EQ(mpi_launcher()->variable, "OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(mpi_launcher()->ranks, 2);
  EXPECT_EQ(mpi_launcher()->modules, std::vector<std::string>{"libtabane_mpi_openmpi.so"});
}

TEST_F(MpiModule, KnowsTheRanksOfThisHost) {
  EXPECT_EQ(ranks_on_this_host(), 1);
  set("PMIX_RANK", "0");
  EXPECT_EQ(ranks_on_this_host(), std::nullopt);
  set("SLURM_PROCID", "0");
  set("SLURM_STEP_NUM_TASKS", "11");
  EXPECT_EQ(ranks_on_this_host(), 11);
  set("SLURM_STEP_TASKS_PER_NODE", "4(x2),3");
  EXPECT_EQ(ranks_on_this_host(), 4);
  set("OMPI_COMM_WORLD_SIZE", "8");
  EXPECT_EQ(ranks_on_this_host(), 8);
  set("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
  EXPECT_EQ(ranks_on_this_host(), 2);
}

TEST_F(MpiModule, KnowsTheRanksOfThisHostUnderHydra) {
  set("PMI_RANK", "0");
  set("PMI_SIZE", "6");
  EXPECT_EQ(ranks_on_this_host(), 6);
  set("MPI_LOCALNRANKS", "3");
  EXPECT_EQ(ranks_on_this_host(), 3);
}

TEST_F(MpiModule, IsMissedByTasksThatNothingConnects) {
  using Variables = std::vector<std::pair<const char*, const char*>>;
  const auto complaint = [](const Variables& variables) {
    for (const auto& [name, value] : variables) set(name, value);
    std::string text = complaint_about_task();
    for (const auto& [name, value] : variables) unsetenv(name);
    return text;
  };
  EXPECT_EQ(complaint({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}),
            "Slurm has started this process as one of several tasks (SLURM_STEP_NUM_TASKS=4), but "
            "no MPI connects them, so each would do the whole job: start them by srun --mpi=pmix, "
            "or another one of those that srun --mpi=list shows, or start one task; if each is to "
            "do a job of its own, unset SLURM_STEP_NUM_TASKS");
  const Variables flux{{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}};
  EXPECT_TRUE(complaint(flux).starts_with("Flux has")) << complaint(flux);

  // Alone, in the job's own script, connected, or perhaps alone with several slots or nodes.
  for (const Variables& none :
       {Variables{}, Variables{{"SLURM_STEP_NUM_TASKS", "1"}},
        Variables{{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}, Variables{{"FLUX_JOB_SIZE", "2"}},
        Variables{{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "1"}},
        Variables{{"LSF_PM_TASKID", "1"}, {"LSB_DJOB_NUMPROC", "16"}},
        Variables{{"PBS_NODENUM", "1"}},
        Variables{{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "0"}},
        Variables{{"FLUX_TASK_RANK", "0"},
                  {"FLUX_JOB_SIZE", "2"},
                  {"PMI_RANK", "0"},
                  {"PMI_SIZE", "2"}}}) {
    EXPECT_EQ(complaint(none), "");
  }
}

TEST_F(MpiModule, IsRefusedWithoutALauncherAndSpoilsNothing) {
  const std::string error = core::text_of_error<core::UsageError>(
      [] { launch({.transport = TransportKind::mpi}, [](Comm&) {}); });
  EXPECT_EQ(error,
            "the transport mpi was asked for, but no MPI launcher has started this process: start "
            "it by mpirun -n RANKS PROGRAM, or ask for the transport shm");
  EXPECT_EQ(launch_result<int>({.ranks = 2}, [](Comm& comm) { return comm.size(); }), 2);
}

TEST_F(MpiModule, TakesTheLimitOfSilenceFromOptionOrEnvironment) {
  EXPECT_EQ(silence_limit({}), 30);
  EXPECT_EQ(silence_limit(2.5), 2.5);
  set("TABANE_SILENCE_LIMIT", "0");
  EXPECT_EQ(silence_limit({}), 0);
  EXPECT_EQ(silence_limit(7), 7);
  for (const char* const bad : {"", "-1", "1s", "nan", "1e9"}) {
    set("TABANE_SILENCE_LIMIT", bad);
    EXPECT_THROW(silence_limit({}), core::UsageError) << bad;
  }
  EXPECT_THROW(silence_limit(-1), core::UsageError);
}

// Under a launcher, with a directory for modules that is the test's own.
class MpiModuleLost : public MpiModule {
 protected:
  void SetUp() override {
    MpiModule::SetUp();
    set("PMI_RANK", "0");
    set("PMI_SIZE", "2");
    std::filesystem::create_directory(directory_);
    set("TABANE_MPI_MODULE", directory_.c_str());
  }
  void TearDown() override {
    unsetenv("TABANE_MPI_MODULE");
    std::filesystem::remove_all(directory_);
    MpiModule::TearDown();
  }
  static std::string error_of_launch() {
    return core::text_of_error<core::UsageError>([] { launch({}, [](Comm&) {}); });
  }

  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("tabane_mpi_module." + std::to_string(getpid()));
};

TEST_F(MpiModuleLost, IsNamedWithWhereItWasLookedForAndWhatToDo) {
  EXPECT_EQ(error_of_launch(),
            "this process was started by an MPI launcher (PMI_SIZE is set), but tabane's module "
            "for MPI, libtabane_mpi_mpich.so, is not in " +
                directory_.string() +
                ": install the headers of this MPI (Debian: libopenmpi-dev or libmpich-dev) and "
                "build tabane again, or give the module's directory by TABANE_MPI_MODULE, or ask "
                "for the transport shm");
}

TEST_F(MpiModuleLost, IsNotNeededWhereShmIsAskedFor) {
  int ranks = 0;
  launch({.ranks = 1, .transport = TransportKind::shm}, [&](Comm& comm) { ranks = comm.size(); });
  EXPECT_EQ(ranks, 1);
}

TEST_F(MpiModuleLost, IsNotTakenFromAnotherVersion) {
  const std::filesystem::path other = directory_ / "other";  // what is loaded has its name for ever
  std::filesystem::create_directory(other);
  std::filesystem::create_symlink(core::module_places().built / "libtabane_mpi_other_version.so",
                                  other / "libtabane_mpi_mpich.so");
  set("TABANE_MPI_MODULE", other.c_str());
  const std::string error = error_of_launch();
  EXPECT_NE(error.find("is of version 0.0.0, and this program of "), std::string::npos) << error;
  EXPECT_NE(error.find(other.string()), std::string::npos) << error;
}

TEST_F(MpiModuleLost, TellsWhyItCannotBeLoaded) {
  std::ofstream(directory_ / "libtabane_mpi_mpich.so") << "no library";
  const std::string error = error_of_launch();
  EXPECT_NE(error.find("tabane's module for MPI cannot be loaded: "), std::string::npos) << error;
  EXPECT_NE(error.find("libtabane_mpi_mpich.so"), std::string::npos) << error;
}

}  // namespace
}  // namespace tabane::comm
