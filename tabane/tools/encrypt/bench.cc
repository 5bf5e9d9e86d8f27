// Encrypting and decrypting files with whole commands against copying them and against openssl enc;
// and the AES that is inside.
#include <fmt/format.h>

#include "tabane/core/error.h"
#include "tabane/core/topology.h"
#include "tabane/core/units.h"
#include "tabane/crypto/engine.h"
#include "tabane/tools/encrypt/bench_place.h"

namespace tabane::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr double kResidentLimit = 48.0 * kMiB;

// "what, verb cipher"
std::string question_name(const std::string& what, Direction direction, const CipherKind& kind) {
  return what + ", " + verb(direction) + " " + kind.name;
}

// In both directions.
std::vector<std::string> question_names(const std::string& what,
                                        const std::vector<CipherKind>& kinds) {
  std::vector<std::string> names;
  for (const CipherKind& kind : kinds) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      names.push_back(question_name(what, direction, kind));
    }
  }
  return names;
}

// Of an answered question: what the command takes in parts of its two halves done one after the
// other.
void tell_against_halves(Panel& panel, const std::vector<lab::Comparison>& answers) {
  double whole = 0, halves = 0;
  for (const lab::Comparison& a : answers) {
    if (!a.ratio || a.peer_name.find(" alone") == std::string::npos) continue;
    whole = 1 / *a.ours;
    halves += 1 / *a.peer;
  }
  if (halves > 0) {
    panel.tell({.question = answers.front().question,
                .unit = "ratio",
                .figure = "time / (AES alone + copying alone)",
                .value = whole / halves});
  }
}

void ask_large_files(Asking& asking, Workplace& place, const CipherKind& kind, Direction direction,
                     const std::string& name) {
  // -q: without the copying that the summary compares with.
  Question question =
      place.question(name, "B/s", place.tabane(kind, direction, {}),
                     {place.parallel_cp(direction, 0.9), place.openssl_enc(kind, direction, 4),
                      place.tabane(kind, direction, {"-q"})});
  if (direction == Direction::encrypt && kind.chained()) {
    question.peers.push_back(place.tabane(gcm(), direction, {}));
    question.peers.back().name = "tabane --cipher aes-256-gcm";
    question.peers.back().target = 1;
  }
  if (direction == Direction::encrypt) {
    for (const char* engine : {"openssl", "ipsec-mb"}) {
      question.peers.push_back(place.tabane(kind, direction, {"--engine", engine}));
    }
    if (!crypto::ipsec_mb_available()) {
      question.peers.back().missing = "not built in, or not for this processor";
    }
  }
  question.peers.push_back(aes_alone(kind, direction, place.bytes(), asking.pool));
  question.peers.push_back(place.copy_alone(direction));
  tell_against_halves(asking.panel, asking.panel.ask(question));
}

// Samples of one contender that ran again and again.
void tell_spread(Panel& panel, const std::string& name, const core::Series& series, bool ours) {
  const double median = series.median();
  const auto figure = [&](const char* what, double value, const char* unit) {
    return lab::Comparison{.question = name,
                           .unit = unit,
                           .figure = fmt::format("{}: {}", series.name, what),
                           .value = value};
  };
  lab::Comparison middle = figure("median", median, "s");
  middle.samples = series.samples;
  lab::Comparison tail =
      figure("99th percentile / median", core::quantile(series.samples, 0.99) / median, "ratio");
  lab::Comparison late =
      figure("runs above mean + 1 s",
             static_cast<double>(core::outliers_mean_plus(series.samples).size()), "1");
  if (ours) {
    tail.limit = 2;
    late.limit = 0;
  }
  panel.tell(std::move(middle));
  panel.tell(tail);
  panel.tell(late);
  panel.tell(figure("beyond the far fences",
                    static_cast<double>(core::outliers_far_fence(series.samples).size()), "1"));
}

void repeat_large_files(Asking& asking, Workplace& place, const std::string& name) {
  core::MeasureOptions options = long_runs(asking.panel.settings(), 11, 5);
  options.confidence_target = 0;
  options.min_epochs = options.max_epochs = asking.panel.settings().quick ? 25 : 100;
  const Contender ours = place.tabane(gcm(), Direction::encrypt, {});
  const Contender cp = place.parallel_cp(Direction::encrypt, 0);
  const auto series = core::measure_interleaved(
      {{ours.name, ours.work, ours.before}, {cp.name, cp.work, cp.before}}, options);
  tell_spread(asking.panel, name, series[0], true);
  tell_spread(asking.panel, name, series[1], false);
}

void ask_about_large_files(Asking& asking) {
  const std::string what = "100 files of 4 MiB";
  const std::string again = what + ", again and again";
  std::vector<std::string> names = question_names(what, all_ciphers());
  names.push_back(again);
  at_workplace(asking, names, 100 * 4 * kMiB, [&](Workplace& place) {
    place.fill(0, 100, 4 * kMiB);
    for (const CipherKind& kind : all_ciphers()) {
      if (!asking.wants_any(question_names(what, {kind}))) continue;
      place.seal(kind);
      for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        const std::string name = question_name(what, direction, kind);
        if (asking.panel.wants(name)) ask_large_files(asking, place, kind, direction, name);
      }
    }
    if (asking.panel.wants(again)) repeat_large_files(asking, place, again);
  });
}

void ask_about_small_files(Asking& asking) {
  const std::string what = "20000 files of 1 KiB";
  at_workplace(asking, question_names(what, {gcm()}), 20000 * 2 * 4096, [&](Workplace& place) {
    place.fill(100, 200, 1024);
    place.seal(gcm());
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      asking.panel.ask(place.question(
          question_name(what, direction, gcm()), "files/s", place.tabane(gcm(), direction, {}),
          {place.cp(direction, 1), place.parallel_cp(direction, 0.8),
           place.tabane(gcm(), direction, {"-q"}), place.tabane(gcm(), direction, {"-t", "1"})}));
    }
  });
}

void ask_about_one_file(Asking& asking) {
  const std::uint64_t bytes = (asking.panel.settings().quick ? 1024 : 4096) * kMiB;
  const std::string what = "1 file of " + core::format_bytes(bytes);
  at_workplace(asking, question_names(what, {gcm()}), bytes, [&](Workplace& place) {
    place.fill_one_file(bytes);
    place.seal(gcm());
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      Usage ours, cp;
      const Question question = place.question(
          question_name(what, direction, gcm()), "B/s", place.tabane(gcm(), direction, {}, &ours),
          {place.cp(direction, 1, &cp), aes_alone(gcm(), direction, bytes, asking.pool)});
      if (asking.panel.ask(question).empty()) continue;
      const double cores = static_cast<double>(asking.pool.size());
      asking.panel.tell({.question = question.name,
                         .unit = "1",
                         .figure = "tabane: cores busy",
                         .value = ours.cores_busy(),
                         .limit = 0.9 * cores,
                         .at_least = true});
      asking.panel.tell({.question = question.name,
                         .unit = "1",
                         .figure = "cp: cores busy",
                         .value = cp.cores_busy()});
    }
  });
}

// 2 GiB in many files: what a run holds at most, and what each further file takes.
void ask_about_many_files(Asking& asking) {
  constexpr std::size_t kFolders = 400, kFiles = 500, kFew = kFolders / 10;
  constexpr std::uint64_t kBytes = 2048 * kMiB / (kFolders * kFiles);
  const std::string name = "200000 files of 10 KiB, encrypt aes-256-gcm";
  if (!asking.panel.wants(name)) return;
  const auto peak_of = [&](std::size_t folders) {
    Workplace place(asking.panel.settings(), asking);
    const std::string missing = place.missing(folders * kFiles * (kBytes + 4096));
    if (!missing.empty()) throw core::Error(missing);
    place.fill(folders, kFiles, kBytes);
    Usage used;
    place.tabane(gcm(), Direction::encrypt, {"-q"}, &used).work(1);
    return static_cast<double>(used.peak_resident_bytes);
  };
  try {
    const double few = peak_of(kFew), all = peak_of(kFolders);
    asking.panel.tell({.question = name,
                       .unit = "B",
                       .figure = "resident memory, at most",
                       .value = all,
                       .limit = 64.0 * kMiB});
    asking.panel.tell({.question = name,
                       .unit = "B",
                       .figure = "resident memory, each file beyond 20000",
                       .value = (all - few) / ((kFolders - kFew) * kFiles),
                       .limit = 40});
  } catch (const core::Error& reason) {
    asking.panel.skip(name, reason.what());
  }
}

void ask_all(Panel& panel) {
  std::vector<unsigned> pus;
  const core::Topology topology = core::Topology::detect();
  for (const core::Pu& pu : topology.pus()) pus.push_back(pu.os_index);
  ask_streams(panel, pus.back());
  core::PinnedPool pool(pus);
  Asking asking{panel, pool, {}};
  panel.part("large files", [&] { ask_about_large_files(asking); });
  panel.part("small files", [&] { ask_about_small_files(asking); });
  panel.part("one file", [&] { ask_about_one_file(asking); });
  panel.part("many files", [&] { ask_about_many_files(asking); });
  panel.part("a disk", [&] { ask_disk(asking); });
  panel.part("trees", [&] { ask_trees(asking); });
  const std::string name = "all works above";
  if (asking.total.peak_resident_bytes > 0 && panel.wants(name)) {
    panel.tell({.question = name,
                .unit = "B",
                .figure = "tabane: resident memory, at most",
                .value = static_cast<double>(asking.total.peak_resident_bytes),
                .limit = kResidentLimit});
  }
}

const RegisteredTopic kTopic({"encrypt", "encrypting files", ask_all});

}  // namespace
}  // namespace tabane::bench
