/* Moves of rows to experts and back. */
#include "config.h"

#include "exec/comm/device_comm.h"
#include "exec/model/stage_experts_impl.h"

/* (n) rows. */
static void
copy_rows(const RaExperts *e, RaElem *to, const RaElem *from, gsize n)
{
  const RaBackend *b = e->stage->backend;

  if (n > 0)
    b->copy(to, from, n * e->stage->model->hidden * b->elem_bytes);
}

/* Row @i of @rows. */
static RaElem *
row_at(const RaExperts *e, RaElem *rows, gsize i)
{
  return ra_stage_at(e->stage, rows, i * e->stage->model->hidden);
}

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
sort_rows(const RaExperts *e, uint32_t rank, RaElem *at_experts,
          RaElem *of_rank, gboolean to_expert)
{
  for (uint64_t x = e->mine.begin; x < e->mine.end; x++) {
    gsize n = ra_experts_count_of(e, rank, x), before = 0;
    RaElem *at;

    for (uint32_t r = 0; r < rank; r++)
      before += ra_experts_count_of(e, r, x);
    at = row_at(e, at_experts, before);
    if (to_expert)
      copy_rows(e, at, of_rank, n);
    else
      copy_rows(e, of_rank, at, n);
    of_rank = row_at(e, of_rank, n);
    at_experts = row_at(e, at_experts, ra_experts_rows_came(e, x));
  }
}

/* The same of all other ranks' rows, @packed by rank. */
static void
sort_others(const RaExperts *e, RaElem *at_experts, RaElem *packed,
            gboolean to_expert)
{
  uint32_t me = ra_experts_rank_of(e);

  for (uint32_t r = 0; r < e->stage->n_ep; r++) {
    if (r != me)
      sort_rows(e, r, at_experts, packed, to_expert);
    packed = row_at(e, packed, rows_between(e, r, me));
  }
}

/* All-to-all: @here (n_sent, hidden) to or from @there (n_came, hidden).  All
 * receives start before anything is packed. */
static void
exchange(const RaExperts *e, RaElem *here, RaElem *there, gboolean to_expert)
{
  RaStage *s = e->stage;
  gsize row = s->model->hidden * s->backend->elem_bytes, to_me = 0;
  uint32_t me = ra_experts_rank_of(e);
  double start = ra_stage_begin(s);
  g_autofree gsize *ours = g_new(gsize, s->n_ep);
  g_autofree gsize *theirs = g_new(gsize, s->n_ep);
  RaDeviceExchange *going;
  RaElem *packed;

  for (uint32_t r = 0; r < s->n_ep; r++) {
    ours[r] = rows_between(e, me, r) * row;
    theirs[r] = rows_between(e, r, me) * row;
    to_me += r < me ? rows_between(e, me, r) : 0;
  }
  packed = ra_stage_take(s, e->n_came * s->model->hidden);
  going = ra_device_comm_start_all_to_all(
      s->backend, s->ep, to_expert ? packed : here, to_expert ? theirs : ours);
  s->n_ahead += s->n_ep - 1;
  sort_rows(e, me, there, row_at(e, here, to_me), to_expert);
  if (!to_expert)
    sort_others(e, there, packed, FALSE);
  ra_device_comm_end_all_to_all(going, to_expert ? here : packed,
                                to_expert ? ours : theirs);
  if (to_expert)
    sort_others(e, there, packed, TRUE);
  ra_stage_give(s, packed);
  ra_stage_record(s, RA_OP_ALL_TO_ALL, start, e->n_sent * row, s->n_ep, 0, 0);
}

/* Between what came to each rank that shares rows, (n_sharers, most, hidden),
 * and all of it by expert, @rows (n_rows, hidden). */
static void
sort_sharers(const RaExperts *e, RaElem *by_sharer, RaElem *rows,
             gboolean to_expert)
{
  g_autofree gsize *at = g_new0(gsize, e->n_sharers);

  for (uint64_t x = e->mine.begin; x < e->mine.end; x++)
    for (uint32_t r = 0; r < e->n_sharers; r++) {
      gsize n = ra_experts_rows_of_sharer(e, r, x);
      RaElem *of_sharer = row_at(e, by_sharer, r * e->most + at[r]);

      if (to_expert)
        copy_rows(e, rows, of_sharer, n);
      else
        copy_rows(e, of_sharer, rows, n);
      rows = row_at(e, rows, n);
      at[r] += n;
    }
}

/* Gathers the rows received here, @came (n_came, hidden), and by the other
 * ranks that share rows, into @rows (n_rows, hidden). */
static void
gather_sharers(const RaExperts *e, const RaElem *came, RaElem *rows)
{
  RaStage *s = e->stage;
  gsize row = s->model->hidden * s->backend->elem_bytes;
  double start = ra_stage_begin(s);
  RaElem *all = ra_stage_take(s, e->n_sharers * e->most * s->model->hidden);
  RaElem *mine = row_at(e, all, ra_experts_sharer_of(e) * e->most);

  copy_rows(e, mine, came, e->n_came);
  ra_device_comm_all_gather(s->backend, s->tp, mine, all, e->most * row);
  sort_sharers(e, all, rows, TRUE);
  ra_stage_give(s, all);
  ra_stage_record(s, RA_OP_ALL_GATHER, start, e->rows.n_rows * row, s->n_tp, 0,
                  0);
}

/* The sum over the ranks that share rows of their parts @rows (n_rows, hidden)
 * of what came here, to @came (n_came, hidden). */
static void
sum_sharers(const RaExperts *e, RaElem *rows, RaElem *came)
{
  RaStage *s = e->stage;
  gsize hidden = s->model->hidden, row = hidden * s->backend->elem_bytes;
  double start = ra_stage_begin(s);
  RaElem *all = ra_stage_take(s, e->n_sharers * e->most * hidden);
  RaElem *sum = ra_stage_take(s, e->most * hidden);

  s->backend->zero(all, e->n_sharers * e->most * row);
  sort_sharers(e, all, rows, FALSE);
  ra_device_comm_reduce_scatter(s->backend, s->tp, all, sum, e->most * hidden);
  copy_rows(e, came, sum, e->n_came);
  ra_stage_give(s, sum);
  ra_stage_give(s, all);
  ra_stage_record(s, RA_OP_REDUCE_SCATTER, start, e->rows.n_rows * row, s->n_tp,
                  0, 0);
}

void
ra_experts_dispatch(const RaExperts *e, RaElem *here, RaElem *rows)
{
  RaElem *came;

  if (e->n_sharers == 1) {
    exchange(e, here, rows, TRUE);
    return;
  }
  came = ra_stage_take(e->stage, e->n_came * e->stage->model->hidden);
  exchange(e, here, came, TRUE);
  gather_sharers(e, came, rows);
  ra_stage_give(e->stage, came);
}

void
ra_experts_combine(const RaExperts *e, RaElem *rows, RaElem *here)
{
  RaElem *came;

  if (e->n_sharers == 1) {
    exchange(e, here, rows, FALSE);
    return;
  }
  came = ra_stage_take(e->stage, e->n_came * e->stage->model->hidden);
  sum_sharers(e, rows, came);
  exchange(e, here, came, FALSE);
  ra_stage_give(e->stage, came);
}
