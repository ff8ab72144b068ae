/* Forecast: predictions as comments in a plan's text. */
#include "config.h"

#include <string.h>

#include "sim/breakdown.h"
#include "study/replay.h"
#include "study/report/forecast.h"

/* A comment line of what @share says. */
static void
append_call(GString *out, const RaCallShare *share)
{
  double all_gpu_s = share->compute_gpu_s + share->comm_gpu_s +
                     share->host_gpu_s + share->bubble_gpu_s +
                     share->interference_gpu_s;

  g_string_append_printf(out,
                         "# Predicted: %.4g s, of which computation %.3g %%, ",
                         share->wall_s, 100 * share->compute_gpu_s / all_gpu_s);
  g_string_append_printf(
      out,
      "communication %.3g %%,\n"
      "# waiting %.3g %%.\n",
      100 * (share->comm_gpu_s + share->interference_gpu_s) / all_gpu_s,
      100 * (share->host_gpu_s + share->bubble_gpu_s) / all_gpu_s);
}

/* A plan that trains otherwise than its workload says so. */
static void
append_steps(GString *out, const RaPlan *plan, uint32_t call)
{
  if (plan->calls[call].n_mini_batches > 0)
    g_string_append_printf(
        out,
        "# Trains in %u mini-batches, the workload in %u: another algorithm.\n",
        plan->calls[call].n_mini_batches,
        plan->workload->calls[call].n_mini_batches);
}

/* The share of the call whose group @line opens; NULL: it opens none. */
static const RaCallShare *
share_of(const RaBreakdown *breakdown, const RaWorkload *workload,
         const char *line)
{
  for (guint i = 0; i < breakdown->n_calls; i++) {
    const char *name = workload->calls[breakdown->calls[i].call].name;
    g_autofree char *header = g_strdup_printf("[call %s]", name);

    if (g_str_has_prefix(line, header) && breakdown->calls[i].wall_s > 0)
      return &breakdown->calls[i];
  }
  return NULL;
}

char *
ra_forecast_text(RaSetup *setup, const char *plan, const char *head,
                 uint32_t n_iterations, uint64_t seed, const RaUntil *until,
                 GError **error)
{
  RaReplayOptions options = {.n_iterations = n_iterations,
                             .fidelity = RA_FIDELITY_STAGE,
                             .seed = seed,
                             .until = until};
  GError *cause = NULL;
  g_autoptr(GString) out = g_string_new(head);
  g_autoptr(RaReplay) run = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;
  g_auto(GStrv) lines = NULL;

  if (!ra_setup_read_plan(setup, "the plan", plan, error))
    return NULL;
  run = ra_replay_new(setup, &options, &cause);
  if (!run && !ra_until_is_over(until)) {
    g_propagate_error(error, cause);
    return NULL;
  }
  g_clear_error(&cause);
  if (!run)
    return g_strconcat(head, plan, NULL);
  breakdown = ra_breakdown_new(run->sim, run->graph);
  lines = g_strsplit(plan, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    const RaCallShare *share = share_of(breakdown, setup->workload, lines[i]);

    if (share) {
      append_steps(out, setup->plan, share->call);
      append_call(out, share);
    }
    g_string_append_printf(out, "%s%s", lines[i], lines[i + 1] ? "\n" : "");
  }
  return g_string_free(g_steal_pointer(&out), FALSE);
}
