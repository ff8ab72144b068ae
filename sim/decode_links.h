/* Link use of a replica's generation over time.
 *
 * Between two events (a sequence ends or enters) all steps are equal, so their
 * communication is a share of their time.  A *slot* is a stretch of a part
 * between events.  If a part has more than RA_DECODE_SLOTS, pairs of neighbours
 * are merged, so that a slot is at most a 64th of the laps.
 *
 *     RaDecodeLinks *links = ra_decode_links_new(graph, estimator, d, kinds);
 *     slots = ra_decode_links_slots(links, part, &n);
 *     ra_decode_links_use(links, part, slot, row, kind)
 *
 * A *row* is a set of communicating ranks: stage 0 .. pp - 1, or, as row pp,
 * each stage with the next.  Uses are sums over the slot's steps.
 */
#ifndef RA_SIM_DECODE_LINKS_H
#define RA_SIM_DECODE_LINKS_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

/* Largest number of slots of a part: a compromise between resolution and
 * cost. */
#define RA_DECODE_SLOTS 128

typedef struct {
  double wall_s;    /* duration without contention */
  double comm_s;    /* communication in it, mean over the stages */
  uint64_t n_steps; /* steps of a stage, of all groups */
} RaDecodeSlot;

typedef struct {
  double intra_s;    /* time for which the link to the node's peers is full */
  double inter_s;    /* time for which the GPU's share of the NICs is full */
  double n_messages; /* consecutive messages between nodes */
} RaDecodeUse;

typedef struct _RaDecodeLinks RaDecodeLinks;

/**
 * ra_decode_links_new:
 * @index: index into the graph's dynamics
 * @kinds: (nullable) (array): as for ra_dynamic_run()
 *
 * Cost: one replay of the generation; with several groups or stages step by
 * step.
 *
 * Returns: (transfer full): ra_decode_links_free() it
 */
RaDecodeLinks *ra_decode_links_new(const RaTaskGraph *graph,
                                   const RaEstimator *estimator, uint32_t index,
                                   const uint32_t *kinds);
void ra_decode_links_free(RaDecodeLinks *links);

/* (transfer none) (array length=out_n): slots in order of time. */
const RaDecodeSlot *ra_decode_links_slots(const RaDecodeLinks *links,
                                          uint32_t part, guint *out_n);

/* Use of each link of a row in a slot, by the laws of nodes of @kind. */
const RaDecodeUse *ra_decode_links_use(const RaDecodeLinks *links,
                                       uint32_t part, guint slot, uint32_t row,
                                       uint32_t kind);

/* TRUE if the generation uses any link. */
gboolean ra_decode_links_any(const RaDecodeLinks *links);

/* Number of consecutive messages between nodes in @op, whose link use is @use:
 * a ring's steps over its nodes, twice for an all-reduce. */
double ra_link_messages(const RaOp *op, const RaLinkUse *use);

#endif
