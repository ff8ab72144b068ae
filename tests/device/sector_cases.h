/* Every CUDA kernel on a small aligned shape, emulated, with its memory
 * accesses counted.  tests/kernels/check_sectors.c compares them with bars, and
 * bench/sectors prints them. */
#ifndef RA_TESTS_DEVICE_SECTOR_CASES_H
#define RA_TESTS_DEVICE_SECTOR_CASES_H

#include <glib.h>

#include "tests/emulator/sectors.h"

typedef struct {
  const char *name;
  gboolean (*run)(void); /* FALSE: not launched */
  gboolean moves;        /* bound by bytes: the bars apply */
} RaSectorCase;

/* Least share of useful bytes in sectors, and least bytes of a lane, of kernels
 * bound by bytes. */
#define RA_SECTORS_USEFUL_FRAC 0.95
#define RA_SECTORS_LANE_BYTES 12
/* Most rounds of shared memory for each necessary one.  Each of the 132
 * multiprocessors of an H100 serves 128 bytes a clock at 1.7 GHz, together 8
 * times the rate of its memory.  A byte passes there at most twice, so at 1.25
 * that is a third of the time of its transfer from memory. */
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
