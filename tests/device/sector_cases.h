/* Every CUDA kernel on a small aligned shape, emulated, with what its warps ask
 * of memory counted: tests/kernels/check_sectors.c holds it to bars,
 * bench/sectors prints it. */
#ifndef RA_TESTS_DEVICE_SECTOR_CASES_H
#define RA_TESTS_DEVICE_SECTOR_CASES_H

#include <glib.h>

#include "tests/emulator/sectors.h"

typedef struct {
  const char *name;
  gboolean (*run)(void); /* FALSE: not launched */
  gboolean moves;        /* bound by bytes: the bars are for these */
} RaSectorCase;

/* Of sectors' bytes those that are asked for, and bytes of a lane, at least,
 * where bytes are what takes time. */
#define RA_SECTORS_USEFUL_FRAC 0.95
#define RA_SECTORS_LANE_BYTES 12
/* Rounds of shared memory for each that there must be, at most.  An H100's 132
 * processors each serve 128 bytes a clock of 1.7 GHz, 8 times what its memory
 * does, and a byte passes there twice at most: at 1.25 that is a third of the
 * time of its way from memory. */
#define RA_SECTORS_ROUNDS 1.25

extern const RaSectorCase ra_sector_cases[];
guint ra_sector_n_cases(void);

/* Runs @one; FALSE: it was not launched. */
gboolean ra_sector_run(const RaSectorCase *one, RaSectors *out);

static inline double
ra_sectors_useful_frac(const RaSectors *s)
{
  return (double)s->useful_bytes / (double)MAX(s->sector_bytes, 1);
}

static inline double
ra_sectors_lane_bytes(const RaSectors *s)
{
  return (double)s->lane_bytes / (double)MAX(s->n_lanes, 1);
}

static inline double
ra_sectors_rounds(const RaSectors *s)
{
  return s->n_least ? (double)s->n_rounds / (double)s->n_least : 1;
}

#endif
