/* Memory accesses of the warps of every CUDA kernel, counted on the emulator:
 * they decide, and can be measured without a GPU, how close a kernel comes to
 * the bandwidth of a copy.
 *
 *   bench/sectors
 *
 * useful: of the 32-byte sectors that a warp's access meets, the bytes that its
 * lanes asked for.  lane_bytes: of one access of a lane, 16 at most.  rounds:
 * of shared memory, for each that there would be without bank conflicts.
 */
#include "config.h"

#include <stdio.h>

#include "bench/figure.h"
#include "tests/device/sector_cases.h"

int
main(void)
{
  double useful = 1, lane = 16, rounds = 1;

  printf("# warps' accesses of global memory; bytes; parts\n");
  printf("kernel\taccesses\tsector_bytes\tuseful_frac\tlane_bytes\trounds\n");
  for (guint i = 0; i < ra_sector_n_cases(); i++) {
    const RaSectorCase *one = &ra_sector_cases[i];
    RaSectors s;

    if (!ra_sector_run(one, &s)) {
      fprintf(stderr, "%s: not launched\n", one->name);
      return 1;
    }
    printf("%s\t%" G_GUINT64_FORMAT "\t%" G_GUINT64_FORMAT
           "\t%.3f\t%.1f\t%.2f\n",
           one->name, s.n_accesses, s.sector_bytes, ra_sectors_useful_frac(&s),
           ra_sectors_lane_bytes(&s), ra_sectors_rounds(&s));
    if (!one->moves)
      continue;
    useful = MIN(useful, ra_sectors_useful_frac(&s));
    lane = MIN(lane, ra_sectors_lane_bytes(&s));
    rounds = MAX(rounds, ra_sectors_rounds(&s));
  }
  bench_bar("least_useful_frac", useful, BENCH_AT_LEAST,
            RA_SECTORS_USEFUL_FRAC);
  bench_bar("least_lane_bytes", lane, BENCH_AT_LEAST, RA_SECTORS_LANE_BYTES);
  bench_bar("most_rounds", rounds, BENCH_AT_MOST, RA_SECTORS_ROUNDS);
  return 0;
}
