#!/bin/sh
# Makes the folder of a new study or tool, which builds, runs and is tested as it is.
# usage: cmake/new_slice.sh study|tool NAME     NAME as users type it: word-count
set -eu
cd "$(dirname "$0")/.."

kind=${1:-} name=${2:-}
case $kind in study) folder=studies ;; tool) folder=tools ;; *) kind= ;; esac
if [ -z "$kind" ] || ! printf %s "$name" | grep -Eqx '[a-z][a-z0-9]*(-[a-z0-9]+)*'; then
  echo "usage: make new-study NAME=word-count, or make new-tool NAME=word-count" >&2
  exit 2
fi
id=$(printf %s "$name" | tr - _)
path=tabane/$folder/$id
if [ -e "$path" ]; then
  echo "$path is there already" >&2
  exit 1
fi
mkdir "$path"

[ "$kind" = tool ] && command="tabane $name" || command="tabane study $name"
cat >"$path/README.md" <<END
# \`$command\`

What it is for, how it works, what its figures mean.
END

cat >"$path/CMakeLists.txt" <<END
tabane_module($id DEPENDS tabane::program)
END

if [ "$kind" = tool ]; then
  cat >"$path/$id.h" <<END
#pragma once

#include <cstdint>

namespace tabane::$id {

// Returns the sum of the numbers up to n. throws: core::UsageError if it is too large.
std::uint64_t sum_up_to(std::uint64_t n);

}  // namespace tabane::$id
END
  cat >"$path/$id.cc" <<END
#include "tabane/tools/$id/$id.h"

#include "tabane/core/error.h"

namespace tabane::$id {

std::uint64_t sum_up_to(std::uint64_t n) {
  if (n >> 32 != 0) throw core::UsageError("the sum is too large");
  return n * (n + 1) / 2;
}

}  // namespace tabane::$id
END
  cat >"$path/${id}_test.cc" <<END
#include "tabane/tools/$id/$id.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::$id {
namespace {

TEST(Sum, IsExactOrRefused) {
  EXPECT_EQ(sum_up_to(0), 0U);
  EXPECT_EQ(sum_up_to(10), 55U);
  EXPECT_THROW(sum_up_to(std::uint64_t{1} << 32), core::UsageError);
}

}  // namespace
}  // namespace tabane::$id
END
  cat >"$path/verb.cc" <<END
#include <fmt/format.h>

#include <memory>

#include "tabane/program/command.h"
#include "tabane/tools/$id/$id.h"

namespace tabane::program {
namespace {

Definition define() {
  const auto n = std::make_shared<std::uint64_t>(10);
  return {{{"-n N", n.get(), "The last number (default 10)"}}, [n](const Given&) {
            fmt::print("{}\n", $id::sum_up_to(*n));
            return kOk;
          }};
}

}  // namespace

extern constinit const Verb ${id}_verb{.name = "$name",
                                       .what = "Say in one line what it does",
                                       .group = "Measure",
                                       .examples = "  $command -n 100",
                                       .define = define};

}  // namespace tabane::program
END
else
  cat >"$path/$id.h" <<END
#pragma once

#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// throws: as run_survey().
Record run_$id(const core::Topology& topology, bool quick, const Hooks& hooks = {});

}  // namespace tabane::lab
END
  cat >"$path/$id.cc" <<END
#include "tabane/studies/$id/$id.h"

#include <string>
#include <vector>

#include "tabane/lab/study/study.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

constexpr About kAbout = {"$name", "Say in one line what it shows", ""};

}  // namespace

Record run_$id(const core::Topology& topology, bool quick, const Hooks& hooks) {
  RunningStudy running(topology, kAbout, quick);
  add_probes(running.record, topology, std::vector<std::string>{"clock"}, hooks);
  return running.finish();
}

}  // namespace tabane::lab
END
  cat >"$path/${id}_fork_test.cc" <<END
#include "tabane/studies/$id/$id.h"

#include <gtest/gtest.h>

namespace tabane::lab {
namespace {

TEST(Study, MeasuresToItsEnd) {
  const Record record = run_$id(core::Topology::detect(), true);
  EXPECT_TRUE(record.complete);
  EXPECT_FALSE(record.results.empty());
}

}  // namespace
}  // namespace tabane::lab
END
  cat >"$path/verb.cc" <<END
#include <memory>

#include "tabane/program/command.h"
#include "tabane/program/run_study.h"
#include "tabane/studies/$id/$id.h"

namespace tabane::program {
namespace {

Definition define() {
  const auto options = std::make_shared<StudyOptions>();
  const auto quick = std::make_shared<bool>(false);
  return study(options, options->rows(*quick, "Take fewer samples"),
               [quick](const core::Topology& topology, const lab::Hooks& hooks) {
                 return lab::run_$id(topology, *quick, hooks);
               });
}

}  // namespace

extern constinit const Verb ${id}_study{.name = "$name",
                                        .what = "Say in one line what it shows",
                                        .examples = "  $command --quick",
                                        .define = define};

}  // namespace tabane::program
END
fi
if command -v clang-format >/dev/null; then clang-format -i "$path"/*.cc "$path"/*.h; fi
echo "made $path: make build, then $command"
