/* Memory over time: the side table replayed along a run.
 *
 *     g_autoptr(RaMemoryTable) table = ra_memory_table_new(graph);
 *     g_autoptr(RaMemoryReplay) r = ra_memory_replay_new(sim, table);
 *     r->lanes[r->fullest].peak_bytes of GPU lanes[...].first_gpu at peak_s
 *
 * At one moment ends come before begins; tasks that begin then do so in the
 * order of their ids, those without duration ending at once.  Bytes are of one
 * GPU, with framework and slack.
 *
 * Typical sizes: 10^2 lanes, 10^4 events each; a pass over them.
 */
#ifndef RA_SIM_MEMORY_REPLAY_H
#define RA_SIM_MEMORY_REPLAY_H

#include "graph/memory/memory_table.h"
#include "sim/sim.h"

/* The fullest moment of one lane. */
typedef struct {
  double peak_bytes;  /* of one of its GPUs, with framework and slack */
  double peak_s;      /* when it is first reached */
  RaTaskId task;      /* that begins then; RA_NONE: at the begin of the run */
  uint64_t end_bytes; /* in use at the end of the run, without them */
} RaLanePeak;

typedef struct {
  RaLanePeak *lanes;     /* (n_lanes), owned */
  uint32_t n_lanes;      /* of the graph */
  uint32_t fullest;      /* lane with the least room left at its peak, where all
                          nodes are alike that with the highest peak; the first
                          on a tie; RA_NONE: no lane */
  double capacity_bytes; /* of one of its GPUs, the smallest */
  uint32_t n_negative;   /* moments at which a lane held less than nothing: 0
                          unless the table is wrong */
} RaMemoryReplay;

/**
 * ra_memory_replay_new:
 * @sim: has run; borrowed
 * @table: of its graph; borrowed
 *
 * Cost: O(lanes of all tasks).
 *
 * Returns: (transfer full): ra_memory_replay_free() it
 */
RaMemoryReplay *ra_memory_replay_new(const RaSim *sim,
                                     const RaMemoryTable *table);
void ra_memory_replay_free(RaMemoryReplay *replay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMemoryReplay, ra_memory_replay_free)

/* One moment of a lane. */
typedef struct {
  double time_s;
  RaTaskId task;   /* that begins or ends */
  uint32_t holder; /* whose bytes change */
  int64_t bytes;   /* by how much, of one GPU */
} RaMemoryEvent;

/**
 * ra_memory_replay_events:
 * @lane: of the graph
 *
 * Returns: (transfer full) (element-type RaMemoryEvent): in the order of the
 *   replay; what the lane holds at first is ra_memory_table_base()
 */
GArray *ra_memory_replay_events(const RaSim *sim, const RaMemoryTable *table,
                                uint32_t lane);

/**
 * ra_memory_replay_holders_at_peak:
 * @lane: of the graph
 * @out_bytes: (out) (array): (n_holders) when the lane is fullest, with
 *   framework and slack: they sum to its peak but for the rounding of slack
 */
void ra_memory_replay_holders_at_peak(const RaSim *sim,
                                      const RaMemoryTable *table, uint32_t lane,
                                      uint64_t *out_bytes);

#endif
