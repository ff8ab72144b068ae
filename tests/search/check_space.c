/* The space of plans: what is a candidate, and why the rest is none. */
#include "config.h"

#include <string.h>

#include "search/evaluate/cost_table.h"
#include "study/contest/rejected.h"
#include "study/setup.h"
#include "tests/support/check_main.h"

enum { N_ITERATIONS = 2, SEED = 1 };

typedef struct {
  RaSetup *setup;
  RaSpace *space;
} Case;

static void
case_init(Case *c, const char *workload, const char *const *sets,
          const char *const *limits)
{
  RaSetupFlags flags = {
      .workload = workload, .cluster = "h100-16n.cluster", .sets = sets};
  RaSpaceOptions options = {
      .kind = RA_SPACE_FULL, .n_iterations = N_ITERATIONS, .seed = SEED};
  g_autoptr(GArray) parsed = g_array_new(FALSE, FALSE, sizeof(RaLimit));
  GError *error = NULL;

  c->setup = ra_setup_load_pair(&flags, &error);
  ck_assert_msg(c->setup != NULL, "%s", error ? error->message : "");
  for (guint i = 0; limits && limits[i]; i++)
    ck_assert_msg(ra_limits_add(parsed, limits[i], c->setup->workload,
                                c->setup->cluster, &error),
                  "%s", error ? error->message : "");
  options.limits = (const RaLimit *)(void *)parsed->data;
  options.n_limits = parsed->len;
  c->space =
      ra_space_new(c->setup->workload, c->setup->cluster, &options, &error);
  ck_assert_msg(c->space != NULL, "%s", error ? error->message : "");
}

static void
case_clear(Case *c)
{
  ra_space_free(c->space);
  ra_setup_free(c->setup);
}

static const char *const small[] = {"cluster.nodes=2", "workload.prompts=64",
                                    NULL};

/* A shape that was tried is a candidate or has a reason; reasons are counted as
 * they are listed. The fault: one reason left out. */
START_TEST(all_accounted)
{
  Case c;
  guint n_over = 0;

  case_init(&c, "ppo-llama2-7b.workload", small, NULL);
  for (guint call = 0; call < c.setup->workload->n_calls; call++) {
    const RaSpaceCall *k = &c.space->calls[call];
    g_autoptr(GArray) all = ra_space_rejected(c.space, call);
    uint32_t n[RA_N_REJECTS] = {0};

    ck_assert_uint_eq(k->n + all->len, k->n_tried);
    for (guint i = 0; i < all->len; i++) {
      const RaRejection *r = &g_array_index(all, RaRejection, i);

      n[r->reason]++;
      n_over += r->reason == RA_REJECT_MEMORY;
      ck_assert((r->needs_bytes > r->has_bytes) ==
                (r->reason == RA_REJECT_MEMORY));
      ck_assert_ptr_nonnull(r->rule);
    }
    ck_assert_mem_eq(n, k->n_rejected, sizeof n);
    n[RA_REJECT_MEMORY]++;
    ck_assert_mem_ne(n, k->n_rejected, sizeof n);
  }
  ck_assert_uint_gt(n_over, 0);
  case_clear(&c);
}
END_TEST

/* --- what is left out because another is never worse --- */

/* TRUE if @a and @b differ in zero and recomputation alone. */
static gboolean
are_alike(const RaCandidate *a, const RaCandidate *b)
{
  const RaCallPlan *x = &a->plan, *y = &b->plan;

  return a->n_gpus == b->n_gpus && x->dp == y->dp && x->tp == y->tp &&
         x->pp == y->pp && x->cp == y->cp && x->schedule == y->schedule &&
         x->n_virtual == y->n_virtual &&
         x->n_micro_batches == y->n_micro_batches &&
         x->sequence_parallel == y->sequence_parallel;
}

/* TRUE if @a is as fast and as small as @b on every GPU. */
static gboolean
dominates(RaCostTable *costs, uint32_t call, uint32_t a, uint32_t b)
{
  const RaCandidate *all = ra_cost_table_space(costs)->calls[call].candidates;
  const RaFootprint *x = &all[a].footprint, *y = &all[b].footprint;

  for (uint32_t s = 0; s < x->n_stages; s++)
    for (guint k = 0; k < RA_N_FEET; k++)
      if (x->stages[s].bytes[k] > y->stages[s].bytes[k])
        return FALSE;
  return ra_cost_table_call_s(costs, call, a)[0] <=
         ra_cost_table_call_s(costs, call, b)[0];
}

/* All pairs of which the rules say that the first dominates; @is: of the two.
 * Returns how many there are. */
static guint
check_pairs(const Case *c, RaCostTable *costs, uint32_t call,
            gboolean (*is)(const RaCallPlan *better, const RaCallPlan *worse))
{
  const RaSpaceCall *k = &c->space->calls[call];
  guint n = 0;

  for (uint32_t b = 0; b < k->n; b++)
    for (uint32_t a = 0; a < k->n; a++) {
      const RaCallPlan *p = &k->candidates[a].plan;

      if (!is(p, &k->candidates[b].plan) ||
          !are_alike(&k->candidates[a], &k->candidates[b]))
        continue;
      n++;
      ck_assert_msg(dominates(costs, call, a, b),
                    "%u GPUs tp %u pp %u cp %u micro-batches %u: %g, %g s",
                    k->candidates[a].n_gpus, p->tp, p->pp, p->cp,
                    p->n_micro_batches, ra_cost_table_call_s(costs, call, a)[0],
                    ra_cost_table_call_s(costs, call, b)[0]);
    }
  return n;
}

static gboolean
none_for_selective(const RaCallPlan *better, const RaCallPlan *worse)
{
  return better->zero == worse->zero &&
         better->recompute == RA_RECOMPUTE_NONE &&
         worse->recompute == RA_RECOMPUTE_SELECTIVE;
}

static gboolean
one_for_zero(const RaCallPlan *better, const RaCallPlan *worse)
{
  return better->zero == 1 && worse->zero == 0 &&
         better->recompute == worse->recompute;
}

/* A limit that names them makes candidates of them. */
START_TEST(dominated)
{
  const char *limits[] = {"actor_train.zero=0,1",
                          "actor_train.recompute=none,selective",
                          "actor_train.gpus=4,16", NULL};
  Case c;
  RaCostTable *costs;
  uint32_t call;
  GError *error = NULL;
  guint n_undominated = 0;

  case_init(&c, "ppo-llama2-7b.workload", small, limits);
  call = ra_workload_find_call(c.setup->workload, "actor_train");
  costs = ra_cost_table_new(c.space, c.setup->estimator, 1, &error);
  ck_assert_ptr_nonnull(costs);
  ck_assert_uint_gt(check_pairs(&c, costs, call, none_for_selective), 50);
  ck_assert_uint_gt(check_pairs(&c, costs, call, one_for_zero), 50);
  /* The fault: of any two one does not dominate the other. */
  for (uint32_t i = 0; i + 1 < c.space->calls[call].n; i++)
    n_undominated += !dominates(costs, call, i + 1, i) &&
                     are_alike(&c.space->calls[call].candidates[i],
                               &c.space->calls[call].candidates[i + 1]);
  ck_assert_uint_gt(n_undominated, 10);
  ra_cost_table_free(costs);
  case_clear(&c);
}
END_TEST

/* --- limits --- */

/* Every key of a limit leaves what it says, of a call that has it. */
START_TEST(limited)
{
  const char *limits[] = {"actor_train.schedule=gpipe,interleaved:2",
                          "actor_train.cp=1",
                          "actor_train.sequence-parallel=false",
                          "critic_train.cp=2",
                          "critic_train.zero=2",
                          "ref_inference.ep=1",
                          NULL};
  Case c;
  guint n_gpipe = 0;
  uint32_t actor, critic;

  case_init(&c, "ppo-llama2-7b.workload", small, limits);
  actor = ra_workload_find_call(c.setup->workload, "actor_train");
  critic = ra_workload_find_call(c.setup->workload, "critic_train");
  for (uint32_t i = 0; i < c.space->calls[actor].n; i++) {
    const RaCallPlan *p = &c.space->calls[actor].candidates[i].plan;

    n_gpipe += p->schedule == RA_SCHEDULE_GPIPE;
    ck_assert_int_ne(p->schedule, RA_SCHEDULE_1F1B);
    ck_assert_uint_le(p->n_virtual, 2);
    ck_assert_uint_eq(p->cp, 1);
    ck_assert(!p->sequence_parallel);
  }
  ck_assert_uint_gt(n_gpipe, 0);
  for (uint32_t i = 0; i < c.space->calls[critic].n; i++) {
    ck_assert_uint_eq(c.space->calls[critic].candidates[i].plan.cp, 2);
    ck_assert_int_eq(c.space->calls[critic].candidates[i].plan.zero, 2);
  }
  case_clear(&c);
}
END_TEST

static Suite *
space_suite(void)
{
  Suite *s = suite_create("space");
  TCase *t = tcase_create("candidates");

  tcase_set_timeout(t, 300);
  tcase_add_test(t, all_accounted);
  tcase_add_test(t, dominated);
  tcase_add_test(t, limited);
  suite_add_tcase(s, t);
  return s;
}

RA_CHECK_MAIN(space_suite)
