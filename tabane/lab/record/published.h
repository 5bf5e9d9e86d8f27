// Records of machines that others measured: the figures that the reports publish, in the form in
// which surveys and studies write theirs, so that both can be shown together. They come from the
// files studies/*/published*.json, which are part of the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/lab/record/record.h"

namespace tabane::lab {

// The names of all, as `tabane compare` takes them.
std::vector<std::string> published_names();

// throws: core::UsageError with the legal names.
const Record& published(std::string_view name);

// The texts of these files, put into the program by the build.
struct PublishedFile {
  const char* name;  // "aes-folder-phi" of studies/aes_folder/published_phi.json
  const char* json;
};
std::span<const PublishedFile> published_files();

}  // namespace tabane::lab
