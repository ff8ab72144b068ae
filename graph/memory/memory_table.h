/* What every task allocates and frees: the side table of a task graph.
 *
 * The replay only adds and subtracts: when a task begins, its effect's `take`
 * and `work` and the lane's changes at its begin are added on the lanes it
 * runs on; when it ends, `work` and `drop` are subtracted and the changes at
 * its end added.  A lane's GPUs hold the same, so it is counted once a lane.
 *
 *     const RaMemoryEffect *e = &table->effects[table->effect[task]];
 *
 * Effects are what tasks on all their lanes do alike (passes of micro-batches);
 * changes are what differs between the lanes of a task (a reallocation, a
 * replica's decoding) or stands on one lane only (a copy after its last
 * reader).  Invariants: over a whole run what is taken is given back, but for
 * items that stay, and no holder is ever negative.
 * Typical sizes: 10^5 tasks, 10^3 effects, 10^3 changes.
 */
#ifndef RA_GRAPH_MEMORY_MEMORY_TABLE_H
#define RA_GRAPH_MEMORY_MEMORY_TABLE_H

#include "graph/expand/task.h"
#include "graph/memory/memory_peak.h"

/* Per GPU of every lane that the task runs on. */
typedef struct {
  uint32_t call;       /* whose */
  uint8_t hold;        /* RaHold of take and drop */
  uint8_t work_hold;   /* RaHold of work */
  uint64_t take_bytes; /* at the begin, kept */
  uint64_t work_bytes; /* from begin to end */
  uint64_t drop_bytes; /* at the end */
} RaMemoryEffect;

/* Parts of a task's duration at which changes may stand: a cache grows in as
 * many steps. */
#define RA_MEMORY_STEPS 8

/* On one lane. */
typedef struct {
  uint32_t lane;
  RaTaskId task;
  uint32_t holder;
  uint32_t step; /* when: steps of the task's duration that have passed, 0 as it
                    begins to RA_MEMORY_STEPS as it ends */
  uint32_t item; /* index into items; RA_NONE: none of them */
  int64_t bytes; /* per GPU; negative: given back */
} RaMemoryChange;

typedef struct {
  const RaTaskGraph *graph; /* borrowed */
  RaMemory *memory;         /* owned */
  GArray *items;            /* RaMemoryItem, owned */
  uint32_t *kind_begin;     /* (n_lanes + 1) CSR, owned */
  uint32_t *kinds;          /* GPUs of each lane, one a kind: a folded lane may
                               have several stages at call fidelity; owned */
  RaMemoryEffect *effects;  /* (n_effects), owned */
  uint32_t n_effects;
  uint32_t *effect;        /* (n_tasks) RA_NONE: none; owned */
  uint32_t *change_begin;  /* (n_lanes + 1) CSR, owned */
  RaMemoryChange *changes; /* by lane, then task, then step; owned */
} RaMemoryTable;

/**
 * ra_memory_table_new:
 * @graph: borrowed, outlives the table
 *
 * Cost: O(tasks + works + nodes x lanes).
 *
 * Returns: (transfer full): ra_memory_table_free() it
 */
RaMemoryTable *ra_memory_table_new(const RaTaskGraph *graph);
void ra_memory_table_free(RaMemoryTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMemoryTable, ra_memory_table_free)

/* Bytes of @item on the GPU of @lane that has most.  O(kinds of the lane). */
uint64_t ra_memory_lane_item_bytes(const RaMemoryTable *table,
                                   const RaMemoryItem *item, uint32_t lane);

/**
 * ra_memory_table_base:
 * @lane: of the graph
 * @out_bytes: (out) (array): (n_holders) per GPU at the begin of the run: model
 *   states, and the copies that the first iterations read; no framework
 */
void ra_memory_table_base(const RaMemoryTable *table, uint32_t lane,
                          uint64_t *out_bytes);

#endif
