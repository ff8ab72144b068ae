/* Memory fit of a replayed plan: peak, holders, verdict. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "study/memory_verdict.h"
#include "study/remedy.h"

#define GIB (1024.0 * 1024 * 1024)
#define VERDICT_HOLDERS 4 /* largest ones that a verdict names */

/* A holder and what it has at the peak. */
typedef struct {
  uint32_t holder;
  uint64_t bytes;
} Share;

static int
compare_shares(const void *a, const void *b)
{
  const Share *x = a, *y = b;

  if (x->bytes != y->bytes)
    return x->bytes > y->bytes ? -1 : 1;
  return x->holder < y->holder ? -1 : x->holder > y->holder;
}

/* Those that hold something, largest first. */
static GArray *
sorted_shares(const uint64_t *bytes, uint32_t n)
{
  GArray *shares = g_array_new(FALSE, FALSE, sizeof(Share));

  for (uint32_t h = 0; h < n; h++) {
    Share share = {h, bytes[h]};
    if (bytes[h] > 0)
      g_array_append_val(shares, share);
  }
  g_array_sort(shares, compare_shares);
  return shares;
}

static RaTable *
make_memory(const RaMemoryVerdict *fit)
{
  RaTable *table = ra_table_new("memory");

  ra_table_column(table, "gpu", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "peak_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "capacity_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "peak_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "bound_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "peak_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "task", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "host_node", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "host_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "host_capacity_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "fits", RA_UNIT_NONE, RA_CELL_TRUTH);
  ra_table_column(table, "remedy", RA_UNIT_NONE, RA_CELL_TEXT);
  if (fit->lane == RA_NONE)
    return table;
  ra_table_row(table);
  ra_table_integer(table, fit->gpu);
  ra_table_real(table, fit->peak_bytes);
  ra_table_real(table, fit->capacity_bytes);
  ra_table_real(table, fit->peak_bytes / fit->capacity_bytes);
  ra_table_real(table, fit->bound_bytes);
  ra_table_real(table, fit->peak_s);
  ra_table_text(table, fit->task);
  ra_table_integer(table, fit->host->node);
  ra_table_real(table, fit->host->peak_bytes);
  if (fit->host->capacity_bytes > 0)
    ra_table_real(table, fit->host->capacity_bytes);
  else
    ra_table_missing(table);
  ra_table_truth(table, fit->fits);
  if (fit->remedy)
    ra_table_text(table, fit->remedy);
  else
    ra_table_missing(table);
  return table;
}

typedef char *(*HolderName)(const RaWorkload *workload, uint32_t holder);

/* Table @name of what @total_bytes are. */
static RaTable *
make_shares(const char *name, const RaWorkload *workload, const GArray *shares,
            HolderName name_of, double total_bytes)
{
  RaTable *table = ra_table_new(name);

  ra_table_column(table, "component", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "size_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "share_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < shares->len; i++) {
    const Share *s = &g_array_index(shares, Share, i);
    g_autofree char *what = name_of(workload, s->holder);
    ra_table_row(table);
    ra_table_text(table, what);
    ra_table_real(table, (double)s->bytes);
    ra_table_real(table, (double)s->bytes / total_bytes);
  }
  return table;
}

/* Host holders that hold something, largest first. */
static GArray *
host_shares(const RaHostMemory *host)
{
  g_autofree uint64_t *bytes = NULL;
  uint32_t n = host->n_calls * RA_N_HOST_HOLDS;

  bytes = g_new(uint64_t, n);
  for (uint32_t h = 0; h < n; h++)
    bytes[h] = (uint64_t)llround(host->bytes[h]);
  return sorted_shares(bytes, n);
}

/* "optimizer of actor 30.2 GiB, ..." */
static void
append_holders(GString *out, const RaWorkload *workload, const GArray *shares,
               HolderName name_of)
{
  for (guint i = 0; i < MIN(shares->len, VERDICT_HOLDERS); i++) {
    const Share *s = &g_array_index(shares, Share, i);
    g_autofree char *name = name_of(workload, s->holder);
    g_string_append_printf(out, "%s%s %.1f GiB", i ? ", " : "", name,
                           (double)s->bytes / GIB);
  }
}

/* "The plan does not fit: GPU 8 needs 91.2 of 80.0 GiB at 12.3 s, when
 * it0/... begins: optimizer of actor 30.2 GiB, ...", or a node's host memory,
 * or both. */
static char *
make_verdict(const RaMemoryVerdict *fit, const RaWorkload *workload,
             const GArray *shares, const GArray *on_host)
{
  GString *out = g_string_new("The plan does not fit: ");
  g_autofree char *time = ra_quantity_format(fit->peak_s, RA_UNIT_SECONDS);
  gboolean gpu = fit->peak_bytes > fit->capacity_bytes;

  if (gpu) {
    g_string_append_printf(out,
                           "GPU %" PRIu32 " needs %.1f of %.1f GiB at %s, "
                           "when %s begins: ",
                           fit->gpu, fit->peak_bytes / GIB,
                           fit->capacity_bytes / GIB, time, fit->task);
    append_holders(out, workload, shares, ra_holder_name);
  }
  if (!ra_host_memory_fits(fit->host)) {
    g_string_append_printf(
        out, "%snode %" PRIu32 " needs %.1f of %.1f GiB of host memory: ",
        gpu ? "; " : "", fit->host->node, fit->host->peak_bytes / GIB,
        fit->host->capacity_bytes / GIB);
    append_holders(out, workload, on_host, ra_host_memory_name);
  }
  if (!fit->remedy)
    g_string_append(out, ".  No change that was tried makes it fit, and no "
                         "family has a plan that does");
  return g_string_free(out, FALSE);
}

static double
bound_of(const RaSetup *setup, const RaReplay *replay, const RaMemory *memory)
{
  g_autofree RaCallLoad *loads = ra_call_loads_new(
      setup->plan, replay->augmented->n_iterations, replay->graph->seed);
  RaMemoryPeak peak;
  double bytes;

  ra_memory_peak(memory, replay->augmented, loads, &peak);
  bytes = peak.total_bytes;
  ra_memory_peak_clear(&peak);
  return bytes;
}

static void
fill_peak(RaMemoryVerdict *fit, const RaReplay *replay, const RaLanePeak *peak)
{
  char name[256];

  fit->gpu = replay->graph->lanes[fit->lane].first_gpu;
  fit->peak_bytes = peak->peak_bytes;
  fit->peak_s = peak->peak_s;
  if (peak->task != RA_NONE)
    ra_task_name(replay->graph, peak->task, name, sizeof name);
  fit->task = g_strdup(peak->task == RA_NONE ? "the run" : name);
}

RaMemoryVerdict *
ra_memory_verdict_new(const RaSetup *setup, const RaSetupFlags *flags,
                      const RaReplay *replay)
{
  g_autoptr(RaMemoryTable) table = NULL;
  g_autoptr(RaMemoryReplay) memory = NULL;
  g_autoptr(GArray) shares = NULL, on_host = NULL;
  g_autofree uint64_t *bytes = NULL;
  RaMemoryVerdict *fit;
  gboolean in_gpus;

  g_return_val_if_fail(setup && setup->plan && replay, NULL);
  fit = g_new0(RaMemoryVerdict, 1);
  table = ra_memory_table_new(replay->graph);
  memory = ra_memory_replay_new(replay->sim, table);
  bytes = g_new0(uint64_t, ra_memory_n_holders(table->memory));
  fit->lane = memory->fullest;
  fit->capacity_bytes = memory->capacity_bytes;
  if (fit->lane != RA_NONE) {
    fill_peak(fit, replay, &memory->lanes[fit->lane]);
    ra_memory_replay_holders_at_peak(replay->sim, table, fit->lane, bytes);
    fit->bound_bytes = bound_of(setup, replay, table->memory);
  }
  fit->host = ra_host_memory_new(table->memory);
  in_gpus = fit->peak_bytes <= fit->capacity_bytes;
  fit->fits = in_gpus && ra_host_memory_fits(fit->host);
  if (!fit->fits && flags)
    fit->remedy = ra_remedy_find(
        setup, flags, replay,
        in_gpus ? fit->host->node * setup->cluster->gpus_per_node : fit->gpu);
  shares = sorted_shares(bytes, ra_memory_n_holders(table->memory));
  fit->memory = make_memory(fit);
  fit->holders = make_shares("memory_components", setup->workload, shares,
                             ra_holder_name, fit->peak_bytes);
  on_host = host_shares(fit->host);
  fit->hosts = make_shares("host_memory", setup->workload, on_host,
                           ra_host_memory_name, fit->host->peak_bytes);
  if (!fit->fits)
    fit->verdict = make_verdict(fit, setup->workload, shares, on_host);
  return fit;
}

void
ra_memory_verdict_free(RaMemoryVerdict *fit)
{
  if (!fit)
    return;
  g_free(fit->task);
  g_free(fit->remedy);
  g_free(fit->verdict);
  ra_table_free(fit->memory);
  ra_table_free(fit->holders);
  ra_table_free(fit->hosts);
  ra_host_memory_free(fit->host);
  g_free(fit);
}
