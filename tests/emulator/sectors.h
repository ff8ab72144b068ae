/* Counts what the warps of emulated kernels ask of memory.
 *
 * A GPU serves a warp's load or store by sectors of 32 bytes of global memory,
 * and by rounds of its 32 banks of 4 bytes of shared memory: 16 bytes a lane
 * in four parts of eight lanes, 8 in two (CUDA C++ Programming Guide, compute
 * capability 5.x and up).  So which sectors and banks an access meets is a
 * fact of the text of a kernel and its shape; seconds are not.
 *
 * A word that all lanes of a warp read is left out, and a sector that a block
 * reads again comes from the first-level cache: reads count once a block,
 * writes each by itself.
 *
 * Kernels are compiled with -fsanitize=thread, whose calls before each access
 * come here in place of its library.  Lanes of a warp meet in an access that
 * is at the same place in the code, for as many times as before.
 *
 *     ra_sectors_begin();
 *     ra_sectors_array(x, n_bytes);           what counts as global
 *     ra_k_add(n, x, y, NULL);
 *     RaSectors counted = ra_sectors_end();
 *     100.0 * counted.useful_bytes / counted.sector_bytes
 */
#ifndef RA_TESTS_EMULATOR_SECTORS_H
#define RA_TESTS_EMULATOR_SECTORS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint64_t n_accesses;   /* of warps, to global memory */
  uint64_t n_lanes;      /* of them */
  uint64_t lane_bytes;   /* that they asked for */
  uint64_t useful_bytes; /* different ones of an access */
  uint64_t sector_bytes; /* of the sectors met */
  uint64_t n_rounds;     /* of shared memory */
  uint64_t n_least;      /* of them, had no two words shared a bank */
} RaSectors;

/* 0 where ThreadSanitizer's library has the entry points: nothing is seen. */
int ra_sectors_count(void);
void ra_sectors_begin(void);
void ra_sectors_array(const void *begin, size_t n_bytes);
RaSectors ra_sectors_end(void);

/* Kernels whose counts are known: tests/emulator/patterns.cc, (1024) each. */
void emu_read_vectors(const uint32_t *in, uint32_t *out); /* 16 bytes a lane */
void emu_read_strided(const uint32_t *in, uint32_t *out); /* 4 of every 32 */
void emu_read_one(const uint32_t *in, uint32_t *out);     /* all the same */
void emu_read_shifted(const uint32_t *in, uint32_t *out); /* 4, one word on */
void emu_banks(uint32_t *out, int stride);                /* words apart */

#ifdef __cplusplus
}
#endif

#endif
