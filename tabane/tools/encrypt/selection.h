// Which entries of a tree a job takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tabane::encrypt {

class Selection {
 public:
  Selection() = default;  // takes all
  // excludes: shell patterns (fnmatch) of what is left out. One with a '/' before its end is held
  // against the path below the root, where a '/' in front changes nothing else; any other against
  // the name. With '/' at its end it fits directories only; with '!' in front it takes what earlier
  // ones leave out. The last one that fits decides. paths: patterns of paths; if there are any,
  // nothing is taken but what they fit and what lies below that. one_file_system: nothing is taken
  // from below a directory that another file system is mounted on.
  explicit Selection(const std::vector<std::string>& excludes,
                     const std::vector<std::string>& paths = {}, bool one_file_system = false);

  bool takes_all() const { return rules_.empty() && paths_.empty() && !one_file_system_; }
  bool one_file_system() const { return one_file_system_; }
  const std::vector<std::string>& paths() const { return paths_; }
  static bool fits(const std::string& pattern, const std::string& path);

  // Whether an entry is left out, by itself or with a directory that it lies in. The root never is,
  // and a directory is not if it leads to what `paths` may fit.
  bool leaves_out(std::string_view path, bool directory) const;
  // The same of an entry whose directory is not left out. path: needed if needs_paths().
  bool leaves_out(const std::string& name, const std::string& path, bool directory) const;
  bool needs_paths() const { return needs_paths_; }

  // Whether an entry is taken: not a directory that only leads to others.
  bool takes(std::string_view path, bool directory) const;

 private:
  struct Rule {
    std::string pattern;
    bool of_path = false, of_directories = false, takes = false;
  };

  bool is_named(std::string_view path) const;

  std::vector<Rule> rules_;
  std::vector<std::string> paths_;
  std::vector<std::string> ways_;  // patterns of the directories that paths_ lead through
  bool one_file_system_ = false, needs_paths_ = false;
};

}  // namespace tabane::encrypt
