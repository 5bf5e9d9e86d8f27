R"~~~(
// AES for coprocessors, after FIPS 197 and SP 800-38A and 38D. Built with:
//   ROUNDS  10 or 14
//   TABLES  4, or 1 that is rotated: for memory that is scarce
//   COPIES  of the tables in local memory; one for each bank lets work items look up without
//           waiting for each other
//   ITEMS   work items of a chunk, a power of two
// Blocks are four words of which the first byte is the lowest.

#define ENTRIES (TABLES * 256)

void copy_tables(__global const uint* from, __local uint* tables) {
  for (uint i = get_local_id(0); i < ENTRIES * COPIES; i += get_local_size(0)) {
    tables[i] = from[i / COPIES];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// MixColumns of SubBytes of a byte in a row; `tables` begins at this work item's copy.
uint lookup(__local const uint* tables, uint row, uint byte) {
#if TABLES == 4
  return tables[(row * 256 + byte) * COPIES];
#else
  return rotate(tables[byte * COPIES], row * 8);
#endif
}

uint sub_byte(__local const uint* tables, uint byte) {
  return (tables[byte * COPIES] >> 8) & 0xff;
}

// One column of a round: ShiftRows takes each row from another column.
uint mixed(__local const uint* t, uint a, uint b, uint c, uint d) {
  return lookup(t, 0, a & 0xff) ^ lookup(t, 1, (b >> 8) & 0xff) ^
         lookup(t, 2, (c >> 16) & 0xff) ^ lookup(t, 3, d >> 24);
}

uint substituted(__local const uint* t, uint a, uint b, uint c, uint d) {
  return sub_byte(t, a & 0xff) | sub_byte(t, (b >> 8) & 0xff) << 8 |
         sub_byte(t, (c >> 16) & 0xff) << 16 | sub_byte(t, d >> 24) << 24;
}

uint4 encrypt(__local const uint* t, __local const uint4* keys, uint4 s) {
  s ^= keys[0];
#pragma unroll
  for (uint round = 1; round < ROUNDS; ++round) {
    s = (uint4)(mixed(t, s.x, s.y, s.z, s.w), mixed(t, s.y, s.z, s.w, s.x),
                mixed(t, s.z, s.w, s.x, s.y), mixed(t, s.w, s.x, s.y, s.z)) ^
        keys[round];
  }
  return (uint4)(substituted(t, s.x, s.y, s.z, s.w), substituted(t, s.y, s.z, s.w, s.x),
                 substituted(t, s.z, s.w, s.x, s.y), substituted(t, s.w, s.x, s.y, s.z)) ^
         keys[ROUNDS];
}

// ---- CBC: a work item is a chain ----

struct Chain {
  uint first, blocks;  // in the data
};

// The local memory is wiped of the key at the end.
__kernel void encrypt_chains(__global uint4* data, __global const struct Chain* chains,
                             __global uint4* ivs, __global const uint4* round_keys,
                             __global const uint* from, uint count) {
  __local uint tables[ENTRIES * COPIES];
  __local uint4 keys[ROUNDS + 1];
  const uint item = get_local_id(0), chain = get_global_id(0);
  for (uint i = item; i <= ROUNDS; i += get_local_size(0)) keys[i] = round_keys[i];
  copy_tables(from, tables);
  if (chain < count) {
    __local const uint* const t = tables + item % COPIES;
    __global uint4* at = data + chains[chain].first;
    const uint blocks = chains[chain].blocks;
    uint4 cipher = ivs[chain];
    uint4 plain = blocks > 0 ? at[0] : (uint4)(0);
    for (uint i = 0; i < blocks; ++i) {
      // The next block is on its way while this one is worked on.
      const uint4 next = i + 1 < blocks ? at[i + 1] : plain;
      cipher = encrypt(t, keys, cipher ^ plain);
      at[i] = cipher;
      plain = next;
    }
    ivs[chain] = cipher;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i <= ROUNDS; i += get_local_size(0)) keys[i] = (uint4)(0);
}

// ---- GCM: a group of ITEMS work items is a chunk ----

#if ROUNDS == 14

#define POWERS 8  // of the hash key: 1, 2, 4 ... 128

// What one file's key gives. The hash key and its powers are polynomials whose coefficient of
// degree 0 is the highest bit of x; see gcm_key() of device_aes.cc.
struct FileKey {
  uint4 round_keys[ROUNDS + 1];
  ulong2 powers[POWERS];
  ulong2 multiples[16];  // of the power ITEMS, by four coefficients
};

struct Chunk {
  uint place, bytes;  // in the data: in blocks; of the plain text
  uint key, index, last;
  uint opens;  // else it is sealed
};

// What the four coefficients that leave at the end come back as, in the highest 16 bits.
__constant ushort kReduced[16] = {0x0000, 0x1c20, 0x3840, 0x2460, 0x7080, 0x6ca0, 0x48c0, 0x54e0,
                                  0xe100, 0xfd20, 0xd940, 0xc560, 0x9180, 0x8da0, 0xa9c0, 0xb5e0};

ulong2 times_x4(ulong2 a, __local const ushort* reduced) {
  const uint leaving = (uint)(a.y & 15);
  return (ulong2)((a.x >> 4) ^ ((ulong)reduced[leaving] << 48), (a.y >> 4) | (a.x << 60));
}

// By the power of which the multiples are.
ulong2 times_power(ulong2 a, __local const ulong2* multiples, __local const ushort* reduced) {
  ulong2 sum = multiples[a.y & 15];
  for (uint shift = 4; shift < 64; shift += 4) {
    sum = times_x4(sum, reduced) ^ multiples[(a.y >> shift) & 15];
  }
  for (uint shift = 0; shift < 64; shift += 4) {
    sum = times_x4(sum, reduced) ^ multiples[(a.x >> shift) & 15];
  }
  return sum;
}

ulong2 times(ulong2 a, ulong2 b) {
  ulong2 sum = (ulong2)(0, 0);
  for (uint i = 0; i < 128; ++i) {
    const ulong bit = ((i < 64 ? a.x >> (63 - i) : a.y >> (127 - i)) & 1);
    sum ^= b & (ulong2)(0 - bit);
    const ulong leaving = 0 - (b.y & 1);
    b = (ulong2)((b.x >> 1) ^ (leaving & 0xe100000000000000UL), (b.y >> 1) | (b.x << 63));
  }
  return sum;
}

uint reversed(uint x) { return as_uint(as_uchar4(x).wzyx); }

ulong2 polynomial_of(uint4 block) {
  return (ulong2)((ulong)reversed(block.x) << 32 | reversed(block.y),
                  (ulong)reversed(block.z) << 32 | reversed(block.w));
}

uint4 block_of(ulong2 a) {
  return (uint4)(reversed((uint)(a.x >> 32)), reversed((uint)a.x), reversed((uint)(a.y >> 32)),
                 reversed((uint)a.y));
}

uint4 counter_block(uint index, uint last, uint counter) {
  return (uint4)(0, index & 0xff000000, reversed(index << 8) | last << 24, reversed(counter));
}

// The first `bytes` of a block; the others are 0.
uint4 load_part(__global const uchar* from, uint bytes) {
  uchar part[16];
  for (uint i = 0; i < 16; ++i) part[i] = i < bytes ? from[i] : 0;
  return as_uint4(vload16(0, part));
}

void store_part(uint4 block, __global uchar* to, uint bytes) {
  uchar part[16];
  vstore16(as_uchar16(block), 0, part);
  for (uint i = 0; i < bytes; ++i) to[i] = part[i];
}

// Encrypts or decrypts block `at` of the chunk where it is; returns the encrypted one, with 0
// behind the end.
uint4 work_in_place(__local const uint* t, __local const uint4* keys, __global uint4* place,
                    const struct Chunk* chunk, uint at) {
  const uint4 stream = encrypt(t, keys, counter_block(chunk->index, chunk->last, at + 2));
  const uint left = chunk->bytes - at * 16;
  if (left >= 16) {
    const uint4 before = place[at], after = before ^ stream;
    place[at] = after;
    return chunk->opens ? before : after;
  }
  __global uchar* const bytes = (__global uchar*)(place + at);
  const uint4 before = load_part(bytes, left), after = before ^ stream;
  store_part(after, bytes, left);
  if (chunk->opens) return before;
  uchar part[16];
  vstore16(as_uchar16(after), 0, part);
  for (uint i = left; i < 16; ++i) part[i] = 0;
  return as_uint4(vload16(0, part));
}

// Each work item takes every ITEMS-th block and hashes them by the power ITEMS; what they have
// found is then added up by the lower powers. In front of the first block there are as many of 0
// as let the last work item take the last one. The tag goes behind the chunk: if it is opened, the
// one that it should have.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void work_chunks(
    __global uint4* data, __global const struct Chunk* chunks,
    __global const struct FileKey* file_keys, __global const uint* from) {
  __local uint tables[ENTRIES * COPIES];
  __local uint4 keys[ROUNDS + 1];
  __local ulong2 multiples[16], sums[ITEMS];
  __local ushort reduced[16];
  const uint item = get_local_id(0);
  const struct Chunk chunk = chunks[get_group_id(0)];
  __global const struct FileKey* const key = file_keys + chunk.key;
  for (uint i = item; i <= ROUNDS; i += ITEMS) keys[i] = key->round_keys[i];
  for (uint i = item; i < 16; i += ITEMS) {
    multiples[i] = key->multiples[i];
    reduced[i] = kReduced[i];
  }
  copy_tables(from, tables);

  __local const uint* const t = tables + item % COPIES;
  __global uint4* const place = data + chunk.place;
  const uint blocks = (chunk.bytes + 15) / 16;
  const uint hashed = blocks + 1;  // with the lengths
  const uint empty = (ITEMS - hashed % ITEMS) % ITEMS;
  ulong2 sum = (ulong2)(0, 0);
  for (uint at = item; at < empty + hashed; at += ITEMS) {
    if (at < empty) continue;
    const uint block = at - empty;
    const ulong2 found = block < blocks
                             ? polynomial_of(work_in_place(t, keys, place, &chunk, block))
                             : (ulong2)(0, (ulong)chunk.bytes * 8);
    sum = times_power(sum, multiples, reduced) ^ found;
  }
  sums[item] = sum;
  for (uint step = 1, power = 0; step < ITEMS; step *= 2, ++power) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item % (2 * step) == 0) {
      sums[item] = times(sums[item], key->powers[power]) ^ sums[item + step];
    }
  }
  if (item == 0) {
    const ulong2 hash = times(sums[0], key->powers[0]);
    const uint4 tag = block_of(hash) ^ encrypt(t, keys, counter_block(chunk.index, chunk.last, 1));
    store_part(tag, (__global uchar*)place + chunk.bytes, 16);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i <= ROUNDS; i += ITEMS) keys[i] = (uint4)(0);
  for (uint i = item; i < 16; i += ITEMS) multiples[i] = (ulong2)(0, 0);
}

#endif
)~~~"
