#include "tabane/tools/mine/pairs_problem.h"

#include <numeric>
#include <span>

#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/bgv/evaluator.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

Bitmaps transactions_of(const PairsProblem& problem) {
  std::vector<Item> names(problem.items);
  std::iota(names.begin(), names.end(), Item{1});
  Bitmaps bitmaps(names, problem.transactions);
  std::size_t transaction = 0;
  generate({.transactions = problem.transactions,
            .items = problem.items,
            .density = 0.5,
            .seed = problem.seed},
           [&](std::span<const Item> held) {
             for (const Item name : held) bitmaps.set(name - 1, transaction);
             ++transaction;
           });
  return bitmaps;
}

Itemsets all_pairs(std::size_t items) { return next_candidates(single_items(items)); }

KeySpec key_spec_of(const PairsProblem& problem) {
  return {.most_length = 2, .transactions = problem.transactions};
}

namespace {

// Each sum replaces the one before.
bgv::Ciphertext sum_of_products(const ValueDatabase& database, const bgv::Evaluator& evaluator,
                                std::span<const Item> pair) {
  bgv::Ciphertext sum = evaluator.multiply(database.at(pair[0], 0), database.at(pair[1], 0));
  for (std::size_t block = 1; block < database.blocks(); ++block) {
    const bgv::Ciphertext product =
        evaluator.multiply(database.at(pair[0], block), database.at(pair[1], block));
    sum = evaluator.add(sum, product);
  }
  return sum;
}

}  // namespace

ValueDatabase::ValueDatabase(const Client& client, const Bitmaps& bitmaps, team::Team& threads)
    : context_(client.context()), items_(bitmaps.items()) {
  const bgv::Parameters& parameters = context_->parameters();
  check_capacity(parameters, client.spec(), bitmaps.transactions());
  const std::size_t blocks = blocks_of(bitmaps.transactions(), parameters.slots());
  check_memory(parameters, {.items = items_, .blocks = blocks});
  ciphertexts_.resize(items_ * blocks);
  threads.map<bool>(ciphertexts_.size(), [&](std::size_t i) {
    ciphertexts_[i] = client.encrypt(bitmaps, i % items_, i / items_);
    return true;
  });
}

std::vector<bgv::Ciphertext> count_pairs(const ValueDatabase& database, const Itemsets& pairs,
                                         team::Team& team) {
  const bgv::Evaluator evaluator(database.context());
  return team.map<bgv::Ciphertext>(
      pairs.size(), [&](std::size_t i) { return sum_of_products(database, evaluator, pairs[i]); });
}

}  // namespace tabane::mine
