/* Inside parameter reallocation; only graph/augment/realloc*.c include this.
 *
 * Three nouns keep the cost away from tensors x GPUs:
 *
 *   bundle  what a set of source shards holds and a set of destination
 *           shards needs, of one unit of each kind: the elementary intervals
 *           between the cuts of both layouts, all tensor classes together.
 *           Evenly divided tensors all fall into max(tp, tp') bundles, norms
 *           into one more.
 *   zone    the units that one set of pipeline ranks holds and one needs
 *   flow    bundle x units of a zone, from a GPU to a GPU
 *
 * Every GPU of a side is in one class (pipeline rank, shard); the members of a
 * class, its dp x cp / ep replicas, hold the same.  Shard t ep + e is that of
 * tensor-parallel rank t and expert-parallel rank e: in this order the shards
 * that hold a piece are neighbours, for what is dense (all e of some t) and
 * for experts (one shard).  With zero 3 (never beside ep) shard t z + i is the
 * i-th of the z parts of what rank t has; of a tensor that tp ranks share each
 * has one, so the shards that hold a piece then stand z apart.
 */
#ifndef RA_GRAPH_AUGMENT_REALLOC_IMPL_H
#define RA_GRAPH_AUGMENT_REALLOC_IMPL_H

#include "graph/augment/layout.h"
#include "graph/augment/realloc.h"

/* One side of a reallocation: which GPU holds, or needs, what. */
typedef struct {
  uint32_t pp;         /* pipeline ranks */
  uint32_t tp;         /* tensor-parallel ranks */
  uint32_t ep;         /* expert-parallel ranks */
  uint32_t zero;       /* parts of a tensor-parallel rank; ep or this is 1 */
  uint32_t n_shards;   /* tp ep zero */
  uint32_t n_replicas; /* GPUs of a class */
  uint32_t *gpus;      /* (pp, n_shards, n_replicas) ascending in a class;
                          owned */
  uint32_t *class_of;  /* (cluster GPUs) p * n_shards + shard, RA_NONE; owned */
  RaUnitStages *stages; /* (units) who holds a unit; owned */
} RaSide;

/* Shards begin, begin + stride, ... below end. */
typedef struct {
  uint32_t begin;  /* first */
  uint32_t end;    /* one past the last */
  uint32_t stride; /* 1, or zero of the side */
} RaShards;

static inline uint32_t
ra_tensor_shards_n(const RaShards *shards)
{
  return (shards->end - shards->begin - 1) / shards->stride + 1;
}

static inline gboolean
ra_tensor_shards_has(const RaShards *shards, uint32_t shard)
{
  return shard >= shards->begin && shard < shards->end &&
         (shard - shards->begin) % shards->stride == 0;
}

/* A piece of a tensor class. */
typedef struct {
  uint32_t class; /* index into the table's classes */
  uint32_t next;  /* part of the same bundle, RA_NONE: the last */
  RaSpan span;    /* of the split dimension, elements */
  RaSpan members; /* of the class: 0 to 1, or experts */
} RaPart;

typedef struct {
  RaShards from;                      /* source shards that hold it */
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

/* How two sides cut the model. */
typedef struct {
  const RaTensorTable *table; /* borrowed */
  GArray *bundles; /* of RaBundle, by class and span of their first part */
  GArray *parts;   /* of RaPart */
  GArray *zones;   /* of RaZone, by stages */
  uint32_t *units; /* (table->n_units) zone by zone */
  uint32_t hint;   /* bundle found last */
} RaCut;

typedef struct {
  uint32_t from;          /* GPU of the cluster */
  uint32_t to;            /* GPU of the cluster */
  uint64_t n_params;      /* elements, > 0 */
  const uint32_t *units;  /* (n_units) whose bundle travels */
  uint32_t n_units;       /* >= 1 */
  const RaBundle *bundle; /* of the cut */
  const RaCut *cut;       /* for its parts */
} RaFlow;

typedef void (*RaFlowFunc)(const RaFlow *flow, gpointer data);

/* What each GPU has sent and received so far, elements. */
typedef struct {
  uint64_t *intra_in;     /* (cluster GPUs) */
  uint64_t *intra_out;    /* (cluster GPUs) */
  uint64_t *inter_in;     /* (cluster GPUs) */
  uint64_t *inter_out;    /* (cluster GPUs) */
  uint64_t held;          /* needed and in place, summed over GPUs */
  uint32_t n_gpus;        /* of the cluster */
  uint32_t gpus_per_node; /* of the cluster */
} RaTraffic;

/* Adds @flow to the loads. */
void ra_traffic_add(RaTraffic *traffic, const RaFlow *flow);

/* A call plan's side, (transfer full). */
RaSide *ra_side_new(const RaTensorTable *table, const RaCallPlan *plan,
                    const RaCluster *cluster);
/* Each of @n GPUs, ascending, holds everything; (transfer full). */
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
 * @cut: of @from and @to, or of sides with the same degrees and stages
 * @from: sources
 * @to: destinations
 * @relay: BROADCAST: a GPU that has received a piece sends it on within its
 *   node; otherwise only sources send
 * @traffic: (inout): the loads that decide who sends, brought up to date
 * @func: told of every flow; a flow's sender holds it, or was an earlier
 *   flow's receiver
 *
 * Cost: O(zones x bundles x destinations of each).
 */
void ra_realloc_flows_run(const RaCut *cut, const RaSide *from,
                          const RaSide *to, gboolean relay, RaTraffic *traffic,
                          RaFlowFunc func, gpointer data);

/* Flows summed by (from, to); ra_merge_flow() is a #RaFlowFunc for it. */
typedef struct _RaMerge RaMerge;

RaMerge *ra_merge_new(uint32_t n_gpus, uint32_t gpus_per_node);
void ra_merge_free(RaMerge *merge);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMerge, ra_merge_free)

void ra_merge_flow(const RaFlow *flow, gpointer data);

/* Sets the moves of @realloc, sorted, its total and its steps. */
void ra_merge_take(const RaMerge *merge, guint element_bytes,
                   RaRealloc *realloc);

#endif
