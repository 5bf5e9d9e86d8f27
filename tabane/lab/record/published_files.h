// The texts of data/published/, put into the program by the build.
#pragma once

#include <span>

namespace tabane::lab {

struct PublishedFile {
  const char* name;  // of the file, without .json
  const char* json;
};

std::span<const PublishedFile> published_files();

}  // namespace tabane::lab
