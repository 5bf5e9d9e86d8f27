// Where the time of the report's program goes: one thing after the other is taken away.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tabane/core/units.h"
#include "tabane/lab/studies/aes_folder.h"
#include "tabane/lab/text.h"

namespace tabane::lab::aes_folder {
namespace {

struct Variant {
  std::string name;
  LargeBlocks blocks = LargeBlocks::as_it_adjusts;
  std::function<void()> work;
};

std::vector<Variant> removals(Bench& bench, const Causes& causes, Kept& kept) {
  std::vector<Variant> variants;
  const auto add = [&](const char* name, Without what) {
    variants.push_back({name, LargeBlocks::as_it_adjusts, [&bench, &kept, &causes, what] {
                          encrypt_folder_without(what, bench.scratch.in(), bench.scratch.out(),
                                                 bench.key, causes.threads, kept);
                        }});
  };
  add("report_static", Without::nothing);
  add("without_fresh_buffers", Without::fresh_buffers);
  add("without_writing", Without::writing);
  add("without_reading", Without::reading);
  if (kept.of(0).cipher->lanes() > 1) add("without_chain", Without::chain);
  add("without_cipher", Without::cipher);
  return variants;
}

std::vector<Variant> changes(Bench& bench, const Causes& causes) {
  const auto encrypt = [&bench, &causes](Schedule schedule) {
    return [&bench, &causes, schedule] {
      encrypt_folder(bench.scratch.in(), bench.scratch.out(), bench.key, causes.threads, schedule);
    };
  };
  std::vector<Variant> variants;
  variants.push_back({"schedule_dynamic", LargeBlocks::as_it_adjusts, encrypt(Schedule::dynamic)});
  if (set_allocator(LargeBlocks::kept, causes.bytes))
    variants.push_back({"memory_kept", LargeBlocks::kept, encrypt(Schedule::fixed)});
  variants.push_back({"copy", LargeBlocks::as_it_adjusts, [&bench, &causes] {
                        copy_folder(bench.scratch.in(), bench.scratch.out(), causes.threads);
                      }});
  return variants;
}

// Ends the settings of the allocator: those of glibc at the start, which then stay.
struct AllocatorAsAtStart {
  ~AllocatorAsAtStart() { set_allocator(LargeBlocks::as_it_adjusts, 0); }
};

}  // namespace

void measure_causes(Bench& bench, Causes& causes, const Effort& effort,
                    const std::function<void(double)>& repetition) {
  const std::size_t largest_block = causes.bytes + workloads::aes_dir::kBlockBytes;
  const AllocatorAsAtStart at_the_end;
  Kept kept(causes.threads, causes.bytes, bench.key);
  std::vector<Variant> variants = removals(bench, causes, kept);
  causes.removals = variants.size();
  for (Variant& change : changes(bench, causes)) variants.push_back(std::move(change));
  for (const Variant& variant : variants) causes.names.push_back(variant.name);
  causes.runs.resize(variants.size());
  interleave(
      variants.size(), effort,
      [&](std::size_t i) {
        set_allocator(variants[i].blocks, largest_block);
        return timed(bench, variants[i].work);
      },
      [&](std::size_t i, Run run) { causes.runs[i].push_back(run); }, repetition);
}

namespace {

double median_seconds(const std::vector<Run>& runs) {
  std::vector<double> all;
  for (const Run& run : runs) all.push_back(run.seconds);
  return core::median(all);
}

double median_faults(const std::vector<Run>& runs) {
  std::vector<double> all;
  for (const Run& run : runs) all.push_back(run.usage.page_faults);
  return core::median(all);
}

// Median over the repetitions of (from - to) / whole, or that no difference is seen.
// to: null: nothing.
std::string share(const std::vector<Run>& whole, const std::vector<Run>& from,
                  const std::vector<Run>* to) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < whole.size(); ++i)
    shares.push_back((from[i].seconds - (to == nullptr ? 0 : (*to)[i].seconds)) / whole[i].seconds);
  if (core::median_interval(shares).contains(0)) return "–";
  return fmt::format("{:.0f} %", 100 * core::median(shares));
}

struct Removal {
  const char* name;  // of the variant in which it is gone
  const char* what;  // shown
};
constexpr Removal kRemovals[] = {{"without_fresh_buffers", "fresh buffers"},
                                 {"without_writing", "writing files"},
                                 {"without_reading", "reading files"},
                                 {"without_chain", "waiting in the chain"},
                                 {"without_cipher", "AES"}};

const std::vector<Run>* find(const Causes& causes, const std::string& name) {
  const auto at = std::find(causes.names.begin(), causes.names.end(), name);
  if (at == causes.names.end()) return nullptr;
  const auto& runs = causes.runs[static_cast<std::size_t>(at - causes.names.begin())];
  return runs.empty() ? nullptr : &runs;
}

std::string point(const Causes& causes) {
  return fmt::format("{} x {}", causes.files, core::format_bytes(causes.bytes));
}

}  // namespace

StudyTable removal_table(const std::vector<Causes>& causes) {
  StudyTable table{"What the report's program spends its time on", "", {{"files", "time"}}};
  for (const Removal& removal : kRemovals) table.rows[0].push_back(removal.what);
  table.rows[0].insert(table.rows[0].end(), {"threads", "page faults", "with kept buffers"});
  const Causes* largest = nullptr;
  for (const Causes& one : causes) {
    const auto* whole = find(one, "report_static");
    if (whole == nullptr) continue;
    std::vector<std::string> row = {point(one), core::format_seconds(median_seconds(*whole))};
    const auto* from = whole;
    for (const Removal& removal : kRemovals) {
      const auto* to = find(one, removal.name);
      row.push_back(to == nullptr ? "not measured" : share(*whole, *from, to));
      if (to != nullptr) from = to;
    }
    row.push_back(share(*whole, *from, nullptr));
    row.push_back(fmt::format("{:.0f}", median_faults(*whole)));
    row.push_back(fmt::format("{:.0f}", median_faults(*find(one, "without_fresh_buffers"))));
    table.rows.push_back(std::move(row));
    largest = &one;
  }
  if (largest == nullptr) return table;
  table.remark = fmt::format(
      "With {} threads and static scheduling; shares of the time, each the median over the "
      "repetitions of what the program gains when this goes too, from left to right; – says that "
      "no difference is seen (the 95 % interval contains 0). Fresh buffers: two allocations a "
      "file, whose pages fault when they are touched. The chain: the same bytes as independent "
      "chains keep the AES pipelines full. Threads: start, sharing out, end.",
      largest->threads);
  return table;
}

StudyTable change_table(const std::vector<Causes>& causes) {
  StudyTable table{"Single changes to the report's program: time as a share of its own",
                   "",
                   {{"files", "dynamic scheduling", "allocator keeps memory", "page faults then",
                     "buffers kept", "copying alone"}}};
  for (const Causes& one : causes) {
    const auto* whole = find(one, "report_static");
    if (whole == nullptr) continue;
    const auto ratio = [&](const char* name) -> std::string {
      const auto* runs = find(one, name);
      if (runs == nullptr) return "–";
      std::vector<double> a, b;
      for (const Run& run : *runs) a.push_back(run.seconds);
      for (const Run& run : *whole) b.push_back(run.seconds);
      const core::Ratio r = core::interleaved_ratio(a, b);
      return fmt::format("{:.2f} [{:.2f}, {:.2f}]", r.value, r.interval.low, r.interval.high);
    };
    const auto* kept = find(one, "memory_kept");
    table.rows.push_back({point(one), ratio("schedule_dynamic"), ratio("memory_kept"),
                          kept == nullptr ? "–" : fmt::format("{:.0f}", median_faults(*kept)),
                          ratio("without_fresh_buffers"), ratio("copy")});
  }
  table.remark =
      "Each change alone, with its 95 % interval; an interval with 1.00 inside says that no "
      "difference is seen. The allocator keeps memory: M_MMAP_THRESHOLD and M_TRIM_THRESHOLD are "
      "raised, so that freed buffers are used again without new page faults.";
  return table;
}

void record_causes(SurveyRecord& record, const std::vector<Causes>& causes) {
  for (const Causes& one : causes) {
    for (std::size_t v = 0; v < one.names.size(); ++v) {
      if (one.runs[v].empty()) continue;
      Result result;
      result.name = fmt::format("aes_folder.causes.{}x{}.{}", one.files, one.bytes, one.names[v]);
      result.what = "time of a run of the report's program, changed";
      result.unit = "s";
      result.better = Better::lower;
      std::vector<double> seconds, faults;
      for (const Run& run : one.runs[v]) {
        seconds.push_back(run.seconds);
        faults.push_back(run.usage.page_faults);
      }
      result.parameters = {{"variant", one.names[v]},
                           {"files", one.files},
                           {"file_bytes", one.bytes},
                           {"threads", one.threads},
                           {"page_faults", faults}};
      set_samples(result, std::move(seconds));
      record.results.push_back(std::move(result));
    }
  }
}

}  // namespace tabane::lab::aes_folder
