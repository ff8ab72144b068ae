/* Extrapolation: parts of a plan's work outside the measurements. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/extrapolation.h"
#include "estimator/fit.h"
#include "estimator/nearest.h"
#include "study/extrapolation_note.h"

static double
excess(const RaExtrapolation *o)
{
  return o->value > o->limit ? o->value / o->limit
                             : o->limit / MAX(o->value, 1e-9);
}

/* Keeps the furthest of each law, axis and side. */
static void
keep(GArray *kept, const RaExtrapolation *one)
{
  for (guint i = 0; i < kept->len; i++) {
    RaExtrapolation *other = &g_array_index(kept, RaExtrapolation, i);

    if (strcmp(other->law, one->law) != 0 ||
        strcmp(other->axis, one->axis) != 0 || other->limit < one->limit ||
        other->limit > one->limit)
      continue;
    if (excess(one) > excess(other))
      *other = *one;
    return;
  }
  g_array_append_vals(kept, one, 1);
}

/* Laws without a row of the profile's GPU, and what their transfer
 * was off by where it could be tried. */
static void
append_derived(const RaProfile *profile, GString *text)
{
  static const char *const shown[] = {"gemm.bf16", "attention",
                                      "decode-attention", "all-reduce"};
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS(shown); i++) {
    const RaLaw *law = ra_profile_law(profile, shown[i]);

    if (!law || !law->transferred)
      continue;
    if (n++ == 0)
      g_string_append_printf(text, "%s is scaled from other GPUs for ",
                             profile->device);
    else
      g_string_append(text, ", ");
    g_string_append_printf(text, "%s (from the %s", law->name,
                           law->transferred);
    if (isnan(law->error_median_frac))
      g_string_append(text, ", by data sheet)");
    else
      g_string_append_printf(text,
                             ", by data sheet; median error of such transfers "
                             "%.0f %%, 90th percentile %.0f %%)",
                             100 * law->error_median_frac,
                             100 * law->error_p90_frac);
  }
}

/* Ops in the order in which they come, each once. */
typedef struct {
  GArray *ops;     /* element-type RaOp */
  uint32_t *slots; /* (1 << bits) 1 + an index of ops; 0: free */
  guint bits;
} OpSet;

/* The slot of @op, or the free one where it would stand. */
static uint32_t *
slot_of(const OpSet *set, const RaOp *op)
{
  gsize mask = ((gsize)1 << set->bits) - 1, at;
  uint64_t h = (uint64_t)op->kind << 32 | (uint64_t)op->dtype << 16 | op->flags;

  for (guint i = 0; i < RA_OP_DIMS; i++)
    h = (h ^ op->dim[i]) * UINT64_C(0x9e3779b97f4a7c15);
  for (at = h >> (64 - set->bits); set->slots[at] > 0; at = (at + 1) & mask) {
    /* An op has no padding. */
    if (memcmp(&g_array_index(set->ops, RaOp, set->slots[at] - 1), op,
               sizeof *op) == 0)
      break;
  }
  return &set->slots[at];
}

static void
set_resize(OpSet *set, guint bits)
{
  set->bits = bits;
  g_free(set->slots);
  set->slots = g_new0(uint32_t, (gsize)1 << bits);
  for (guint i = 0; i < set->ops->len; i++)
    *slot_of(set, &g_array_index(set->ops, RaOp, i)) = i + 1;
}

static void
set_add(OpSet *set, const RaOp *op)
{
  uint32_t *slot = slot_of(set, op);

  if (*slot > 0)
    return;
  g_array_append_vals(set->ops, op, 1);
  *slot = set->ops->len;
  if (set->ops->len >> (set->bits - 1) > 0) /* half full */
    set_resize(set, set->bits + 1);
}

/* (element-type RaOp): the ops of all works, each shape once. */
static GArray *
ops_of(const RaTaskGraph *graph)
{
  OpSet set = {.ops = g_array_new(FALSE, FALSE, sizeof(RaOp))};

  set_resize(&set, 12);
  for (uint32_t work = 0; work < graph->n_works; work++) {
    RaOp ops[RA_OP_LIST_MAX];
    guint n_ops = ra_work_ops(graph, work, ops);

    for (guint i = 0; i < n_ops; i++) {
      ops[i].count = 1;
      set_add(&set, &ops[i]);
    }
  }
  g_free(set.slots);
  return set.ops;
}

/* A law of which nobody has rows, that @op is costed by. */
static void
add_assumed(GPtrArray *assumed, const RaProfile *profile,
            const RaEstimator *estimator, const RaOp *op)
{
  const char *name = ra_fit_law_in(profile, op);
  const RaLaw *law = name ? ra_profile_law(profile, name) : NULL;

  if (law && law->n_rows == 0 && !law->transferred &&
      ra_estimator_op_s(estimator, op) > 0 &&
      !g_ptr_array_find_with_equal_func(assumed, name, g_str_equal, NULL))
    g_ptr_array_add(assumed, (gpointer)name);
}

/* A collective that a closed form carries the measurements to: its law with its
 * GPUs and the algorithm that it takes, once. */
static void
add_formula(GPtrArray *formulas, const RaEstimator *estimator, const RaOp *op)
{
  RaCollectiveChoice c;
  char *text;

  if (!ra_estimator_formula(estimator, op, &c))
    return;
  text = g_strdup_printf("%s on %" G_GUINT64_FORMAT " GPUs (%s %s)",
                         ra_op_name((RaOpKind)op->kind), op->dim[1],
                         ra_algorithm_name(c.algorithm),
                         ra_protocol_name(c.protocol));
  if (g_ptr_array_find_with_equal_func(formulas, text, g_str_equal, NULL))
    g_free(text);
  else
    g_ptr_array_add(formulas, text);
}

/* An op that has no law of its own, by its name. */
static void
add_nearest(GPtrArray *names, const RaEstimator *estimator, const RaOp *op)
{
  const char *name = ra_op_name((RaOpKind)op->kind);

  if (!ra_estimator_has_law(estimator, op) &&
      !g_ptr_array_find(names, name, NULL))
    g_ptr_array_add(names, (gpointer)name);
}

static void
append_list(GString *text, const char *head, const GPtrArray *names)
{
  for (guint i = 0; i < names->len; i++)
    g_string_append_printf(text, "%s%s%s",
                           i > 0           ? ", "
                           : text->len > 0 ? "; "
                                           : "",
                           i > 0 ? "" : head, (const char *)names->pdata[i]);
}

char *
ra_extrapolation_note(const RaProfile *profile, const RaEstimator *estimator,
                      const RaTaskGraph *graph)
{
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(RaExtrapolation));
  g_autoptr(GPtrArray) assumed = g_ptr_array_new();
  g_autoptr(GPtrArray) formulas = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GPtrArray) nearest = g_ptr_array_new();
  g_autoptr(GArray) ops = ops_of(graph);
  GString *text = g_string_new(NULL);

  append_derived(profile, text);
  for (guint i = 0; i < ops->len; i++) {
    const RaOp *op = &g_array_index(ops, RaOp, i);
    RaExtrapolation one;

    add_assumed(assumed, profile, estimator, op);
    add_formula(formulas, estimator, op);
    add_nearest(nearest, estimator, op);
    if (ra_estimator_extrapolation(estimator, op, &one))
      keep(kept, &one);
  }
  for (guint i = 0; i < kept->len; i++) {
    const RaExtrapolation *o = &g_array_index(kept, RaExtrapolation, i);

    g_string_append_printf(text, "%s%s %s %.10g (measured %s %.10g)",
                           text->len > 0 ? "; " : "", o->law, o->axis, o->value,
                           o->value > o->limit ? "to" : "from", o->limit);
  }
  append_list(text, "by formula: ", formulas);
  append_list(text, "assumed, not measured: ", assumed);
  append_list(text, "by the nearest law, of unknown error: ", nearest);
  return g_string_free(text, FALSE);
}
