// Writes reports of invented machines and their records, for tests: report_sample DIRECTORY.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tabane/lab/compare/compare.h"
#include "tabane/lab/page/report.h"
#include "tabane/lab/page/report_record_test.h"

int main(int argc, char** argv) {
  using namespace tabane::lab;
  if (argc != 2) return 2;
  const std::filesystem::path root = argv[1];
  const auto write = [&](const char* name, const Record& record) {
    if (const auto remark = write_report(record, root / name))
      std::fprintf(stderr, "%s: %s\n", name, remark->c_str());
    std::ofstream(root / name / "record.json") << to_json(record);
  };
  write("full", testing::full_record());
  write("many_pus", testing::full_record(512));
  write("one_cpu", testing::one_cpu_record());
  write("no_tables", testing::record_without_tables());
  write("study", testing::study_record());
  write("bench", testing::bench_record());
  Record later = testing::full_record();
  later.machine["name"] = "another";
  for (Result& result : later.results)
    if (result.name.starts_with("memory.") && !result.samples.empty()) {
      for (double& sample : result.samples) sample *= 1.4;
      set_samples(result, result.samples);
    }
  write(
      "same",
      compare({{"before", testing::full_record()}, {"after", testing::full_record()}}, {}).record);
  write("comparison",
        compare({{"before", testing::full_record()}, {"after", std::move(later)}}, {}).record);
  write("hostile", testing::hostile_record());
}
