/* What a replica's generation takes of links, over time.
 *
 * Between two events (a sequence ends or enters) all steps are alike, so what
 * they communicate is a share of their time.  A *slot* is a stretch of a part
 * between events; where a part has more than RA_DECODE_SLOTS, neighbours are
 * put together by two, so that a slot is a 64th of the laps or less.
 *
 *     RaDecodeLinks *links = ra_decode_links_new(graph, estimator, d, kinds);
 *     slots = ra_decode_links_slots(links, part, &n);
 *     ra_decode_links_use(links, part, slot, row, kind)
 *
 * A *row* is who communicates: stage 0 .. pp - 1, or, as row pp, each stage
 * with the next.  Uses are sums over the slot's steps.
 */
#ifndef RA_SIM_DECODE_LINKS_H
#define RA_SIM_DECODE_LINKS_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

/* Slots of a part, at most: a choice between events and their number. */
#define RA_DECODE_SLOTS 128

typedef struct {
  double wall_s;    /* that it takes by itself */
  double comm_s;    /* of it, on a stage: mean over them */
  uint64_t n_steps; /* of a stage, of all groups */
} RaDecodeSlot;

typedef struct {
  double intra_s;    /* the link to the peers of the node is full */
  double inter_s;    /* the GPU's share of the cards is */
  double n_messages; /* that follow each other between nodes */
} RaDecodeUse;

typedef struct _RaDecodeLinks RaDecodeLinks;

/**
 * ra_decode_links_new:
 * @index: of the graph's dynamics
 * @kinds: (nullable) (array): as of ra_dynamic_run()
 *
 * Cost: a replay of the generation; of several groups or stages step by step.
 *
 * Returns: (transfer full): ra_decode_links_free() it
 */
RaDecodeLinks *ra_decode_links_new(const RaTaskGraph *graph,
                                   const RaEstimator *estimator, uint32_t index,
                                   const uint32_t *kinds);
void ra_decode_links_free(RaDecodeLinks *links);

/* (transfer none) (array length=out_n): in order of time. */
const RaDecodeSlot *ra_decode_links_slots(const RaDecodeLinks *links,
                                          uint32_t part, guint *out_n);

/* Of a row of a slot by the laws of nodes of @kind; of a link of the row. */
const RaDecodeUse *ra_decode_links_use(const RaDecodeLinks *links,
                                       uint32_t part, guint slot, uint32_t row,
                                       uint32_t kind);

/* Whether anything goes over links at all. */
gboolean ra_decode_links_any(const RaDecodeLinks *links);

/* Messages between nodes that wait for each other in @op, whose link use is
 * @use: a ring's steps over its nodes, twice for an all-reduce. */
double ra_link_messages(const RaOp *op, const RaLinkUse *use);

#endif
