/* Internals of parameter reallocation; private to graph/augment/realloc*.c.
 *
 * Three concepts avoid a cost of tensors x GPUs:
 *
 *   bundle  parameters of one unit of each kind that one set of source shards
 *           holds and one set of destination shards needs: the elementary
 *           intervals between the cuts of both layouts, for all tensor classes
 *           together.  Evenly divided tensors all fall into max(tp, tp')
 *           bundles, norms into one more.
 *   zone    units that one set of pipeline ranks holds and one set needs
 *   flow    bundle x units of a zone, from a GPU to a GPU
 *
 * Every GPU of a side is in one class (pipeline rank, shard).  The members of a
 * class, its replicas, hold the same parameters.  Shard t + tp d belongs to
 * tensor-parallel rank t and to the data ranks that are d modulo the period of
 * experts (ra_call_plan_expert_period()): a dense tensor's piece is on every
 * tp-th shard, or every tp-th run of them where tp ranks share it, and an
 * expert's on every (ep expert-tp)-th.  With zero 3, shard t + tp i is the i-th
 * part of rank t; each tp rank has its own part of a tensor that tp ranks
 * replicate.  The parts of an expert are then on every (ep expert-tp)-th shard.
 */
#ifndef RA_GRAPH_AUGMENT_REALLOC_IMPL_H
#define RA_GRAPH_AUGMENT_REALLOC_IMPL_H

#include "graph/augment/layout.h"
#include "graph/augment/realloc.h"

/* Side of a reallocation: the parts that each GPU holds or needs. */
typedef struct {
  uint32_t pp;         /* pipeline ranks */
  uint32_t tp;         /* tensor-parallel ranks */
  uint32_t ep;         /* expert-parallel ranks */
  uint32_t expert_tp;  /* ranks that cut an expert */
  uint32_t zero;       /* parts of a tensor-parallel rank */
  uint32_t n_shards;   /* tp x zero; without zero 3 tp x period of experts */
  uint32_t n_replicas; /* GPUs of a class */
  uint32_t *gpus;      /* (pp, n_shards, n_replicas) ascending in a class;
                          owned */
  uint32_t *class_of;  /* (cluster GPUs) p * n_shards + shard, RA_NONE; owned */
  RaUnitStages *stages; /* (units) pipeline ranks of each unit; owned */
} RaSide;

/* Set of shards: a run of them from begin on, and again every stride below
 * end. */
typedef struct {
  uint32_t begin;  /* first */
  uint32_t end;    /* one past the last */
  uint32_t run;    /* neighbours */
  uint32_t stride; /* >= run; = run where all from begin to end are in it */
} RaShards;

static inline uint32_t
ra_tensor_shards_n(const RaShards *shards)
{
  return ((shards->end - shards->begin - shards->run) / shards->stride + 1) *
         shards->run;
}

static inline gboolean
ra_tensor_shards_has(const RaShards *shards, uint32_t shard)
{
  return shard >= shards->begin && shard < shards->end &&
         (shard - shards->begin) % shards->stride < shards->run;
}

/* The member after @shard, a member; >= end: it is the last. */
static inline uint32_t
ra_tensor_shards_next(const RaShards *shards, uint32_t shard)
{
  gboolean ends = (shard + 1 - shards->begin) % shards->stride == shards->run;

  return shard + 1 + (ends ? shards->stride - shards->run : 0);
}

/* Piece of a tensor class. */
typedef struct {
  uint32_t class; /* index into the table's classes */
  uint32_t next;  /* next part of the same bundle; RA_NONE: the last */
  RaSpan span;    /* of the split dimension, elements */
  RaSpan members; /* of the class: 0 to 1, or experts */
} RaPart;

typedef struct {
  RaShards from;                      /* source shards that hold the bundle */
  RaShards to;                        /* destination shards that need it */
  uint64_t n_params[RA_N_UNIT_KINDS]; /* in one unit of the kind */
  uint32_t part;                      /* first part */
} RaBundle;

typedef struct {
  RaUnitStages from;     /* source pipeline ranks that hold the units */
  RaUnitStages to;       /* destination pipeline ranks that need them */
  const uint32_t *units; /* (n_units) ascending, in the cut's units */
  uint32_t n_units;      /* >= 1 */
} RaZone;

/* Common partition of the model for two sides. */
typedef struct {
  const RaTensorTable *table; /* borrowed */
  GArray *bundles; /* of RaBundle, by class and span of their first part */
  GArray *parts;   /* of RaPart */
  GArray *zones;   /* of RaZone, by stages */
  uint32_t *units; /* (table->n_units) zone by zone */
  uint32_t hint;   /* bundle found by the last lookup */
} RaCut;

typedef struct {
  uint32_t from;          /* GPU of the cluster */
  uint32_t to;            /* GPU of the cluster */
  uint64_t n_params;      /* elements, > 0 */
  const uint32_t *units;  /* (n_units) units whose bundle moves */
  uint32_t n_units;       /* >= 1 */
  const RaBundle *bundle; /* of the cut */
  const RaCut *cut;       /* for its parts */
} RaFlow;

typedef void (*RaFlowFunc)(const RaFlow *flow, gpointer data);

/* Traffic of each GPU so far, elements. */
typedef struct {
  uint64_t *intra_in;     /* (cluster GPUs) */
  uint64_t *intra_out;    /* (cluster GPUs) */
  uint64_t *inter_in;     /* (cluster GPUs) */
  uint64_t *inter_out;    /* (cluster GPUs) */
  uint64_t held;          /* needed and already in place, summed over GPUs */
  uint32_t n_gpus;        /* of the cluster */
  uint32_t gpus_per_node; /* of the cluster */
} RaTraffic;

/* Adds @flow to the traffic. */
void ra_traffic_add(RaTraffic *traffic, const RaFlow *flow);

/* (transfer full): the side of a call plan. */
RaSide *ra_side_new(const RaTensorTable *table, const RaCallPlan *plan,
                    const RaCluster *cluster);
/* (transfer full): a side where each of @n GPUs, ascending, holds
 * everything. */
RaSide *ra_side_new_whole(const RaTensorTable *table, const uint32_t *gpus,
                          uint32_t n, const RaCluster *cluster);
void ra_side_free(RaSide *side);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSide, ra_side_free)

RaCut *ra_cut_new(const RaTensorTable *table, const RaSide *from,
                  const RaSide *to);
void ra_cut_free(RaCut *cut);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCut, ra_cut_free)

/**
 * ra_realloc_flows_run:
 * @cut: partition for @from and @to, or for sides with the same degrees and
 *   stages
 * @from: sources
 * @to: destinations
 * @relay: BROADCAST: a GPU that has received a piece forwards it within its
 *   node; otherwise only sources send
 * @traffic: (inout): loads by which senders are chosen; updated
 * @func: called for every flow; the sender holds the flow's data, or was the
 *   receiver of an earlier flow
 *
 * Cost: O(zones x bundles x destinations of each).
 */
void ra_realloc_flows_run(const RaCut *cut, const RaSide *from,
                          const RaSide *to, gboolean relay, RaTraffic *traffic,
                          RaFlowFunc func, gpointer data);

/* Sums of flows by (from, to); ra_merge_flow() is a #RaFlowFunc for it. */
typedef struct _RaMerge RaMerge;

RaMerge *ra_merge_new(uint32_t n_gpus, uint32_t gpus_per_node);
void ra_merge_free(RaMerge *merge);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMerge, ra_merge_free)

void ra_merge_flow(const RaFlow *flow, gpointer data);

/* Sets the sorted moves of @realloc, its total and its steps. */
void ra_merge_take(const RaMerge *merge, guint element_bytes,
                   RaRealloc *realloc);

#endif
