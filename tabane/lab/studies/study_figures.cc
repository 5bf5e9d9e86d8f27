#include <cerrno>
#include <fstream>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/lab/figures/aes_folder.h"
#include "tabane/lab/figures/ap1000.h"
#include "tabane/lab/figures/process_thread.h"
#include "tabane/lab/report.h"
#include "tabane/lab/study.h"

namespace tabane::lab {
namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw core::SystemError("write", path.string(), errno != 0 ? errno : EIO);
}

}  // namespace

std::optional<std::string> write_study_figures(const Study& study,
                                               const std::filesystem::path& directory) {
  std::vector<Figure> figures = make_aes_folder_figures(study.record);
  for (const auto make : {make_process_thread_figures, make_ap1000_figures}) {
    for (Figure& figure : make(study.record)) figures.push_back(std::move(figure));
  }
  if (figures.empty()) return "There are no figures: too little was measured.";
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) throw core::SystemError("mkdir", directory.string(), failed.value());
  std::optional<std::string> remark = draw(figures);
  for (const Figure& figure : figures) {
    write_text(directory / (figure.id + ".gp"), figure.script);
    write_text(directory / (figure.id + ".dat"), figure.data);
    // A drawing that an earlier study left here would pass for this one's.
    std::filesystem::remove(directory / (figure.id + ".svg"), failed);
    if (!figure.svg.empty()) write_text(directory / (figure.id + ".svg"), figure.svg);
  }
  return remark;
}

}  // namespace tabane::lab
