/* What the files of experts share.  Private to exec/model/stage_experts*.c. */
#ifndef RA_EXEC_MODEL_STAGE_EXPERTS_IMPL_H
#define RA_EXEC_MODEL_STAGE_EXPERTS_IMPL_H

#include "exec/model/stage_experts.h"

/* Rows lie by expert and of an expert by the rank that they are of: here where
 * they wait, there where their expert is. */
struct _RaExperts {
  RaStage *stage; /* borrowed */
  gsize t;        /* tokens here */
  gsize n_sent;   /* t k */
  gsize n_came;   /* that came here */
  gsize most;     /* that came to one of them, at most */
  RaSpan mine;    /* experts of this rank */
  RaCpuRouting routing;
  RaExpertRows rows;  /* that are worked on here: with shared rows what came to
                       all ranks of the tensor-parallel group */
  uint32_t *counted;  /* (n_experts) the device's, in `rows` */
  uint32_t *choice;   /* (t, k) expert of each, the device's */
  uint32_t *place;    /* (t, k) among the rows that were sent, likewise */
  uint32_t *counts;   /* the host's, (n_ep, n_experts) rows of each rank for
                       each expert, of those that come here: in `all`.
                       Both are set where ranks share experts. */
  uint32_t *all;      /* the same of each rank that shares rows, owned */
  uint32_t n_sharers; /* of them, >= 1 */
  float *probs;       /* (t, n_experts) of the router */
  float *gates;       /* (t, k) weights */
  RaElem *in;         /* (rows, hidden) by expert, then by rank */
  RaElem *gate_up;    /* (rows, 2 expert_ffn) */
  RaElem *active;     /* (rows, expert_ffn) */
  RaElem *back;       /* (n_sent, hidden) what the experts made of each */
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

/* Rows that came to rank @sharer for expert @expert. */
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

/* Rows for expert @expert that came here. */
static inline gsize
ra_experts_rows_came(const RaExperts *e, uint64_t expert)
{
  return ra_experts_rows_of_sharer(e, ra_experts_sharer_of(e), expert);
}

/* Rows for expert @expert of all ranks. */
static inline gsize
ra_experts_rows_for(const RaExperts *e, uint64_t expert)
{
  gsize n = 0;

  for (uint32_t r = 0; r < e->n_sharers; r++)
    n += ra_experts_rows_of_sharer(e, r, expert);
  return n;
}

/* @here (n_sent, hidden) to @rows (e->rows, hidden), where the experts are, and
 * what was made of them back, among ranks that share experts (n_ep > 1):
 * exec/model/stage_experts_move.c. */
void ra_experts_dispatch(const RaExperts *e, RaElem *here, RaElem *rows);
void ra_experts_combine(const RaExperts *e, RaElem *rows, RaElem *here);

#endif
