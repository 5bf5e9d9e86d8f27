#include "tabane/crypto/engine.h"

#include "tabane/core/error.h"
#include "tabane/core/vector_registers.h"

#ifdef TABANE_IPSEC_MB
#include <intel-ipsec-mb.h>
#endif

namespace tabane::crypto {

bool may_use_ipsec_mb(const core::VectorRegisters& registers) { return !registers.some_disabled(); }

#ifdef TABANE_IPSEC_MB

void ManagerFree::operator()(IMB_MGR* manager) const {
  imb_clear_mem(manager, imb_get_mb_mgr_size());
  free_mb_mgr(manager);
}

Manager make_manager() {
  if (!may_use_ipsec_mb(core::vector_registers())) return nullptr;
  Manager manager(alloc_mb_mgr(0));
  if (!manager || (manager->features & IMB_FEATURE_AESNI) == 0) return nullptr;
  IMB_ARCH arch = IMB_ARCH_NONE;
  init_mb_mgr_auto(manager.get(), &arch);
  const bool good = imb_get_errno(manager.get()) == 0 && arch >= IMB_ARCH_SSE &&
                    (manager->features & IMB_FEATURE_SELF_TEST_PASS) != 0;
  if (!good) return nullptr;
  return manager;
}

bool ipsec_mb_available() {
  static const bool available = make_manager() != nullptr;
  return available;
}

#else

bool ipsec_mb_available() { return false; }

#endif

Engine resolve(Engine engine) {
  if (engine == Engine::openssl || engine == Engine::opencl) return engine;
  if (ipsec_mb_available()) return Engine::ipsec_mb;
  if (engine == Engine::automatic) return Engine::openssl;
  throw core::UsageError(
      "--engine ipsec-mb: the library is not built in, the processor has no AES instructions, or "
      "the system has not enabled all of its vector registers; legal here: auto, openssl");
}

Engine cpu_engine(Engine engine) {
  return resolve(engine == Engine::opencl ? Engine::automatic : engine);
}

}  // namespace tabane::crypto
