#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/random.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {
namespace {

constexpr double kMostMean = 500;  // e^-500 is still a number: see poisson()

// The distributions of the standard library differ from one library to another; these do not.
class Random : public core::SplitMix64 {
 public:
  using SplitMix64::SplitMix64;

  double exponential(double mean) { return -mean * std::log1p(-unit()); }
  // source: Knuth, The Art of Computer Programming 2, 3.4.1.
  std::size_t poisson(double mean) {
    const double least = std::exp(-mean);
    std::size_t n = 0;
    for (double product = unit(); product > least; product *= unit()) ++n;
    return n;
  }
  // Of variance 0.1, by the sum of twelve; cut to 0 … 1.
  double corruption(double mean) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += unit();
    return std::clamp(mean + std::sqrt(0.1) * sum, 0.0, 1.0);
  }
};

struct Pattern {
  std::vector<Item> items;
  double corruption = 0;
  double weight_up_to = 0;  // its weight and those of all before it
};

bool contains(const std::vector<Item>& items, Item item) {
  return std::ranges::find(items, item) != items.end();
}

class Shop {
 public:
  explicit Shop(const GenerateSettings& settings) : settings_(settings), random_(settings.seed) {
    double weight = 0;
    for (std::size_t i = 0; i < settings.patterns; ++i) {
      Pattern pattern;
      choose_items(pattern, i > 0 ? &patterns_.back() : nullptr);
      pattern.corruption = random_.corruption(settings.corruption);
      pattern.weight_up_to = weight += random_.exponential(1);
      patterns_.push_back(std::move(pattern));
    }
  }

  // Fills a transaction with patterns. One that does not fit is bought nevertheless half of the
  // times, and begins the next transaction otherwise.
  void buy(std::vector<Item>& items) {
    const std::size_t wanted =
        std::clamp<std::size_t>(random_.poisson(settings_.mean_transaction), 1, settings_.items);
    items = std::move(left_over_);
    left_over_.clear();
    // A pattern may be corrupted to nothing, or to what is in the transaction already.
    for (int tries = 0; items.size() < wanted && tries < 1000; ++tries) {
      std::vector<Item> some = corrupted(pattern());
      if (items.size() + some.size() > wanted && !items.empty() && random_.unit() < 0.5) {
        left_over_ = std::move(some);
        break;
      }
      for (const Item item : some) {
        if (!contains(items, item)) items.push_back(item);
      }
    }
    std::ranges::sort(items);
  }

  // Draws each item independently.
  void draw(std::vector<Item>& items) {
    for (Item item = 1; item <= settings_.items; ++item) {
      if (random_.unit() < settings_.density) items.push_back(item);
    }
  }

 private:
  void choose_items(Pattern& pattern, const Pattern* before) {
    const std::size_t size =
        std::clamp<std::size_t>(random_.poisson(settings_.mean_pattern), 1, settings_.items);
    if (before != nullptr) {
      const double share = std::min(random_.exponential(settings_.correlation), 1.0);
      auto shared = static_cast<std::size_t>(share * static_cast<double>(size));
      for (shared = std::min(shared, before->items.size()); shared > 0; --shared) {
        const Item item = before->items[random_.below(before->items.size())];
        if (!contains(pattern.items, item)) pattern.items.push_back(item);
      }
    }
    while (pattern.items.size() < size) {
      const auto item = static_cast<Item>(1 + random_.below(settings_.items));
      if (!contains(pattern.items, item)) pattern.items.push_back(item);
    }
  }

  const Pattern& pattern() {
    const double at = random_.unit() * patterns_.back().weight_up_to;
    const auto found = std::ranges::upper_bound(patterns_, at, {}, &Pattern::weight_up_to);
    return found == patterns_.end() ? patterns_.back() : *found;
  }

  std::vector<Item> corrupted(const Pattern& pattern) {
    std::vector<Item> items = pattern.items;
    while (!items.empty() && random_.unit() < pattern.corruption) {
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(random_.below(items.size())));
    }
    return items;
  }

  const GenerateSettings& settings_;
  Random random_;
  std::vector<Pattern> patterns_;
  std::vector<Item> left_over_;
};

void require(bool good, const char* name, double value, const std::string& legal) {
  if (!good) throw core::UsageError("{} {} cannot be: give {}", name, value, legal);
}

}  // namespace

void check(const GenerateSettings& settings) {
  const auto mean = [](double value) { return value >= 1 && value <= kMostMean; };
  const auto share = [](double value) { return value >= 0 && value <= 1; };
  const std::string legal_mean = fmt::format("1 to {}", kMostMean);
  require(settings.transactions > 0, "--transactions", 0, "1 or more");
  require(settings.items > 0 && settings.items <= kLargestItem, "--items",
          static_cast<double>(settings.items), fmt::format("1 to {}", kLargestItem));
  require(settings.patterns > 0, "--patterns", 0, "1 or more");
  require(mean(settings.mean_transaction), "--mean-transaction", settings.mean_transaction,
          legal_mean);
  require(mean(settings.mean_pattern), "--mean-pattern", settings.mean_pattern, legal_mean);
  require(share(settings.correlation), "--correlation", settings.correlation, "0 to 1");
  require(share(settings.corruption), "--corruption", settings.corruption, "0 to 1");
  require(share(settings.density), "--density", settings.density, "0 to 1");
}

void generate(const GenerateSettings& settings,
              const std::function<void(std::span<const Item>)>& take) {
  check(settings);
  Shop shop(settings);
  std::vector<Item> items;
  for (std::size_t i = 0; i < settings.transactions; ++i) {
    items.clear();
    if (settings.density > 0) {
      shop.draw(items);
    } else {
      shop.buy(items);
    }
    take(items);
  }
}

void write_generated(const GenerateSettings& settings, const std::string& path) {
  check(settings);
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  core::write_output(path == "-" ? "/dev/stdout" : path, [&](const auto& put) {
    std::string lines;
    generate(settings, [&](std::span<const Item> items) {
      lines += fmt::format("{}\n", fmt::join(items, " "));
      if (lines.size() < kAtOnce) return;
      put(lines);
      lines.clear();
    });
    put(lines);
  });
}

}  // namespace tabane::mine
