#include "bench/solvers.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "bench/command.h"
#include "bench/remote.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/statistics.h"

namespace tabane::bench {

Contender solver_run(const Settings& settings, const std::filesystem::path& json,
                     const std::string& name, const std::string& arguments, double amount,
                     std::shared_ptr<lab::Json> last, const std::string& launcher) {
  const std::string text =
      fmt::format("{}{} {} -q --json={}", launcher, settings.program, arguments, json.string());
  Contender contender{.name = name, .amount = amount, .how = text};
  if (settings.program.empty()) contender.missing = "tabane was not found";
  contender.timed = [text, json, last](std::uint64_t) {
    run_command(shell(text));
    lab::Json record = lab::Json::parse(core::read_file(json));
    if (!record.at("passed").get<bool>()) throw core::Error(text + ": the check failed");
    const double seconds = record.at("seconds").get<double>();
    if (last) *last = std::move(record);
    return seconds;
  };
  return contender;
}

Contender Solvers::run(const std::string& name, const std::string& arguments, double amount,
                       Last last, const std::string& launcher) const {
  return solver_run(panel.settings(), folder / "tabane.json", name, arguments, amount,
                    std::move(last), launcher);
}

Contender Solvers::peer(const std::string& name, const std::string& program, int n, double amount,
                        double target, const std::string& version) const {
  const std::string path = beside_this_program(program), file = folder / "seconds";
  const std::string text = fmt::format(
      "OPENBLAS_NUM_THREADS=2 OMP_NUM_THREADS=2 OMP_PROC_BIND=close {} {} {}", path, n, file);
  Contender contender{
      .name = name, .amount = amount, .target = target, .how = text + "; " + version};
  if (!std::filesystem::exists(path)) contender.missing = program + " was not built";
  contender.timed = [text, file](std::uint64_t) {
    run_command(shell(text));
    return std::strtod(core::read_file(file).c_str(), nullptr);
  };
  return contender;
}

void Solvers::tell_share(const std::string& question, const std::string& figure,
                         const std::string& arguments, double least) const {
  if (!panel.wants(question)) return;
  const Last last = std::make_shared<lab::Json>();
  Contender contender = run("tabane", arguments, 1, last);
  if (!contender.missing.empty()) return panel.skip(question, contender.missing);
  std::vector<double> shares;
  const int runs = panel.settings().quick ? 1 : 5;
  panel.part(question, [&] {
    for (int i = 0; i < runs; ++i) {
      contender.timed(1);
      shares.push_back(last->at("operations_per_second").get<double>() /
                       last->at("limit_operations_per_second").get<double>());
    }
    panel.tell(question, "share", figure, shares, {least, true});
  });
}

Topic solvers_topic(std::function<void(Panel&)> run) {
  return {"solvers", "dense and sparse systems of equations", std::move(run)};
}

}  // namespace tabane::bench
