/* Counts of the memory accesses of emulated kernels, by warp.
 *
 * A GPU serves a load or store of a warp by sectors of 32 bytes of global
 * memory, and by rounds of the 32 banks of 4 bytes of shared memory: 16 bytes a
 * lane in four parts of eight lanes, 8 bytes in two (CUDA C++ Programming
 * Guide, compute capability 5.x and up).  So the sectors and banks of an access
 * follow from the source of a kernel and its shape; seconds do not.
 *
 * A word that all lanes of a warp read is left out.  A sector that a block
 * reads again comes from the first-level cache: reads count once a block,
 * writes each time.
 *
 * Kernels are compiled with -fsanitize=thread; its calls before each access
 * come here instead of its library.  Lanes of a warp share an access if it is
 * at the same place in the code and they have reached it equally often.
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
  uint64_t n_accesses;   /* accesses of warps to global memory */
  uint64_t n_lanes;      /* lanes of these accesses */
  uint64_t lane_bytes;   /* bytes requested by these lanes */
  uint64_t useful_bytes; /* different bytes of each access */
  uint64_t sector_bytes; /* bytes of the sectors accessed */
  uint64_t n_rounds;     /* rounds of shared memory */
  uint64_t n_least;      /* rounds if no two words shared a bank */
} RaSectors;

/* 1 if accesses are counted, 0 if ThreadSanitizer's library has the entry
 * points, so that nothing is seen here. */
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
