/* Swaps: a plan with single choices of another plan. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "graph/input/plan_write.h"
#include "sim/breakdown.h"
#include "study/contest/swap.h"
#include "study/memory_verdict.h"

/* Setup into which both plans are read. */
typedef struct {
  RaSetup *setup;
  RaReplayOptions options;
  RaPlan *winner; /* owned */
} Search;

/* "node[0-7] tp8 dp8, 4 micro-batches"; (transfer full). */
static char *
describe(const RaCallPlan *plan, const RaCluster *cluster)
{
  static const char *const recompute[] = {"", ", selective", ", full"};
  g_autofree char *mesh = NULL, *strategy = NULL, *steps = NULL;

  if (!plan->set)
    return g_strdup("host");
  mesh = ra_mesh_format(&plan->mesh, cluster);
  strategy = ra_strategy_format(plan);
  if (plan->n_mini_batches > 0)
    steps = g_strdup_printf(", %" PRIu32 " mini", plan->n_mini_batches);
  return g_strdup_printf("%s %s, %" PRIu32 " mb%s%s", mesh, strategy,
                         plan->n_micro_batches, recompute[plan->recompute],
                         steps ? steps : "");
}

/* Replays the plan that the setup has. */
static gboolean
replay(const Search *s, double *out_s, gboolean *out_fits, GError **error)
{
  g_autoptr(RaReplay) run = ra_replay_new(s->setup, &s->options, error);
  g_autoptr(RaBreakdown) breakdown = NULL;
  g_autoptr(RaMemoryVerdict) fit = NULL;

  if (!run)
    return FALSE;
  breakdown = ra_breakdown_new(run->sim, run->graph);
  fit = ra_memory_verdict_new(s->setup, NULL, run);
  *out_s = breakdown->iteration_s;
  *out_fits = fit->fits;
  return TRUE;
}

/* TRUE if two plans differ in @call: written with that one call of the other,
 * they are not equal. */
static gboolean
differs(const RaPlan *loser, const RaPlan *winner, uint32_t call)
{
  RaCallPlan own = loser->calls[call];
  g_autofree RaCallPlan *calls =
      g_memdup2(loser->calls, loser->workload->n_calls * sizeof *calls);
  RaPlan mixed = *loser;

  calls[call] = winner->calls[call];
  calls[call].group = own.group;
  mixed.calls = calls;
  return !ra_plan_equal(loser, &mixed);
}

/* The loser's plan with @call as the winner has it; (transfer full). */
static char *
mix(const RaPlan *loser, const RaPlan *winner, uint32_t call, GError **error)
{
  const RaPlanWords words = {.workload = "w.workload", .cluster = "c.cluster"};
  g_autofree RaCallPlan *calls =
      g_memdup2(loser->calls, loser->workload->n_calls * sizeof *calls);
  RaPlan mixed = *loser;

  calls[call] = winner->calls[call];
  mixed.calls = calls;
  return ra_plan_write(&mixed, &words, error);
}

static void
try_swap(Search *s, const char *loser, double loser_s, uint32_t call,
         RaSwap *out)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *text = NULL;

  text = mix(s->setup->plan, s->winner, call, &error);
  if (text && ra_setup_read_plan(s->setup, "the plan", text, &error) &&
      replay(s, &out->iteration_s, &out->fits, &error))
    out->saved_s = loser_s - out->iteration_s;
  else
    out->refusal = g_strdup(error->message);
  /* It was read once and is read again. */
  if (!ra_setup_read_plan(s->setup, "the plan", loser, NULL))
    g_assert_not_reached();
}

static int
compare_swaps(const void *a, const void *b)
{
  const RaSwap *x = a, *y = b;
  gboolean good_x = !x->refusal && x->fits, good_y = !y->refusal && y->fits;

  if (good_x != good_y)
    return good_x ? -1 : 1;
  if (good_x && x->saved_s > y->saved_s)
    return -1;
  if (good_x && x->saved_s < y->saved_s)
    return 1;
  return x->call < y->call ? -1 : 1;
}

static gboolean
try_all(Search *s, const char *loser, RaSwaps *swaps, GError **error)
{
  const RaWorkload *workload = s->setup->workload;
  gboolean fits;

  if (!replay(s, &swaps->iteration_s, &fits, error))
    return FALSE;
  for (uint32_t c = 0; c < workload->n_calls; c++) {
    RaSwap swap = {
        .call = c, .iteration_s = (double)NAN, .saved_s = (double)NAN};

    if (!differs(s->setup->plan, s->winner, c))
      continue;
    swap.mine = describe(&s->setup->plan->calls[c], s->setup->cluster);
    swap.theirs = describe(&s->winner->calls[c], s->setup->cluster);
    try_swap(s, loser, swaps->iteration_s, c, &swap);
    swaps->rows[swaps->n++] = swap;
  }
  qsort(swaps->rows, swaps->n, sizeof *swaps->rows, compare_swaps);
  return TRUE;
}

RaSwaps *
ra_swaps_new(RaSetup *setup, const char *loser, const char *winner,
             uint32_t n_iterations, uint64_t seed, GError **error)
{
  Search s = {.setup = setup,
              .options = {.n_iterations = n_iterations,
                          .fidelity = RA_FIDELITY_STAGE,
                          .seed = seed}};
  g_autoptr(RaSwaps) swaps = g_new0(RaSwaps, 1);
  gboolean ok;

  swaps->workload = setup->workload;
  swaps->rows = g_new0(RaSwap, setup->workload->n_calls);
  if (!ra_setup_read_plan(setup, "the winner", winner, error))
    return NULL;
  s.winner = g_steal_pointer(&setup->plan);
  ok = ra_setup_read_plan(setup, "the plan", loser, error) &&
       try_all(&s, loser, swaps, error);
  ra_plan_free(s.winner);
  return ok ? g_steal_pointer(&swaps) : NULL;
}

void
ra_swaps_free(RaSwaps *swaps)
{
  if (!swaps)
    return;
  for (guint i = 0; i < swaps->n; i++) {
    g_free(swaps->rows[i].mine);
    g_free(swaps->rows[i].theirs);
    g_free(swaps->rows[i].refusal);
  }
  g_free(swaps->rows);
  g_free(swaps);
}

RaTable *
ra_swaps_table(const RaSwaps *swaps)
{
  RaTable *table = ra_table_new("changes");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "runner_up", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "winner", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "saved_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "note", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < swaps->n; i++) {
    const RaSwap *swap = &swaps->rows[i];

    ra_table_row(table);
    ra_table_text(table, swaps->workload->calls[swap->call].name);
    ra_table_text(table, swap->mine);
    ra_table_text(table, swap->theirs);
    ra_table_real(table, swap->iteration_s);
    ra_table_real(table, swap->saved_s / swaps->iteration_s);
    ra_table_text(table, swap->refusal ? swap->refusal
                         : !swap->fits ? "does not fit"
                                       : "");
  }
  return table;
}
