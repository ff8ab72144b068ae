/* Unknown costs of a plan in a lane, computed on demand. */
#include "config.h"

#include "search/evaluate/evaluate_impl.h"

/* MEASURED: bench/search, asked_cpu_s of so many asked and the rate of
 * proposals, 64 and 16,384 GPUs: proposals in the time of a simulated task, and
 * of a GPU of either mesh of a reallocation. */
#define PROPOSALS_PER_TASK 2
#define PROPOSALS_PER_GPU 8

/* Costs call @c, and what is in the lane for it. */
static void
learn_call(RaEvaluator *e, guint lane, uint32_t c)
{
  const RaLane1 *l = &e->lanes[lane];
  const RaFlatGraphUse *use = l->use;

  ra_cost_table_call_s(e->costs, c, l->point.calls[c].candidate);
  e->mine[c][l->point.calls[c].candidate] = 1;
  ra_simd_fill_own(e, lane, c);
  for (uint32_t i = use->slot_begin[c]; i < use->slot_begin[c + 1]; i++)
    if (use->program->slots[use->slots[i]].kind == RA_NODE_CALL)
      ra_simd_fill_slot(e, lane, use->slots[i]);
}

/* Into what this evaluator has seen. */
static void
ask_realloc(RaEvaluator *e, const RaLane1 *l, uint32_t from, uint32_t to)
{
  gboolean adapters =
      ra_cost_table_moves_adapters(e->costs, to, l->point.residency);
  uint64_t key;
  RaReallocSlot *slot = ra_simd_realloc_slot(e, l, from, to, &key);

  *slot = (RaReallocSlot){
      key, ra_cost_table_realloc_s(e->costs, from, l->point.calls[from], to,
                                   l->point.calls[to], adapters)};
}

static void
learn_realloc(RaEvaluator *e, guint lane, uint32_t c)
{
  const RaLane1 *l = &e->lanes[lane];
  const RaFlatGraphUse *use = l->use;

  for (uint32_t i = use->slot_begin[c]; i < use->slot_begin[c + 1]; i++) {
    const RaFlatGraphSlot *slot = &use->program->slots[use->slots[i]];
    if (slot->kind != RA_NODE_REALLOC || slot->call != c)
      continue;
    ask_realloc(e, l, slot->source, c);
    ra_simd_fill_slot(e, lane, use->slots[i]);
  }
}

void
ra_simd_learn(RaEvaluator *e, guint lane)
{
  RaLane1 *l = &e->lanes[lane];

  for (uint32_t c = 0; c < e->n_calls && (l->unknown | l->unasked); c++) {
    if (l->unknown >> c & 1)
      learn_call(e, lane, c);
    if (l->unasked >> c & 1)
      learn_realloc(e, lane, c);
  }
}

void
ra_evaluator_ask(RaEvaluator *evaluator, guint lane)
{
  RaLane1 *l = &evaluator->lanes[lane];

  if (l->unasked)
    learn_realloc(evaluator, lane, (uint32_t)g_bit_nth_lsf(l->unasked, -1));
  else if (l->unknown)
    learn_call(evaluator, lane, (uint32_t)g_bit_nth_lsf(l->unknown, -1));
}

double
ra_evaluator_ask_price(const RaEvaluator *evaluator, guint lane)
{
  const RaLane1 *l = &evaluator->lanes[lane];
  uint32_t to, from;

  if (l->unasked) {
    to = (uint32_t)g_bit_nth_lsf(l->unasked, -1);
    from = evaluator->trainer[to];
    return PROPOSALS_PER_GPU *
           (double)(l->candidate[from]->n_gpus + l->candidate[to]->n_gpus);
  }
  if (!l->unknown)
    return 0;
  to = (uint32_t)g_bit_nth_lsf(l->unknown, -1);
  return PROPOSALS_PER_TASK *
         ra_cost_table_n_tasks(evaluator->costs, to,
                               l->point.calls[to].candidate);
}

void
ra_evaluator_see(RaEvaluator *evaluator, gint round)
{
  evaluator->round = round;
}
