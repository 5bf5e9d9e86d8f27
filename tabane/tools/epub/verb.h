// The places of new books.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tabane/tools/epub/books.h"

namespace tabane::program {

// Gives each book its place: `output` itself for one book, or a file of its name in the directory
// `output`, which is made if it is missing. force: a regular file that is there may be replaced.
// throws: core::UsageError if a place is taken, is the place of two books, or is a book that is
// read, by whatever name.
std::vector<epub::BookPaths> places_of(const std::vector<std::string>& books,
                                       const std::string& output, bool force);

// throws: core::UsageError if the record of --json would replace a book, which may not be there
// yet, by whatever name; core::SystemError. record: a path, or empty.
void require_record_apart(const std::string& record, const std::filesystem::path& book);

}  // namespace tabane::program
