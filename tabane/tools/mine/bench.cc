// The scheme under support counting: one core, in the caches. No other library of homomorphic
// encryption is packaged; the figures of SEAL 4.1 that are named were published with it (Apple M1
// Pro, without HEXL; node-seal, BENCHMARK.md) and are no measurements of this machine.
#include "bench/bench.h"

#include <fmt/format.h>

#include <random>

#include "tabane/core/binding.h"
#include "tabane/simd/target.h"
#include "tabane/tools/mine/bench_pairs.h"
#include "tabane/tools/mine/bgv/decryptor.h"
#include "tabane/tools/mine/bgv/encoder.h"
#include "tabane/tools/mine/bgv/encryptor.h"
#include "tabane/tools/mine/bgv/product_sum.h"

namespace tabane::bench {
namespace {

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
  // One figure: median time of an iteration, turned into what is compared.
  struct Figure {
    std::string question, unit, name;
    double limit = 0;
    bool at_least = false;
    std::function<double(double seconds)> value;
  };
  void tell(const Figure& figure, core::Work work) {
    if (!panel_.wants(figure.question)) return;
    const core::Series series =
        core::measure(figure.name, std::move(work), panel_.settings().measure);
    lab::Comparison told{.question = figure.question,
                         .unit = figure.unit,
                         .figure = figure.name,
                         .at_least = figure.at_least};
    for (const double seconds : series.samples) told.samples.push_back(figure.value(seconds));
    told.value = core::median(told.samples);
    if (figure.limit > 0) told.limit = figure.limit;
    panel_.tell(std::move(told));
  }

  void transform() {
    constexpr std::size_t kDegree = 8192;
    const bgv::Ntt ntt(kDegree, bgv::Modulus(bgv::primes_one_modulo(2 * kDegree, 50, 1).at(0)));
    bgv::Words values = residues(kDegree, ntt.modulus().value());
    const std::string question = "NTT, N = 8192, a prime of 50 bits";
    const auto ms = [](double seconds) { return 1e3 * seconds; };
    tell({question, "ms", "forward; SEAL: 0.044 to 0.063", 0.020, false, ms},
         core::repeat([&] { ntt.forward(values); }));
    tell({question, "ms", "inverse", 0, false, ms}, core::repeat([&] { ntt.inverse(values); }));
    tell({question, "ms", "forward, plain loops", 0, false, ms},
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
    const bgv::Encryptor encryptor(secret);
    std::vector<bgv::Ciphertext> ciphertexts;
    for (int i = 0; i < 16; ++i) {
      ciphertexts.push_back(encryptor.encrypt(encoder.encode(std::vector<std::uint8_t>{1, 0, 1})));
    }
    const std::vector<bgv::CiphertextView> a(ciphertexts.begin(), ciphertexts.begin() + 8);
    const std::vector<bgv::CiphertextView> b(ciphertexts.begin() + 8, ciphertexts.end());
    bgv::ProductSum sum(context, context->primes());
    const double limit = simd::vector_bytes() >= 64 ? 0.03 : 0.06;
    std::size_t next = 0;
    const bool compared = degree == 8192;
    tell({question, "ms", compared ? "one by one; SEAL, BGV: 0.265" : "one by one",
          compared ? limit : 0, false, [](double seconds) { return 1e3 * seconds; }},
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
    tell({question, "ms", "all pairs of 18 items, 128 blocks", 0, false,
          [=](double seconds) { return 1e3 * seconds / multiplications; }},
         core::repeat([&] { bgv::add_pair_products(views, kItems, pairs, sums); }));
  }

  void encryption() {
    const std::string question = "encryption of a database of bits";
    if (!panel_.wants(question)) return;
    const auto context = bgv::make_context(bgv::Parameters::choose({.values = 1943424}));
    const auto secret = bgv::SecretKey::generate(context);
    const auto public_key = bgv::PublicKey::generate(secret);
    const bgv::Encoder encoder(context);
    std::vector<std::uint8_t> bits(encoder.slots());
    for (std::size_t i = 0; i < bits.size(); i += 3) bits[i] = 1;
    const auto slots = static_cast<double>(bits.size());
    const auto rate = [slots](double seconds) { return slots / seconds; };
    const bgv::Encryptor of_secret(secret), of_public(context, public_key);
    tell({question, "item-slots/s", "under the secret key", 2e6, true, rate},
         core::repeat([&] { of_secret.encrypt(encoder.encode(bits)); }));
    tell({question, "item-slots/s", "under the public key", 2e6, true, rate},
         core::repeat([&] { of_public.encrypt(encoder.encode(bits)); }));
  }

  Panel& panel_;
  core::ScopedBinding bound_{core::thread_binding().back()};
};

void ask_all(Panel& panel) {
  Fhe(panel).ask_all();
  panel.part("mining", [&] { ask_fhe_pairs(panel); });
}

const RegisteredTopic kTopic({"fhe", "homomorphic encryption under support counting", ask_all});

}  // namespace
}  // namespace tabane::bench
