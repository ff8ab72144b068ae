/* Shared declarations of exec/model/stage_experts*.c, which they are private
 * to. */
#ifndef RA_EXEC_MODEL_STAGE_EXPERTS_IMPL_H
#define RA_EXEC_MODEL_STAGE_EXPERTS_IMPL_H

#include "exec/model/stage_experts.h"

/* Rows are ordered by expert and, within an expert, by the rank that they
 * belong to: both on the sending rank and on the expert's. */
struct _RaExperts {
  RaStage *stage; /* borrowed */
  gsize t;        /* tokens here */
  gsize n_sent;   /* rows sent: t k */
  gsize n_came;   /* rows received */
  gsize most;     /* rows received for one expert, at most */
  RaSpan mine;    /* experts of this rank */
  RaCpuRouting routing;
  RaExpertRows rows;  /* rows computed here; with shared rows, those received by
                         all ranks of the tensor-parallel group */
  uint32_t *counted;  /* (n_experts) in device memory, part of rows */
  uint32_t *choice;   /* (t, k) expert of each, in device memory */
  uint32_t *place;    /* (t, k) index among the sent rows, likewise */
  uint32_t *counts;   /* (n_ep, n_experts) in host memory: rows from each rank
                         for each expert here; part of all.  Both are set if
                         ranks share experts. */
  uint32_t *all;      /* the same for each rank that shares rows, owned */
  uint32_t n_sharers; /* number of these ranks, >= 1 */
  float *probs;       /* (t, n_experts) probabilities of the router */
  float *gates;       /* (t, k) weights */
  RaElem *in;         /* (rows, hidden) by expert, then by rank */
  RaElem *gate_up;    /* (rows, 2 expert_ffn) */
  RaElem *active;     /* (rows, expert_ffn) */
  RaElem *back;       /* (n_sent, hidden) outputs of the experts */
};

/* Rows of rank @rank for expert @expert. */
static inline gsize
ra_experts_count_of(const RaExperts *e, uint32_t rank, uint64_t expert)
{
  return e->counts[rank * (gsize)e->stage->model->n_experts + expert];
}

static inline uint32_t
ra_experts_rank_of(const RaExperts *e)
{
  return e->stage->ep ? e->stage->ep->rank : 0;
}

/* Rows that rank @sharer received for expert @expert. */
static inline gsize
ra_experts_rows_of_sharer(const RaExperts *e, uint32_t sharer, uint64_t expert)
{
  gsize n_experts = e->stage->model->n_experts, n = 0;
  const uint32_t *at = e->all + sharer * e->stage->n_ep * n_experts + expert;

  for (uint32_t r = 0; r < e->stage->n_ep; r++)
    n += at[r * n_experts];
  return n;
}

static inline uint32_t
ra_experts_sharer_of(const RaExperts *e)
{
  return e->n_sharers > 1 ? e->stage->tp->rank : 0;
}

/* Rows that this rank received for expert @expert. */
static inline gsize
ra_experts_rows_came(const RaExperts *e, uint64_t expert)
{
  return ra_experts_rows_of_sharer(e, ra_experts_sharer_of(e), expert);
}

/* Rows for expert @expert, from all ranks. */
static inline gsize
ra_experts_rows_for(const RaExperts *e, uint64_t expert)
{
  gsize n = 0;

  for (uint32_t r = 0; r < e->n_sharers; r++)
    n += ra_experts_rows_of_sharer(e, r, expert);
  return n;
}

/* Move @here (n_sent, hidden) to @rows (e->rows, hidden) on the ranks of the
 * experts, and the results back, among ranks that share experts (n_ep > 1):
 * exec/model/stage_experts_move.c. */
void ra_experts_dispatch(const RaExperts *e, RaElem *here, RaElem *rows);
void ra_experts_combine(const RaExperts *e, RaElem *rows, RaElem *here);

#endif
