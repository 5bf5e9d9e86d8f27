R"(
#define M2S(x) <x>
#include M2S(INCLUDE_PATH/inc_vendor.h)
#include M2S(INCLUDE_PATH/inc_types.h)
#include M2S(INCLUDE_PATH/inc_platform.cl)
#include M2S(INCLUDE_PATH/inc_common.cl)
#include M2S(INCLUDE_PATH/inc_cipher_aes.cl)

typedef struct { u32 words[4]; } key_words;

KERNEL_FQ void hashcat_chains(GLOBAL_AS u32* data, u32 blocks, key_words key) {
#ifdef REAL_SHM
  LOCAL_VK u32 s_te0[256], s_te1[256], s_te2[256], s_te3[256], s_te4[256];
  for (u32 i = get_local_id(0); i < 256; i += get_local_size(0)) {
    s_te0[i] = te0[i];
    s_te1[i] = te1[i];
    s_te2[i] = te2[i];
    s_te3[i] = te3[i];
    s_te4[i] = te4[i];
  }
  SYNC_THREADS();
#else
  CONSTANT_AS u32a *s_te0 = te0, *s_te1 = te1, *s_te2 = te2, *s_te3 = te3, *s_te4 = te4;
#endif
  u32 keys[44];
  aes128_set_encrypt_key(keys, key.words, s_te0, s_te1, s_te2, s_te3);
  GLOBAL_AS u32* at = data + (ulong)get_global_id(0) * blocks * 4;
  u32 cipher[4] = {0, 0, 0, 0};
  for (u32 i = 0; i < blocks; ++i, at += 4) {
    u32 mixed[4] = {at[0] ^ cipher[0], at[1] ^ cipher[1], at[2] ^ cipher[2], at[3] ^ cipher[3]};
    aes128_encrypt(keys, mixed, cipher, s_te0, s_te1, s_te2, s_te3, s_te4);
    at[0] = cipher[0];
    at[1] = cipher[1];
    at[2] = cipher[2];
    at[3] = cipher[3];
  }
}
)"
