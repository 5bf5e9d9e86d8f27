// The manager object of intel-ipsec-mb. Not installed; empty where the library is not built in.
#pragma once

#ifdef TABANE_IPSEC_MB

#include <intel-ipsec-mb.h>

#include <memory>

namespace tabane::crypto {

struct ManagerFree {
  void operator()(IMB_MGR* manager) const;  // wipes it
};
using Manager = std::unique_ptr<IMB_MGR, ManagerFree>;

// Makes a manager for this processor. One thread at a time. Returns nullptr if the library refuses
// the processor, has to emulate AES, fails its self-test, or would choose instructions that the
// system has not enabled.
Manager make_manager();

}  // namespace tabane::crypto

#endif
