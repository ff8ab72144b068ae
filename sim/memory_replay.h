/* Memory over time: replay of the memory table along a run.
 *
 *     g_autoptr(RaMemoryTable) table = ra_memory_table_new(graph);
 *     g_autoptr(RaMemoryReplay) r = ra_memory_replay_new(sim, table);
 *     r->lanes[r->fullest].peak_bytes of GPU lanes[...].first_gpu at peak_s
 *
 * At one moment ends come before begins.  Tasks that begin at one moment do so
 * in the order of their ids; those without duration end at once.  Bytes are per
 * GPU, with framework and slack.
 *
 * Typical sizes: 10^2 lanes, 10^4 events each; one pass over them.
 */
#ifndef RA_SIM_MEMORY_REPLAY_H
#define RA_SIM_MEMORY_REPLAY_H

#include "graph/memory/memory_table.h"
#include "sim/sim.h"

/* Peak of one lane. */
typedef struct {
  double peak_bytes;  /* of one of its GPUs, with framework and slack */
  double peak_s;      /* time at which it is first reached */
  RaTaskId task;      /* task that begins then; RA_NONE: begin of the run */
  uint64_t end_bytes; /* in use at the end of the run, without framework and
                         slack */
} RaLanePeak;

typedef struct {
  RaLanePeak *lanes; /* (n_lanes), owned */
  uint32_t n_lanes;  /* of the graph */
  uint32_t fullest;  /* lane with the least free memory at its peak (with one
                        kind of nodes, the highest peak); the first on a
                        tie; RA_NONE: no lane */
  double capacity_bytes; /* memory of the smallest of its GPUs */
  uint32_t n_negative;   /* moments at which a lane held less than 0 bytes: 0
                            unless the table is wrong */
} RaMemoryReplay;

/**
 * ra_memory_replay_new:
 * @sim: has run; borrowed
 * @table: memory table of its graph; borrowed
 *
 * Cost: O(lanes of all tasks).
 *
 * Returns: (transfer full): ra_memory_replay_free() it
 */
RaMemoryReplay *ra_memory_replay_new(const RaSim *sim,
                                     const RaMemoryTable *table);
void ra_memory_replay_free(RaMemoryReplay *replay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMemoryReplay, ra_memory_replay_free)

/* Change of a lane's memory. */
typedef struct {
  double time_s;
  RaTaskId task;   /* task that begins or ends */
  uint32_t holder; /* holder whose bytes change */
  int64_t bytes;   /* change, per GPU */
} RaMemoryEvent;

/**
 * ra_memory_replay_events:
 * @lane: lane of the graph
 *
 * Returns: (transfer full) (element-type RaMemoryEvent): changes in the order
 *   of the replay, starting from ra_memory_table_base()
 */
GArray *ra_memory_replay_events(const RaSim *sim, const RaMemoryTable *table,
                                uint32_t lane);

/**
 * ra_memory_replay_holders_at_peak:
 * @lane: lane of the graph
 * @out_bytes: (out) (array): (n_holders) bytes at the lane's peak, with
 *   framework and slack; they sum to the peak up to the rounding of slack
 */
void ra_memory_replay_holders_at_peak(const RaSim *sim,
                                      const RaMemoryTable *table, uint32_t lane,
                                      uint64_t *out_bytes);

#endif
