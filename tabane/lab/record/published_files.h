// The texts of studies/*/published*.json, put into the program by the build.
#pragma once

#include <span>

namespace tabane::lab {

struct PublishedFile {
  const char* name;  // "aes-folder-phi" of studies/aes_folder/published_phi.json
  const char* json;
};

std::span<const PublishedFile> published_files();

}  // namespace tabane::lab
