/* Writer of execution plans. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "graph/input/plan_batching.h"
#include "graph/input/plan_service.h"
#include "graph/input/plan_tail.h"
#include "graph/input/plan_write.h"
#include "graph/input/residency.h"

#define COMMENT_COLUMNS 78 /* of the words behind "# " */

static const char *const recompute_words[] = {"none", "selective", "full"};
static const char *const attention_words[] = {"flash", "core", "core-dropout"};
static const char *const dtype_words[] = {"bf16", "fp16", "fp32", "fp8"};
static const char *const axis_words[] = {"tp", "cp", "dp", "pp"};

/* @text as lines that begin with #. */
static void
append_comment(GString *out, const char *text)
{
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

  for (guint i = 0; lines[i]; i++) {
    g_autofree char *line = ra_quote_visible(lines[i]);
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    gsize column = 0;

    g_string_append_c(out, '#');
    for (guint w = 0; words[w]; w++) {
      gsize n = strlen(words[w]);

      if (n == 0)
        continue;
      if (column > 0 && column + 1 + n > COMMENT_COLUMNS) {
        g_string_append(out, "\n#");
        column = 0;
      }
      g_string_append_printf(out, " %s", words[w]);
      column += n + 1;
    }
    g_string_append_c(out, '\n');
  }
}

static void
append_rank_order(GString *out, const RaCallPlan *call)
{
  gboolean is_default = TRUE;

  for (guint i = 0; i < RA_N_AXES; i++)
    is_default &= call->axis[i] == i;
  if (is_default)
    return;
  g_string_append(out, "rank-order = ");
  for (guint i = 0; i < RA_N_AXES; i++)
    g_string_append_printf(out, "%s%s", i > 0 ? "-" : "",
                           axis_words[call->axis[i]]);
  g_string_append_c(out, '\n');
}

static void
append_stages(GString *out, const RaCallPlan *call, const RaModel *model)
{
  uint32_t n = call->pp * call->n_virtual;
  g_autofree uint32_t *even = g_new(uint32_t, n);

  ra_stage_layers_even(model->n_layers, n, even);
  if (memcmp(even, call->stage_layers, n * sizeof *even) == 0)
    return;
  g_string_append(out, "stage-layers = ");
  for (uint32_t i = 0; i < n; i++)
    g_string_append_printf(out, "%s%" PRIu32, i > 0 ? "," : "",
                           call->stage_layers[i]);
  g_string_append_c(out, '\n');
}

/* Keys that only train calls have. */
static void
append_train(GString *out, const RaCallPlan *call, int dtype)
{
  if (call->n_mini_batches > 0)
    g_string_append_printf(out, "mini-batches = %" PRIu32 "\n",
                           call->n_mini_batches);
  if (call->schedule == RA_SCHEDULE_INTERLEAVED)
    g_string_append_printf(out, "schedule = interleaved:%" PRIu32 "\n",
                           call->n_virtual);
  else
    g_string_append_printf(out, "schedule = %s\n",
                           call->schedule == RA_SCHEDULE_GPIPE ? "gpipe"
                                                               : "1f1b");
  if (call->recompute != RA_RECOMPUTE_NONE)
    g_string_append_printf(out, "recompute = %s\n",
                           recompute_words[call->recompute]);
  if (call->attention != RA_ATTENTION_FLASH)
    g_string_append_printf(out, "attention = %s\n",
                           attention_words[call->attention]);
  if (call->cross_entropy == RA_CROSS_ENTROPY_UNFUSED)
    g_string_append(out, "cross-entropy = unfused\n");
  if (call->scatter_sends)
    g_string_append(out, "scatter-sends = true\n");
  if (call->grad_dtype != dtype)
    g_string_append_printf(out, "grad-dtype = %s\n",
                           dtype_words[call->grad_dtype]);
  if (call->master_weights != RA_MASTER_FP32)
    g_string_append_printf(
        out, "master-weights = %s\n",
        call->master_weights == RA_MASTER_NONE ? "none" : "remainders");
  if (call->moments_dtype)
    g_string_append_printf(out, "moments-dtype = %s\n",
                           dtype_words[call->moments_dtype - 1]);
  if (call->overlap_grad_reduce)
    g_string_append(out, "overlap-grad-reduce = true\n");
}

/* Where parameters, optimizer state and gradients are between calls. */
static void
append_residency(GString *out, const RaCallPlan *call)
{
  static const char *const realloc_words[] = {"broadcast", "p2p", "all-gather"};

  if (call->residency != RA_RESIDENCY_RELEASE)
    g_string_append_printf(out, "residency = %s\n",
                           ra_residency_words[call->residency]);
  if (call->optimizer_residency != RA_RESIDENCY_KEEP &&
      call->optimizer_residency != RA_RESIDENCY_RELEASE)
    g_string_append_printf(
        out, "optimizer-residency = %s\n",
        call->optimizer_residency == RA_RESIDENCY_CPU ? "cpu" : "host");
  if (call->releases_grads)
    g_string_append(out, "grad-residency = release\n");
  if (call->realloc != 0)
    g_string_append_printf(out, "realloc = %s\n", realloc_words[call->realloc]);
}

void
ra_plan_append_fp8(GString *out, int scaling, gboolean params, uint32_t first,
                   uint32_t last)
{
  g_string_append(out, "gemm-dtype = fp8\n");
  if (scaling != RA_FP8_BLOCKWISE)
    g_string_append_printf(out, "fp8-scaling = %s\n",
                           ra_fp8_scaling_words[scaling]);
  if (params)
    g_string_append(out, "fp8-params = true\n");
  if (first > 0)
    g_string_append_printf(out, "bf16-first-layers = %" PRIu32 "\n", first);
  if (last > 0)
    g_string_append_printf(out, "bf16-last-layers = %" PRIu32 "\n", last);
}

/* Types of what a generate call reads. */
static void
append_dtypes(GString *out, const RaCallPlan *to)
{
  if (to->dtype > 0)
    g_string_append_printf(out, "dtype = %s\n", dtype_words[to->dtype - 1]);
  if (to->kv_dtype > 0)
    g_string_append_printf(out, "kv-dtype = %s\n",
                           dtype_words[to->kv_dtype - 1]);
  if (to->expert_dtype > 0)
    g_string_append_printf(out, "expert-dtype = %s\n",
                           to->expert_dtype == RA_EXPERT_DTYPE_MXFP4 ? "mxfp4"
                                                                     : "nvfp4");
}

static void
append_call(GString *out, const RaPlan *plan, uint32_t index)
{
  const RaCall *call = &plan->workload->calls[index];
  const RaCallPlan *to = &plan->calls[index];
  g_autofree char *mesh = ra_mesh_format(&to->mesh, plan->cluster);

  g_string_append_printf(out, "[call %s]\nmesh = %s\n", call->name, mesh);
  if (call->kind == RA_CALL_HOST)
    return;
  g_string_append_printf(out,
                         "dp = %" PRIu32 "\ntp = %" PRIu32 "\npp = %" PRIu32
                         "\nmicro-batches = %" PRIu32 "\n",
                         to->dp, to->tp, to->pp, to->n_micro_batches);
  if (to->balance == RA_BALANCE_TOKENS)
    g_string_append(out, "balance = tokens\n");
  if (to->padding != RA_PADDING_NONE)
    g_string_append_printf(out, "padding = %s\n",
                           to->padding == RA_PADDING_BATCH ? "batch"
                                                           : "micro-batch");
  if (to->padded_length > 0)
    g_string_append_printf(out, "padded-length = %" PRIu32 "\n",
                           to->padded_length);
  if (to->cp > 1)
    g_string_append_printf(out, "cp = %" PRIu32 "\n", to->cp);
  if (ra_call_plan_ep(to) > 1)
    g_string_append_printf(out, "ep = %" PRIu32 "\n", to->ep);
  if (ra_call_plan_expert_tp(to) < to->tp)
    g_string_append_printf(out, "expert-tp = %" PRIu32 "\n", to->expert_tp);
  if (to->dispatch == RA_DISPATCH_ONCE)
    g_string_append(out, "dispatch = once\n");
  if (to->sequence_parallel)
    g_string_append(out, "sequence-parallel = true\n");
  if (to->zero > 0)
    g_string_append_printf(out, "zero = %d\n", to->zero);
  if (to->zero > 0 && to->zero_group != to->dp)
    g_string_append_printf(out, "zero-group = %" PRIu32 "\n", to->zero_group);
  if (to->gathers == RA_GATHERS_IN_TURN)
    g_string_append(out, "gathers = in-turn\n");
  if (call->kind == RA_CALL_TRAIN)
    append_train(out, to, plan->workload->models[call->model].dtype);
  append_dtypes(out, to);
  if (to->fp8_gemms)
    ra_plan_append_fp8(out, to->fp8_scaling, to->fp8_params, to->bf16_first,
                       to->bf16_last);
  if (to->launch == RA_LAUNCH_GRAPH)
    g_string_append(out, "launch = graph\n");
  append_rank_order(out, to);
  append_stages(out, to, plan->workload->models[call->model].model);
  append_residency(out, to);
  ra_plan_write_batching(to, out);
  if (to->service != RA_SERVICE_NONE)
    g_string_append_printf(out, "service = %s\n",
                           ra_service_words[to->service]);
  if (ra_plan_sync_interval(to) > 1)
    g_string_append_printf(out, "sync-interval = %" PRIu32 "\n",
                           to->sync_interval);
  ra_plan_write_tail(to, out);
}

char *
ra_plan_write(const RaPlan *plan, const RaPlanWords *words, GError **error)
{
  const RaWorkload *workload;
  g_autoptr(GString) out = g_string_new(NULL);

  g_return_val_if_fail(plan != NULL && words != NULL, NULL);
  g_return_val_if_fail(words->workload && words->cluster, NULL);
  workload = plan->workload;
  if (words->head) {
    append_comment(out, words->head);
    g_string_append_c(out, '\n');
  }
  g_string_append(out, "[plan]\nformat = 1\n");
  if (!ra_quote_key(out, "workload", words->workload, error) ||
      !ra_quote_key(out, "cluster", words->cluster, error) ||
      (words->system && !ra_quote_key(out, "system", words->system, error)))
    return NULL;
  for (guint i = 0; i < workload->n_calls; i++) {
    uint32_t c = workload->order[i];

    if (!plan->calls[c].set)
      continue;
    g_string_append_c(out, '\n');
    if (words->comments && words->comments[c] && *words->comments[c])
      append_comment(out, words->comments[c]);
    append_call(out, plan, c);
  }
  return g_string_free(g_steal_pointer(&out), FALSE);
}

/* Keys of calls that run on GPUs. */
static gboolean
call_equal(const RaCallPlan *a, const RaCallPlan *b)
{
  return a->dp == b->dp && a->tp == b->tp && a->pp == b->pp && a->cp == b->cp &&
         ra_call_plan_ep(a) == ra_call_plan_ep(b) &&
         ra_call_plan_expert_tp(a) == ra_call_plan_expert_tp(b) &&
         a->dispatch == b->dispatch &&
         memcmp(a->axis, b->axis, sizeof a->axis) == 0 &&
         a->n_micro_batches == b->n_micro_batches && a->balance == b->balance &&
         a->padding == b->padding && a->padded_length == b->padded_length &&
         a->n_mini_batches == b->n_mini_batches && a->schedule == b->schedule &&
         a->n_virtual == b->n_virtual &&
         memcmp(a->stage_layers, b->stage_layers,
                (gsize)a->pp * a->n_virtual * sizeof *a->stage_layers) == 0 &&
         a->sequence_parallel == b->sequence_parallel &&
         a->recompute == b->recompute && a->zero == b->zero &&
         a->zero_group == b->zero_group && a->gathers == b->gathers &&
         a->grad_dtype == b->grad_dtype && a->attention == b->attention &&
         a->scatter_sends == b->scatter_sends &&
         a->cross_entropy == b->cross_entropy &&
         a->overlap_grad_reduce == b->overlap_grad_reduce &&
         a->master_weights == b->master_weights &&
         a->moments_dtype == b->moments_dtype && a->dtype == b->dtype &&
         a->kv_dtype == b->kv_dtype && a->expert_dtype == b->expert_dtype &&
         ra_call_plan_same_fp8(a, b) && a->launch == b->launch &&
         a->residency == b->residency &&
         a->optimizer_residency == b->optimizer_residency &&
         a->releases_grads == b->releases_grads && a->realloc == b->realloc &&
         ra_plan_same_batching(a, b) && a->service == b->service &&
         ra_plan_sync_interval(a) == ra_plan_sync_interval(b) &&
         ra_plan_same_tail(&a->tail, &b->tail);
}

gboolean
ra_plan_equal(const RaPlan *a, const RaPlan *b)
{
  g_return_val_if_fail(a != NULL && b != NULL, FALSE);
  g_return_val_if_fail(a->workload == b->workload, FALSE);

  for (guint c = 0; c < a->workload->n_calls; c++) {
    const RaCallPlan *x = &a->calls[c], *y = &b->calls[c];

    if (x->set != y->set || !ra_mesh_equal(&x->mesh, &y->mesh))
      return FALSE;
    if (a->workload->calls[c].kind != RA_CALL_HOST && !call_equal(x, y))
      return FALSE;
  }
  return TRUE;
}

char *
ra_strategy_format(const RaCallPlan *plan)
{
  GString *out = g_string_new(NULL);
  const struct {
    const char *name;
    uint32_t degree;
  } axes[] = {{"tp", plan->tp},
              {"cp", plan->cp},
              {"pp", plan->pp},
              {"dp", plan->dp},
              {"ep", plan->ep}};

  for (guint i = 0; i < G_N_ELEMENTS(axes); i++) {
    if (axes[i].degree > 1)
      g_string_append_printf(out, "%s%s%" PRIu32, out->len ? " " : "",
                             axes[i].name, axes[i].degree);
  }
  if (out->len == 0)
    g_string_append_c(out, '-');
  if (ra_call_plan_expert_tp(plan) < plan->tp)
    g_string_append_printf(out, " etp%" PRIu32, plan->expert_tp);
  /* Zero 1 and 2 leave the layout as it is. */
  if (plan->zero == 3)
    g_string_append(out, " zero3");
  return g_string_free(out, FALSE);
}
