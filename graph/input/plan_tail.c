/* Long-tail keys of a generate call: checks and writing. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "graph/input/plan_tail.h"
#include "graph/input/trips.h"
#include "graph/input/turns.h"

const char *const ra_assignment_words[] = {"order", "length", NULL};
const char *const ra_unfinished_words[] = {"discard", "carry", NULL};
const char *const ra_moved_kv_words[] = {"copy", "recompute", NULL};

static const char *const tail_keys[] = {
    "assignment", "length-prediction", "respread",   "over-sample",
    "unfinished", "migrate-at",        "migrate-to", "moved-kv"};

/* The first of the keys that the plan states, or NULL. */
static const char *
stated_key(const RaPlan *plan, guint group)
{
  for (guint i = 0; i < G_N_ELEMENTS(tail_keys); i++)
    if (ra_key_file_get(plan->file, group, tail_keys[i]))
      return tail_keys[i];
  return NULL;
}

static gboolean
states(const RaPlan *plan, guint group, const char *key)
{
  return ra_key_file_get(plan->file, group, key) != NULL;
}

/* A key that another one gives its meaning, which may be there and off. */
static gboolean
check_companions(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCallPlan *p = &plan->calls[call];
  const RaTail *t = &p->tail;
  const struct {
    const char *key, *wanted;
    gboolean has_meaning;
  } rows[] = {
      {"length-prediction", "'assignment = length'",
       states(plan, p->group, "assignment")},
      {"unfinished", "'over-sample'", states(plan, p->group, "over-sample")},
      {"migrate-to", "'migrate-at'", states(plan, p->group, "migrate-at")},
      {"moved-kv", "'respread' or 'migrate-at'",
       states(plan, p->group, "respread") ||
           states(plan, p->group, "migrate-at")},
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
    if (!rows[i].has_meaning &&
        ra_key_file_get(plan->file, p->group, rows[i].key))
      return ra_key_file_fail(plan->file, p->group, rows[i].key, error,
                              "'%s' alone, expected %s too", rows[i].key,
                              rows[i].wanted);
  if (t->n_respreads > 0 && t->migrate_frac > 0)
    return ra_key_file_fail(plan->file, p->group, "respread", error,
                            "'respread' with 'migrate-at', expected one of the "
                            "two: one spreads sequences, the other gathers "
                            "them");
  return TRUE;
}

static gboolean
check_strategy(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCallPlan *p = &plan->calls[call];
  const char *key = stated_key(plan, p->group);
  const struct {
    const char *key;
    uint32_t value, wanted;
  } limits[] = {{"zero", (uint32_t)p->zero, 0}};

  if (ra_turns_are_set(plan->workload))
    return ra_key_file_fail(plan->file, p->group, key, error,
                            "'%s' with 'turns' in the workload, expected one "
                            "of the two",
                            key);
  for (guint i = 0; i < G_N_ELEMENTS(limits); i++)
    if (limits[i].value != limits[i].wanted)
      return ra_key_file_fail(plan->file, p->group, key, error,
                              "'%s' with '%s' %" PRIu32 ", expected %" PRIu32,
                              key, limits[i].key, limits[i].value,
                              limits[i].wanted);
  if (p->tail.migrate_frac > 0 && p->tail.migrate_to >= p->dp)
    return ra_key_file_fail(
        plan->file, p->group,
        ra_key_file_get(plan->file, p->group, "migrate-to") ? "migrate-to"
                                                            : "migrate-at",
        error,
        "'migrate-to' is %" PRIu32 ", expected less than %" PRIu32 ", 'dp'",
        p->tail.migrate_to, p->dp);
  return TRUE;
}

gboolean
ra_plan_check_tail(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  const char *key = stated_key(plan, p->group);
  uint64_t n;

  if (!key)
    return TRUE;
  if (c->kind != RA_CALL_GENERATE)
    return ra_key_file_fail(plan->file, p->group, key, error,
                            "'%s' of '%s', expected it on generate calls only",
                            key, c->name);
  if (!check_companions(plan, call, error))
    return FALSE;
  if (!ra_tail_is_set(&p->tail))
    return TRUE;
  if (ra_trips_are_set(plan->workload))
    return ra_key_file_fail(plan->file, p->group, key, error,
                            "'%s' with 'trip-prompts' in the workload, "
                            "expected one of the two",
                            key);
  n = (uint64_t)ra_plan_tail_prompts(plan, call) * c->samples_per_prompt;
  if (n > RA_WORKLOAD_SEQUENCES_MAX)
    return ra_key_file_fail(plan->file, p->group, "over-sample", error,
                            "'over-sample' begins %" PRIu64
                            " sequences, expected at most %d",
                            n, RA_WORKLOAD_SEQUENCES_MAX);
  return check_strategy(plan, call, error);
}

void
ra_plan_write_tail(const RaCallPlan *call, GString *out)
{
  const RaTail *t = &call->tail;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (t->assignment != RA_ASSIGN_ORDER) {
    g_string_append_printf(out, "assignment = %s\n",
                           ra_assignment_words[t->assignment]);
    if (t->prediction < 1)
      g_string_append_printf(
          out, "length-prediction = %s\n",
          g_ascii_dtostr(number, sizeof number, t->prediction));
  }
  if (t->n_respreads > 0)
    g_string_append_printf(out, "respread = %" PRIu32 "\n", t->n_respreads);
  if (t->over_sample > 1) {
    g_string_append_printf(
        out, "over-sample = %s\n",
        g_ascii_dtostr(number, sizeof number, t->over_sample));
    if (t->unfinished != RA_UNFINISHED_DISCARD)
      g_string_append_printf(out, "unfinished = %s\n",
                             ra_unfinished_words[t->unfinished]);
  }
  if (t->migrate_frac > 0) {
    g_string_append_printf(
        out, "migrate-at = %s\n",
        g_ascii_dtostr(number, sizeof number, t->migrate_frac));
    if (t->migrate_to != 1)
      g_string_append_printf(out, "migrate-to = %" PRIu32 "\n", t->migrate_to);
  }
  if ((t->n_respreads > 0 || t->migrate_frac > 0) &&
      t->moved_kv != RA_MOVED_COPY)
    g_string_append_printf(out, "moved-kv = %s\n",
                           ra_moved_kv_words[t->moved_kv]);
}

gboolean
ra_plan_same_tail(const RaTail *x, const RaTail *y)
{
  gboolean moves = x->n_respreads > 0 || x->migrate_frac > 0;

  return x->assignment == y->assignment &&
         (x->assignment == RA_ASSIGN_ORDER || x->prediction == y->prediction) &&
         x->n_respreads == y->n_respreads &&
         MAX(x->over_sample, 1) == MAX(y->over_sample, 1) &&
         (x->over_sample <= 1 || x->unfinished == y->unfinished) &&
         x->migrate_frac == y->migrate_frac &&
         (x->migrate_frac <= 0 || x->migrate_to == y->migrate_to) &&
         (!moves || x->moved_kv == y->moved_kv);
}

uint32_t
ra_plan_tail_prompts(const RaPlan *plan, uint32_t call)
{
  double f = plan->calls[call].tail.over_sample;

  /* At most 16 x 10^7. */
  return f <= 1 ? plan->workload->n_prompts
                : (uint32_t)ceil(f * plan->workload->n_prompts - 1e-9);
}

gboolean
ra_plan_carries(const RaPlan *plan)
{
  for (guint i = 0; i < plan->workload->n_calls; i++)
    if (plan->calls[i].tail.over_sample > 1 &&
        plan->calls[i].tail.unfinished == RA_UNFINISHED_CARRY)
      return TRUE;
  return FALSE;
}

gboolean
ra_plan_iterations_alike(const RaPlan *plan)
{
  const RaWorkload *w = plan->workload;

  return !ra_plan_carries(plan) && !ra_trips_are_set(w) &&
         !ra_turns_are_set(w) && ra_workload_is_even(w);
}
