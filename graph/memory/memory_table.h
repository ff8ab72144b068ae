/* Memory table: allocations and frees of every task, a side table of a task
 * graph.
 *
 * The replay only adds and subtracts.  When a task begins, it adds on the
 * task's lanes the effect's `take` and `work` and each lane's changes at the
 * begin.  When the task ends, it subtracts `work` and `drop` and adds the
 * changes at the end.  The GPUs of a lane hold equal memory, so it counts once
 * per lane.
 *
 *     const RaMemoryEffect *e = &table->effects[table->effect[task]];
 *
 * Effects are equal on all lanes of a task (passes of micro-batches).  Changes
 * differ between the lanes of a task (a reallocation, a replica's decoding) or
 * belong to one lane only (a copy after its last reader).
 *
 * Invariants: over a whole run, all memory taken is given back except items
 * that are never freed, and no holder is ever negative.
 * Typical sizes: 10^5 tasks, 10^3 effects, 10^3 changes.
 */
#ifndef RA_GRAPH_MEMORY_MEMORY_TABLE_H
#define RA_GRAPH_MEMORY_MEMORY_TABLE_H

#include "graph/expand/task.h"
#include "graph/memory/memory_peak.h"

/* Effect of a task on each GPU of its lanes. */
typedef struct {
  uint32_t call;       /* call of its holders */
  uint8_t hold;        /* RaHold of take and drop */
  uint8_t work_hold;   /* RaHold of work */
  uint64_t take_bytes; /* at the begin, kept */
  uint64_t work_bytes; /* from begin to end */
  uint64_t drop_bytes; /* at the end */
} RaMemoryEffect;

/* Steps of a task's duration after which changes may happen; a cache grows in
 * that many steps. */
#define RA_MEMORY_STEPS 8

/* Change on one lane. */
typedef struct {
  uint32_t lane;
  RaTaskId task;
  uint32_t holder;
  uint32_t step; /* time: steps of the task's duration that have passed, from 0
                    at its begin to RA_MEMORY_STEPS at its end */
  uint32_t item; /* index into items; RA_NONE: none of them */
  int64_t bytes; /* per GPU; negative: freed */
} RaMemoryChange;

typedef struct {
  const RaTaskGraph *graph; /* borrowed */
  RaMemory *memory;         /* owned */
  GArray *items;            /* RaMemoryItem, owned */
  uint32_t *kind_begin;     /* (n_lanes + 1) CSR, owned */
  uint32_t *kinds;          /* one GPU of each kind in each lane: at call
                               fidelity a folded lane may have several stages;
                               owned */
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

/* Largest number of bytes of @item on a GPU of @lane.  O(kinds of the lane). */
uint64_t ra_memory_lane_item_bytes(const RaMemoryTable *table,
                                   const RaMemoryItem *item, uint32_t lane);

/**
 * ra_memory_table_base:
 * @lane: lane of the graph
 * @out_bytes: (out) (array): (n_holders) per GPU at the begin of the run: model
 *   states, and the copies that the first iterations read; without framework
 */
void ra_memory_table_base(const RaMemoryTable *table, uint32_t lane,
                          uint64_t *out_bytes);

#endif
