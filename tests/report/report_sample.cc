// Writes reports of invented machines, for the browser test: report_sample DIRECTORY.
#include <cstdio>
#include <filesystem>
#include <string>

#include "tabane/lab/report.h"
#include "tabane/lab/report_test_record.h"

int main(int argc, char** argv) {
  using namespace tabane::lab;
  if (argc != 2) return 2;
  const std::filesystem::path root = argv[1];
  const auto write = [&](const char* name, const SurveyRecord& record) {
    if (const auto remark = write_report(record, root / name))
      std::fprintf(stderr, "%s: %s\n", name, remark->c_str());
  };
  write("full", testing::full_record());
  write("many_pus", testing::full_record(512));
  write("one_cpu", testing::one_cpu_record());
  write("no_tables", testing::record_without_tables());
  write("hostile", testing::hostile_record());
}
