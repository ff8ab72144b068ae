/* Drafts of plans: settling shapes until all GPUs have enough memory. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "graph/augment/augment.h"
#include "graph/input/plan_write.h"
#include "graph/memory/memory_peak.h"
#include "search/family/continuous.h"
#include "search/family/draft.h"

#define GIB (1024.0 * 1024 * 1024)
#define GROW_PART 32   /* of kv-memory that may be left over */
#define N_ITERATIONS 3 /* whose lengths must fit: what `simulate` replays */

RaDraft *
ra_draft_new(const RaWorkload *workload, const RaCluster *cluster)
{
  RaDraft *draft = g_new0(RaDraft, 1);
  guint n = workload->n_calls;

  draft->plan = g_new0(RaPlan, 1);
  draft->plan->workload = workload;
  draft->plan->cluster = cluster;
  draft->plan->calls = g_new0(RaCallPlan, n);
  draft->shapes = g_new0(GArray *, n);
  draft->at = g_new0(guint, n);
  draft->reasons = g_new0(GString *, n);
  draft->head = g_string_new(NULL);
  for (guint c = 0; c < n; c++) {
    RaCallPlan *call = &draft->plan->calls[c];

    draft->reasons[c] = g_string_new(NULL);
    call->dp = call->tp = call->pp = call->cp = call->ep = 1;
    call->n_micro_batches = call->n_virtual = call->zero_group = 1;
    call->schedule = RA_SCHEDULE_1F1B;
    call->optimizer_residency = RA_RESIDENCY_KEEP;
    for (guint axis = 0; axis < RA_N_AXES; axis++)
      call->axis[axis] = (uint8_t)axis;
    /* A call that has not been offered a shape has no place; a host call
     * without a group is where ra_plan_load() puts it. */
    if (workload->calls[c].kind != RA_CALL_HOST)
      continue;
    call->mesh = (RaMesh){.n_runs = 1, .n_nodes = 1, .gpus_per_node = 1};
    call->mesh.runs[0].n = 1;
  }
  return draft;
}

void
ra_draft_free(RaDraft *draft)
{
  if (!draft)
    return;
  for (guint c = 0; c < draft->plan->workload->n_calls; c++) {
    if (draft->shapes[c])
      g_array_unref(draft->shapes[c]);
    g_string_free(draft->reasons[c], TRUE);
  }
  g_string_free(draft->head, TRUE);
  g_free(draft->reasons);
  g_free(draft->at);
  g_free(draft->shapes);
  g_free(draft->plan->calls);
  g_free(draft->plan);
  g_free(draft);
}

static void
use(RaDraft *draft, uint32_t call, guint at)
{
  draft->at[call] = at;
  draft->plan->calls[call] =
      g_array_index(draft->shapes[call], RaShape, at).plan;
}

void
ra_draft_offer(RaDraft *draft, uint32_t call, GArray *shapes)
{
  g_return_if_fail(shapes->len > 0 && !draft->shapes[call]);
  draft->shapes[call] = shapes;
  use(draft, call, 0);
}

void
ra_draft_say(RaDraft *draft, uint32_t call, const char *format, ...)
{
  GString *reason = draft->reasons[call];
  va_list args;

  if (reason->len > 0)
    g_string_append_c(reason, ' ');
  va_start(args, format);
  g_string_append_vprintf(reason, format, args);
  va_end(args);
}

RaShape *
ra_draft_shape(const RaDraft *draft, uint32_t call)
{
  return &g_array_index(draft->shapes[call], RaShape, draft->at[call]);
}

static double
bytes_of(const RaShape *shape)
{
  return shape->need.held_bytes + shape->need.work_bytes;
}

/* Index of the next shape of @call that needs less; 0: there is none. */
static guint
next_less(const RaDraft *draft, uint32_t call)
{
  double bytes = bytes_of(ra_draft_shape(draft, call));

  for (guint i = draft->at[call] + 1; i < draft->shapes[call]->len; i++) {
    if (bytes_of(&g_array_index(draft->shapes[call], RaShape, i)) < bytes)
      return i;
  }
  return 0;
}

/* Score of the step from one shape to the next that needs less: bytes saved per
 * second added if both are costed, else the call's bytes on the full GPU. */
static double
score(const RaDraft *draft, uint32_t call, guint next, double share)
{
  const RaShape *from = ra_draft_shape(draft, call);
  const RaShape *to = &g_array_index(draft->shapes[call], RaShape, next);

  if (isnan(from->time_s) || isnan(to->time_s))
    return share;
  return (bytes_of(from) - bytes_of(to)) / MAX(to->time_s - from->time_s, 1e-9);
}

/* Sends the call with the best score to its next shape; a call that is not
 * costed goes before one that is, as its order says nothing of time. */
static gboolean
shrink(RaDraft *draft, const double *share)
{
  guint n = draft->plan->workload->n_calls;
  uint32_t best = RA_NONE;
  gboolean best_costed = FALSE;
  double best_score = 0;

  for (guint c = 0; c < n; c++) {
    guint next = share[c] > 0 ? next_less(draft, c) : 0;
    gboolean costed;
    double value;

    if (next == 0)
      continue;
    costed = !isnan(ra_draft_shape(draft, c)->time_s);
    value = score(draft, c, next, share[c]);
    if (best != RA_NONE && costed && !best_costed)
      continue;
    if (best == RA_NONE || (best_costed && !costed) || value > best_score) {
      best = c;
      best_costed = costed;
      best_score = value;
    }
  }
  if (best == RA_NONE)
    return FALSE;
  use(draft, best, next_less(draft, best));
  return TRUE;
}

/* Sends the call to the shape that saves most bytes, of @excess, for a second;
 * all are costed. */
static gboolean
shrink_weighed(RaDraft *draft, const double *share, double excess_bytes)
{
  guint n = draft->plan->workload->n_calls, best_at = 0;
  uint32_t best = RA_NONE;
  double best_score = 0;

  for (guint c = 0; c < n; c++) {
    const RaShape *from = share[c] > 0 ? ra_draft_shape(draft, c) : NULL;

    for (guint i = 0; from && i < draft->shapes[c]->len; i++) {
      const RaShape *to = &g_array_index(draft->shapes[c], RaShape, i);
      double saved = MIN(bytes_of(from) - bytes_of(to), excess_bytes);
      double value = saved / MAX(to->time_s - from->time_s, 1e-9);

      /* Shapes that were not worth costing come last. */
      if (isinf(to->time_s))
        value = saved * 1e-30;
      if (saved <= 0 || (best != RA_NONE && value <= best_score))
        continue;
      best = c;
      best_at = i;
      best_score = value;
    }
  }
  if (best != RA_NONE)
    use(draft, best, best_at);
  return best != RA_NONE;
}

/* The GPU that is fullest, by whichever account knows the plan. */
typedef struct {
  double bytes;       /* that it needs */
  double limit_bytes; /* that it may need */
  uint32_t largest;   /* call that is to blame for most of them */
} Full;

/* By graph/memory/memory_peak.h, which knows all of a complete plan. */
static Full
full_by_account(const RaDraft *draft, double *share)
{
  const RaPlan *plan = draft->plan;
  g_autoptr(RaMemory) memory = ra_memory_new(plan);
  g_autoptr(RaAugmented) augmented = ra_augment(plan, N_ITERATIONS);
  g_autofree RaCallLoad *loads = ra_call_loads_new(plan, N_ITERATIONS, 0);
  Full full = {.limit_bytes = plan->cluster->device.memory_bytes};
  RaMemoryPeak peak;

  ra_memory_peak(memory, augmented, loads, &peak);
  full.bytes = peak.total_bytes;
  for (guint c = 0; c < plan->workload->n_calls; c++)
    share[c] = 0;
  for (uint32_t h = 0; h < ra_memory_n_holders(memory); h++) {
    if (ra_holder_kind(h) != RA_HOLD_FRAMEWORK &&
        ra_holder_kind(h) != RA_HOLD_SLACK)
      share[ra_holder_call(h)] += (double)peak.bytes[h];
  }
  for (guint c = 0; c < plan->workload->n_calls; c++) {
    if (share[c] > share[full.largest])
      full.largest = c;
  }
  ra_memory_peak_clear(&peak);
  return full;
}

/* By search/family/need.h, which also serves a few calls of a plan. */
static Full
full_by_need(const RaDraft *draft, double *share)
{
  guint n = draft->plan->workload->n_calls;
  g_autofree RaNeed *needs = g_new0(RaNeed, n);
  RaNeedWorst worst;

  for (guint c = 0; c < n; c++) {
    if (draft->shapes[c])
      needs[c] = ra_draft_shape(draft, c)->need;
  }
  worst = ra_need_worst(draft->plan, needs, share);
  return (Full){worst.bytes, worst.limit_bytes,
                worst.largest == RA_NONE ? 0 : worst.largest};
}

static Full
fullest(const RaDraft *draft, double *share)
{
  const RaWorkload *workload = draft->plan->workload;

  for (guint c = 0; c < workload->n_calls; c++) {
    if (workload->calls[c].kind != RA_CALL_HOST && !draft->shapes[c])
      return full_by_need(draft, share);
  }
  return full_by_account(draft, share);
}

/* Every call to its fastest shape for which there is room beside the rest. */
static void
relax(RaDraft *draft)
{
  g_autofree double *share = g_new0(double, draft->plan->workload->n_calls);

  for (guint c = 0; c < draft->plan->workload->n_calls; c++) {
    guint was = draft->at[c];

    for (guint i = 0; draft->shapes[c] && i < was; i++) {
      Full full;

      if (!(g_array_index(draft->shapes[c], RaShape, i).time_s <
            g_array_index(draft->shapes[c], RaShape, was).time_s))
        break;
      use(draft, c, i);
      full = fullest(draft, share);
      if (full.bytes <= full.limit_bytes)
        break;
      use(draft, c, was);
    }
  }
}

gboolean
ra_draft_settle(RaDraft *draft, GError **error)
{
  const RaWorkload *workload = draft->plan->workload;
  g_autofree double *share = g_new0(double, workload->n_calls);

  for (;;) {
    Full full;

    if (ra_until_is_over(draft->until))
      return ra_until_fail(error);
    full = fullest(draft, share);
    if (full.bytes <= full.limit_bytes) {
      if (draft->weighs)
        relax(draft);
      return TRUE;
    }
    if (draft->weighs
            ? shrink_weighed(draft, share, full.bytes - full.limit_bytes)
            : shrink(draft, share))
      continue;
    g_set_error(
        error, RA_ERROR, RA_ERROR_NEGATIVE,
        "does not fit: '%s' and what shares its GPUs need %.1f GiB of a "
        "GPU, expected at most %.1f GiB",
        workload->calls[full.largest].name, full.bytes / GIB,
        full.limit_bytes / GIB);
    return FALSE;
  }
}

static gboolean
fits_with(RaDraft *draft, uint32_t call, uint64_t kv_memory_bytes)
{
  g_autofree double *share = g_new0(double, draft->plan->workload->n_calls);
  RaShape *shape = ra_draft_shape(draft, call);
  Full full;

  shape->plan.kv_memory_bytes = kv_memory_bytes;
  use(draft, call, draft->at[call]);
  full = fullest(draft, share);
  return full.bytes <= full.limit_bytes;
}

void
ra_draft_grow(RaDraft *draft, uint32_t call)
{
  RaCallPlan *plan = &draft->plan->calls[call];
  uint64_t was = plan->kv_memory_bytes, low, high;

  if (plan->batching != RA_BATCHING_CONTINUOUS || was == 0)
    return;
  low = was / RA_SERVING_STEP_BYTES;
  high = ra_continuous_whole_bytes(draft->plan->workload, draft->plan->cluster,
                                   call, plan) /
             RA_SERVING_STEP_BYTES +
         1;
  while (high > low + MAX(low / GROW_PART, 1) &&
         !ra_until_is_over(draft->until)) {
    uint64_t middle = low + (high - low) / 2;

    if (fits_with(draft, call, middle * RA_SERVING_STEP_BYTES))
      low = middle;
    else
      high = middle;
  }
  fits_with(draft, call, MAX(low * RA_SERVING_STEP_BYTES, was));
}

/* Bound of the GPU that needs most memory. */
static void
append_memory(const RaDraft *draft, GString *out)
{
  const RaWorkload *workload = draft->plan->workload;
  g_autofree double *share = g_new0(double, workload->n_calls);
  Full full = fullest(draft, share);

  g_string_append_printf(
      out, "\n\nPeak memory of a GPU: %.1f GiB of %.1f GiB, most of it %s.",
      full.bytes / GIB, full.limit_bytes / GIB,
      workload->calls[full.largest].name);
}

/* (transfer full): why the call is where it is, and what settling made of it.
 */
static char *
comment_of(const RaDraft *draft, uint32_t call)
{
  const RaWorkload *workload = draft->plan->workload;
  GString *out = g_string_new(draft->reasons[call]->str);
  const RaShape *shape;

  if (!draft->shapes[call])
    return g_string_free(out, FALSE);
  shape = ra_draft_shape(draft, call);
  if (isfinite(shape->time_s) && shape->plan.batching == RA_BATCHING_STATIC)
    g_string_append_printf(out, "  %.2f s when run alone (estimated).",
                           shape->time_s);
  if (shape->plan.kv_memory_bytes > 0)
    g_string_append_printf(
        out,
        "  Sequences are admitted as their KV cache finds room in %.1f GiB per "
        "GPU; all at once need %.1f GiB.",
        (double)shape->plan.kv_memory_bytes / GIB,
        (double)ra_continuous_whole_bytes(workload, draft->plan->cluster, call,
                                          &shape->plan) /
            GIB);
  if (draft->at[call] > 0)
    g_string_append_printf(out,
                           "  Layout %u of %u: the ones before it need too "
                           "much memory on a GPU of its mesh.",
                           draft->at[call] + 1, draft->shapes[call]->len);
  return g_string_free(out, FALSE);
}

char *
ra_draft_write(const RaDraft *draft, const char *workload, const char *cluster,
               const char *system, GError **error)
{
  guint n = draft->plan->workload->n_calls;
  g_auto(GStrv) comments = g_new0(char *, n + 1);
  g_autoptr(GString) head = g_string_new(draft->head->str);
  RaPlanWords words = {.workload = workload,
                       .cluster = cluster,
                       .system = system,
                       .comments = (const char *const *)comments};

  append_memory(draft, head);
  words.head = head->str;
  for (guint c = 0; c < n; c++)
    comments[c] = comment_of(draft, c);
  return ra_plan_write(draft->plan, &words, error);
}
