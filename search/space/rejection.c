/* Rejections as text. */
#include "config.h"

#include <inttypes.h>

#include "search/space/rejection.h"

#define GIB (1024.0 * 1024 * 1024)

const char *const ra_reject_names[RA_N_REJECTS + 1] = {
    "limit", "heads", "sequences", "plan", "dominated", "memory", NULL};

static void
append_degree(GString *out, const char *name, uint32_t degree, uint32_t usual)
{
  if (degree != usual)
    g_string_append_printf(out, ", %s %" PRIu32, name, degree);
}

char *
ra_rejection_text(const RaRejection *rejection)
{
  static const char *const recompute[] = {"none", "selective", "full"};
  const RaCallPlan *p = &rejection->plan;
  GString *out = g_string_new(NULL);

  g_string_append_printf(out, "%" PRIu32 " GPUs", rejection->n_gpus);
  append_degree(out, "tp", p->tp, 0);
  append_degree(out, "pp", p->pp, 0);
  append_degree(out, "dp", p->dp, 0);
  if (p->cp > 1)
    append_degree(out, "cp", p->cp, 1);
  if (p->ep > 1)
    append_degree(out, "ep", p->ep, 1);
  if (p->n_virtual > 1)
    append_degree(out, "virtual stages", p->n_virtual, 1);
  if (p->n_mini_batches > 0)
    append_degree(out, "mini-batches", p->n_mini_batches, 0);
  if (p->n_micro_batches > 0)
    g_string_append_printf(
        out, ", %" PRIu32 " micro-batches, zero %d, recompute %s%s",
        p->n_micro_batches, p->zero, recompute[p->recompute],
        p->sequence_parallel ? ", sequence-parallel" : "");
  g_string_append_printf(out, ": %s", rejection->rule);
  if (rejection->reason == RA_REJECT_MEMORY)
    g_string_append_printf(out, ", %.1f GiB of %.1f",
                           rejection->needs_bytes / GIB,
                           rejection->has_bytes / GIB);
  return g_string_free(out, FALSE);
}
