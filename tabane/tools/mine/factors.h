// The products that a block's candidates are made of, each computed once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tabane/tools/mine/bgv/evaluator.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/itemset.h"
#include "tabane/tools/mine/outcome.h"
#include "tabane/tools/mine/tasks.h"

namespace tabane::mine {

// A product of depth d has lost d primes; so the two factors of a candidate of this length have so
// many left, of `primes`.
std::size_t primes_of_factors(std::size_t length, std::size_t primes);

// One thread at a time.
class Factors {
 public:
  // All must live as long as this. work: key switches are added to it.
  Factors(const EncryptedDatabase& database, const bgv::Evaluator& evaluator, Work& work)
      : database_(database), evaluator_(evaluator), work_(work) {}

  // Forgets the products of the block before.
  void begin(std::size_t block) {
    block_ = block;
    products_.clear();
  }

  // Returns the product of the items' ciphertexts with so many primes left; valid until begin().
  // cost: a product, a key switch and the division by a prime for each product that is not there.
  bgv::CiphertextView product(std::span<const Item> items, std::size_t primes);

 private:
  bgv::Ciphertext computed(std::span<const Item> items, std::size_t primes);

  const EncryptedDatabase& database_;
  const bgv::Evaluator& evaluator_;
  Work& work_;
  std::size_t block_ = 0;
  std::map<std::pair<std::vector<Item>, std::size_t>, bgv::Ciphertext> products_;
};

}  // namespace tabane::mine
