/* Rows on their way to experts and back. */
#include "config.h"

#include <string.h>

#include "exec/stage_experts_impl.h"

/* Rows of @rank for the experts of @owner. */
static gsize
rows_between(const RaExperts *e, uint32_t rank, uint32_t owner)
{
  gsize per_rank = e->mine.end - e->mine.begin, n = 0;

  for (gsize x = owner * per_rank; x < (owner + 1) * per_rank; x++)
    n += ra_experts_count_of(e, rank, x);
  return n;
}

/* Between the rows at their experts, by expert and then by rank, and those of
 * one rank, by expert; @to_expert: the latter to the former. */
static void
sort_rows(const RaExperts *e, uint32_t rank, float *at_experts, float *of_rank,
          gboolean to_expert)
{
  gsize hidden = e->stage->model->hidden;

  for (uint64_t x = e->mine.begin; x < e->mine.end; x++) {
    gsize n = ra_experts_count_of(e, rank, x) * hidden;
    float *at = at_experts;

    for (uint32_t r = 0; r < rank; r++)
      at += ra_experts_count_of(e, r, x) * hidden;
    if (to_expert)
      memcpy(at, of_rank, n * sizeof *at);
    else
      memcpy(of_rank, at, n * sizeof *at);
    of_rank += n;
    at_experts += ra_experts_rows_came(e, x) * hidden;
  }
}

/* Where the rows for @owner begin among those of this rank. */
static float *
rows_to(const RaExperts *e, float *rows, uint32_t owner)
{
  for (uint32_t r = 0; r < owner; r++)
    rows += rows_between(e, ra_experts_rank_of(e), r) * e->stage->model->hidden;
  return rows;
}

/* All-to-all: @here (n_sent, hidden) to or from @there (n_came, hidden).  All
 * that comes is asked for before anything is packed, and what leaves is sent
 * before anything is waited for. */
static void
exchange(const RaExperts *e, float *here, float *there, gboolean to_expert)
{
  RaStage *s = e->stage;
  gsize row = s->model->hidden * sizeof *here;
  uint32_t me = ra_experts_rank_of(e);
  double start = ra_stage_begin(s);
  g_autofree RaCommRequest **coming = g_new0(RaCommRequest *, s->n_ep + 1);
  g_autofree float **arrived = g_new0(float *, s->n_ep + 1);

  for (uint32_t r = 0; r < s->n_ep; r++) {
    gsize n = to_expert ? rows_between(e, r, me) : rows_between(e, me, r);

    if (r == me)
      continue;
    arrived[r] = to_expert ? g_malloc(n * row + 1) : rows_to(e, here, r);
    coming[r] = s->ep->table->start_recv(s->ep, r, arrived[r], n * row);
    s->n_ahead++;
  }
  for (uint32_t r = 0; r < s->n_ep; r++) {
    gsize theirs = rows_between(e, r, me), ours = rows_between(e, me, r);
    g_autofree float *packed = NULL;

    if (r == me) {
      sort_rows(e, me, there, rows_to(e, here, me), to_expert);
    } else if (to_expert) {
      s->ep->table->send(s->ep, r, rows_to(e, here, r), ours * row);
    } else {
      packed = g_malloc(theirs * row + 1);
      sort_rows(e, r, there, packed, FALSE);
      s->ep->table->send(s->ep, r, packed, theirs * row);
    }
  }
  for (uint32_t r = 0; r < s->n_ep; r++) {
    if (r == me)
      continue;
    s->ep->table->wait(s->ep, coming[r]);
    if (!to_expert)
      continue;
    sort_rows(e, r, there, arrived[r], TRUE);
    g_free(arrived[r]);
  }
  if (s->n_ep > 1)
    ra_stage_record(s, RA_OP_ALL_TO_ALL, start, e->n_sent * row, s->n_ep, 0, 0);
}

/* Between what came to each rank that shares rows, (n_sharers, most, hidden),
 * and all of it by expert, @rows (n_rows, hidden). */
static void
sort_sharers(const RaExperts *e, float *by_sharer, float *rows,
             gboolean to_expert)
{
  gsize hidden = e->stage->model->hidden;
  g_autofree gsize *at = g_new0(gsize, e->n_sharers);

  for (uint64_t x = e->mine.begin; x < e->mine.end; x++)
    for (uint32_t r = 0; r < e->n_sharers; r++) {
      gsize n = ra_experts_rows_of_sharer(e, r, x) * hidden;
      float *of_sharer = by_sharer + r * e->most * hidden + at[r];

      if (to_expert)
        memcpy(rows, of_sharer, n * sizeof *rows);
      else
        memcpy(of_sharer, rows, n * sizeof *rows);
      rows += n;
      at[r] += n;
    }
}

/* What has come here, @came (n_came, hidden), and to the other ranks that share
 * rows, to @rows (n_rows, hidden). */
static void
gather_sharers(const RaExperts *e, const float *came, float *rows)
{
  RaStage *s = e->stage;
  gsize n = e->most * s->model->hidden;
  double start = ra_stage_begin(s);
  float *all = ra_experts_take(s, e->n_sharers * n);
  float *mine = all + ra_experts_sharer_of(e) * n;

  memcpy(mine, came, e->n_came * s->model->hidden * sizeof *mine);
  s->tp->table->all_gather(s->tp, mine, all, n * sizeof *mine);
  sort_sharers(e, all, rows, TRUE);
  ra_stage_give(s, all);
  ra_stage_record(s, RA_OP_ALL_GATHER, start,
                  e->n_rows * s->model->hidden * sizeof *rows, s->n_tp, 0, 0);
}

/* The sum over the ranks that share rows of their parts @rows (n_rows, hidden)
 * of what came here, to @came (n_came, hidden). */
static void
sum_sharers(const RaExperts *e, float *rows, float *came)
{
  RaStage *s = e->stage;
  gsize n = e->most * s->model->hidden;
  double start = ra_stage_begin(s);
  float *all = ra_experts_take(s, e->n_sharers * n),
        *sum = ra_experts_take(s, n);

  memset(all, 0, e->n_sharers * n * sizeof *all);
  sort_sharers(e, all, rows, FALSE);
  s->tp->table->reduce_scatter(s->tp, all, sum, n);
  memcpy(came, sum, e->n_came * s->model->hidden * sizeof *came);
  ra_stage_give(s, sum);
  ra_stage_give(s, all);
  ra_stage_record(s, RA_OP_REDUCE_SCATTER, start,
                  e->n_rows * s->model->hidden * sizeof *rows, s->n_tp, 0, 0);
}

void
ra_experts_dispatch(const RaExperts *e, float *here, float *rows)
{
  float *came;

  if (e->n_sharers == 1) {
    exchange(e, here, rows, TRUE);
    return;
  }
  came = ra_experts_take(e->stage, e->n_came * e->stage->model->hidden);
  exchange(e, here, came, TRUE);
  gather_sharers(e, came, rows);
  ra_stage_give(e->stage, came);
}

void
ra_experts_combine(const RaExperts *e, float *rows, float *here)
{
  float *came;

  if (e->n_sharers == 1) {
    exchange(e, here, rows, FALSE);
    return;
  }
  came = ra_experts_take(e->stage, e->n_came * e->stage->model->hidden);
  sum_sharers(e, rows, came);
  exchange(e, here, came, FALSE);
  ra_stage_give(e->stage, came);
}
