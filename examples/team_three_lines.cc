// Adds up the lengths of many words with two processes that read what this one has built.
#include <cstdio>
#include <exception>
#include <list>
#include <string>
#include <vector>

#include "tabane/team/team.h"

int main() try {
  std::list<std::string> words;
  std::vector<const std::string*> tasks;
  for (int i = 0; i < 100'000; ++i) tasks.push_back(&words.emplace_back(i % 17, 'x'));

  tabane::team::Team team({.processes = 2, .threads = 1});
  const auto length = [&](std::size_t i) { return tasks[i]->size(); };
  const std::vector<std::size_t> lengths = team.map<std::size_t>(tasks.size(), length);

  std::size_t sum = 0;
  for (const std::size_t one : lengths) sum += one;
  std::printf(
      "%zu characters in %zu words; whoever is free takes the next ones: process 0 counted %zu, "
      "process 1 %zu\n",
      sum, lengths.size(), team.report().tasks[0], team.report().tasks[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "team_three_lines: %s\n", error.what());
  return 1;
}
