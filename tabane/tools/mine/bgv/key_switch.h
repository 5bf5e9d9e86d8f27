// Leads a component from another secret to s. Not installed.
#pragma once

#include <span>

#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/context.h"
#include "tabane/tools/mine/bgv/keys.h"

namespace tabane::mine::bgv {

// Adds to c0 and c1 of `sum` what encrypts component times the key's secret. component: values,
// [prime][N] for the primes of `sum`.
// cost: primes x (primes + 2) transforms.
void switch_key(const Context& context, const KeySwitchKey& key,
                std::span<const std::uint64_t> component, Ciphertext& sum);

}  // namespace tabane::mine::bgv
