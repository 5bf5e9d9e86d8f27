#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/command.h"
#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/simd/target.h"
#include "tabane/tools/mine/bgv/encryption.h"
#include "tabane/tools/mine/bgv/product_sum.h"
#include "tabane/tools/mine/pairs_problem.h"

namespace tabane::bench {
namespace {

constexpr int kCores = 2;

class FhePairs {
 public:
  explicit FhePairs(Panel& panel) : panel_(panel) {}

  void ask_all() {
    const bool whole = panel_.wants(kWhole), share = panel_.wants(kShare);
    if (!whole && !share) return;
    if (panel_.settings().program.empty()) return panel_.skip(kWhole, "tabane was not found");
    make_transactions();
    std::vector<Run> runs;
    for (int i = 0; i < (panel_.settings().quick ? 1 : 5); ++i) {
      runs.push_back(mine());
      if (share) limits_.push_back(bandwidths());
    }
    if (whole) tell_whole(runs);
    if (share) tell_share(runs);
  }

 private:
  static constexpr const char* kWhole = "153 pairs x 1943424, 2 cores, 128-bit";
  static constexpr const char* kShare = "153 pairs x 1943424, operands read";

  struct Run {
    double all_s = 0, count_s = 0, key_s = 0, encrypt_s = 0, decrypt_s = 0, peak_bytes = 0;
    double products = 0, blocks = 0, database_bytes = 0;
  };
  struct Bandwidths {
    double dram = 0, l3 = 0;  // 0: not known
  };

  std::string file(const char* name) const { return (scratch_ / name).string(); }

  void make_transactions() {
    run_command({panel_.settings().program, "mine", "generate", "--transactions",
                 std::to_string(problem_.transactions), "--items", std::to_string(problem_.items),
                 "--density", "0.5", file("transactions")});
    run_command(mine_command({"--plain"}, "plain.json"));
    expected_ = lab::Json::parse(core::read_file(file("plain.json"))).at("itemsets");
  }

  Command mine_command(const Command& more, const char* json) const {
    Command command = {panel_.settings().program,
                       "mine",
                       file("transactions"),
                       "--min-support",
                       "0.01",
                       "--max-length",
                       "2",
                       "--quiet",
                       "--threads",
                       std::to_string(kCores),
                       "--processes",
                       "1",
                       "--json=" + file(json)};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  Run mine() const {
    const Usage usage = run_command(mine_command({}, "run.json"));
    const lab::Json json = lab::Json::parse(core::read_file(file("run.json")));
    if (json.at("itemsets") != expected_)
      throw core::Error("counts on encrypted transactions differ from those on plain ones");
    const lab::Json& how = json.at("encryption");
    if (how.at("insecure_parameters").get<bool>()) throw core::Error("parameters are not secure");
    return {.all_s = usage.wall_seconds,
            .count_s = how.at("count_seconds").get<double>(),
            .key_s = how.at("key_seconds").get<double>(),
            .encrypt_s = how.at("encrypt_seconds").get<double>(),
            .decrypt_s = how.at("decrypt_seconds").get<double>(),
            .peak_bytes = static_cast<double>(usage.peak_resident_bytes),
            .products = how.at("products").get<double>(),
            .blocks = how.at("blocks").get<double>(),
            .database_bytes = how.at("database_bytes").get<double>()};
  }

  // Returns what two cores can read, as the survey measures it.
  Bandwidths bandwidths() const {
    run_command({panel_.settings().program, "survey", "--quick", "--quiet", "--only",
                 "memory.bandwidth.read.*", "--json=" + file("survey.json")});
    const lab::Record survey =
        lab::record_from_json(lab::Json::parse(core::read_file(file("survey.json"))));
    const auto of = [&](const char* level) {
      const auto value = [&](const char* scope) {
        const lab::Result* found =
            survey.find(fmt::format("memory.bandwidth.read.{}.{}", level, scope));
        return found != nullptr && found->value ? *found->value : 0.0;
      };
      const double core = value("core"), machine = value("machine");
      return machine > 0 ? std::min(kCores * core, machine) : kCores * core;
    };
    return {.dram = of("dram"), .l3 = of("l3")};
  }

  template <class Value>
  static std::vector<double> each(const std::vector<Run>& runs, Value value) {
    std::vector<double> values;
    for (const Run& run : runs) values.push_back(value(run));
    return values;
  }

  void tell_whole(const std::vector<Run>& runs) {
    const auto figure = [&](const char* unit, const char* name, const Goal& goal,
                            double Run::*member) {
      const auto value = [&](const Run& run) { return run.*member; };
      panel_.tell(kWhole, unit, name, each(runs, value), goal);
    };
    figure("s", "counting, single items too", {5}, &Run::count_s);
    figure("s", "all, from the file to the itemsets", {60}, &Run::all_s);
    figure("s", "keys", {}, &Run::key_s);
    figure("s", "encryption", {}, &Run::encrypt_s);
    figure("s", "decryption", {}, &Run::decrypt_s);
    figure("B", "memory at its peak", {2e9}, &Run::peak_bytes);
  }

  // The model: a product reads both of its ciphertexts, 2 x 2 x primes x N words. A program that
  // computes one product after the other gets them from the memory or the last cache, whose
  // bandwidth then limits it. tabane reads each ciphertext once, in tiles that stay in the
  // second-level cache while all pairs use them, so that it may go beyond.
  void tell_share(const std::vector<Run>& runs) {
    const auto operands = [this](const Run& run) {
      const double ciphertext =
          run.database_bytes / (run.blocks * static_cast<double>(problem_.items));
      return 2 * ciphertext * run.products / run.count_s;
    };
    panel_.tell(kShare, "B/s", "read by products: two ciphertexts each", each(runs, operands));
    panel_.tell(kShare, "B/s", "read from memory: the database once",
                each(runs, [](const Run& run) { return run.database_bytes / run.count_s; }));
    share("share of the memory's bandwidth", runs, operands, &Bandwidths::dram);
    share("share of the L3 cache's bandwidth", runs, operands, &Bandwidths::l3);
  }

  // Gives the share of the bandwidth that was measured right after each run.
  template <class Rate>
  void share(const char* name, const std::vector<Run>& runs, Rate rate, double Bandwidths::*level) {
    std::vector<double> shares;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (limits_[i].*level > 0) shares.push_back(rate(runs[i]) / (limits_[i].*level));
    }
    if (!shares.empty()) panel_.tell(kShare, "share", name, shares, {0.6, true});
  }

  Panel& panel_;
  mine::PairsProblem problem_;
  core::ScratchFolder scratch_{"tabane-bench", panel_.settings().directory};
  lab::Json expected_;
  std::vector<Bandwidths> limits_;
};

namespace bgv = mine::bgv;

bgv::Words residues(std::size_t n, std::uint64_t end) {
  std::mt19937_64 random(1);
  bgv::Words words(n);
  for (std::uint64_t& word : words) word = random() % end;
  return words;
}

class Fhe {
 public:
  explicit Fhe(Panel& panel) : panel_(panel) {}

  void ask_all() {
    transform();
    for (const std::size_t degree : {4096u, 8192u}) product_and_add(degree);
    encryption();
  }

 private:
  // value: of the seconds of an iteration.
  template <class Value>
  void measure(const std::string& question, const char* unit, const char* figure, const Goal& goal,
               const Value& value, core::Work work) {
    if (!panel_.wants(question)) return;
    std::vector<double> samples =
        core::measure(figure, std::move(work), panel_.settings().measure).samples;
    for (double& sample : samples) sample = value(sample);
    panel_.tell(question, unit, figure, std::move(samples), goal);
  }

  void transform() {
    constexpr std::size_t kDegree = 8192;
    const bgv::Ntt ntt(kDegree, bgv::Modulus(bgv::primes_one_modulo(2 * kDegree, 50, 1).at(0)));
    bgv::Words values = residues(kDegree, ntt.modulus().value());
    const std::string question = "NTT, N = 8192, a prime of 50 bits";
    const auto ms = [](double seconds) { return 1e3 * seconds; };
    measure(question, "ms", "forward; SEAL: 0.044 to 0.063", {0.020}, ms,
            core::repeat([&] { ntt.forward(values); }));
    measure(question, "ms", "inverse", {}, ms, core::repeat([&] { ntt.inverse(values); }));
    measure(question, "ms", "forward, plain loops", {}, ms,
            core::repeat([&] { ntt.forward_reference(values); }));
  }

  // The ciphertexts of 8 blocks take turns, so that they are fresh to the first-level cache.
  void product_and_add(std::size_t degree) {
    const std::string question = fmt::format("product and add, N = {}, 2 primes", degree);
    if (!panel_.wants(question)) return;
    const auto context =
        bgv::make_context(bgv::Parameters::choose({.values = 1943424, .degree = degree}));
    const auto secret = bgv::SecretKey::generate(context);
    const bgv::Encoder encoder(context);
    std::vector<bgv::Ciphertext> ciphertexts;
    for (int i = 0; i < 16; ++i) {
      ciphertexts.push_back(
          bgv::encrypt(secret, encoder.encode(std::vector<std::uint64_t>{1, 0, 1})));
    }
    const std::vector<bgv::CiphertextView> a(ciphertexts.begin(), ciphertexts.begin() + 8);
    const std::vector<bgv::CiphertextView> b(ciphertexts.begin() + 8, ciphertexts.end());
    bgv::ProductSum sum(context, context->primes());
    const double limit = simd::vector_bytes() >= 64 ? 0.03 : 0.06;
    std::size_t next = 0;
    const bool compared = degree == 8192;
    measure(
        question, "ms", compared ? "one by one; SEAL, BGV: 0.265" : "one by one",
        compared ? Goal{limit} : Goal{}, [](double seconds) { return 1e3 * seconds; },
        core::repeat([&] {
          sum.add_product(a[next % 8], b[next % 8]);
          ++next;
        }));
    if (!compared) all_pairs(question, context, ciphertexts);
  }

  void all_pairs(const std::string& question, const bgv::SharedContext& context,
                 const std::vector<bgv::Ciphertext>& ciphertexts) {
    constexpr std::size_t kItems = 18, kBlocks = 128;
    std::vector<bgv::Ciphertext> database;
    for (std::size_t i = 0; i < kItems * kBlocks; ++i) {
      database.push_back(ciphertexts[i % ciphertexts.size()]);
    }
    const std::vector<bgv::CiphertextView> views(database.begin(), database.end());
    std::vector<bgv::Pair> pairs;
    for (std::uint32_t i = 0; i < kItems; ++i) {
      for (std::uint32_t j = i + 1; j < kItems; ++j) pairs.emplace_back(i, j);
    }
    std::vector<bgv::ProductSum> sums(pairs.size(), bgv::ProductSum(context, context->primes()));
    const auto multiplications = static_cast<double>(pairs.size() * kBlocks);
    measure(
        question, "ms", "all pairs of 18 items, 128 blocks", {},
        [=](double seconds) { return 1e3 * seconds / multiplications; },
        core::repeat([&] { bgv::add_pair_products(views, kItems, pairs, sums); }));
  }

  void encryption() {
    const std::string question = "encryption of a database of bits";
    if (!panel_.wants(question)) return;
    const auto context = bgv::make_context(bgv::Parameters::choose({.values = 1943424}));
    const auto secret = bgv::SecretKey::generate(context);
    const bgv::Encoder encoder(context);
    std::vector<std::uint64_t> bits(encoder.slots());
    for (std::size_t i = 0; i < bits.size(); i += 3) bits[i] = 1;
    const auto slots = static_cast<double>(bits.size());
    measure(
        question, "item-slots/s", "under the secret key", {2e6, true},
        [slots](double seconds) { return slots / seconds; },
        core::repeat([&] { bgv::encrypt(secret, encoder.encode(bits)); }));
  }

  Panel& panel_;
  core::ScopedBinding bound_{core::thread_binding().back()};
};

void ask_all(Panel& panel) {
  Fhe(panel).ask_all();
  panel.part("mining", [&] { FhePairs(panel).ask_all(); });
}

const RegisteredTopic kTopic({"fhe", "homomorphic encryption under support counting", ask_all});

}  // namespace
}  // namespace tabane::bench
