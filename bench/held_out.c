#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/held_out.h"
#include "estimator/fit.h"

#define MIB 1048576.0

/* One level of the error table: sources whose errors are pooled. */
typedef struct {
  const char *name;
  const char *laws[6]; /* NULL-terminated */
  guint line;          /* which line is left out; 2: both */
  double least_bytes;  /* rows of smaller messages are not scored */
  double median, p90;  /* bars; 0: none */
} Level;

static const Level levels[] = {
    {"gemm-bf16", {"gemm.bf16"}, 2, 0, 0.035, 0.12},
    {"gemm-fp8", {"gemm.fp8"}, 2, 0, 0.035, 0.12},
    {"attention-prefill", {"attention"}, 0, 0, 0.04, 0.15},
    {"attention-decode", {"decode-attention"}, 0, 0, 0.04, 0.15},
    {"layer-ops-by-model",
     {"memory.norm", "memory.rope", "memory.activation", "memory.add"},
     1,
     0,
     0.10,
     0.30},
    {"layer-ops-by-shard",
     {"memory.norm", "memory.rope", "memory.activation", "memory.add"},
     0,
     0,
     0,
     0},
    {"collectives-by-size",
     {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"},
     0,
     0,
     0.05,
     0.16},
    {"collectives-by-size-1MiB",
     {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"},
     0,
     MIB,
     0.04,
     0},
    {"collectives-by-gpus",
     {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"},
     1,
     0,
     0.05,
     0.16},
    /* 4 GPUs lie between those that are left, 2 and 8 do not. */
    {"collectives-by-gpus-4",
     {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"},
     1,
     0,
     0.05,
     0.16},
    {"inter-node-by-size-16MiB", {"inter-node"}, 1, 16 * MIB, 0.07, 0.18},
    {"inter-node-by-table-16MiB", {"inter-node"}, 0, 16 * MIB, 0.25, 0.50},
    {"exchange-by-size", {"inter-node.all-to-all"}, 0, 0, 0.15, 0.35},
    {"p2p-in-node-by-size", {"p2p.node"}, 0, 0, 0.10, 0.25},
    {"p2p-across-by-size", {"p2p.nodes"}, 0, 0, 0.10, 0.25},
    {"send-in-node-by-size", {"send"}, 0, 0, 0.10, 0.25},
};

void
print_bar(const char *name, double value, double limit)
{
  if (isnan(value))
    printf("bar\t%s\t-\t<=%g\tshort\n", name, limit);
  else
    printf("bar\t%s\t%.3g\t<=%g\t%s\n", name, value, limit,
           value <= limit ? "ok" : "short");
}

static gboolean
is_message(const RaOp *op)
{
  return ra_op_class((RaOpKind)op->kind) == RA_OP_CLASS_COMM;
}

/* Appends the errors of one law at @level to @pool. */
static void
add_law(const Level *level, const char *name, RaProfile *profile,
        const char *gpu, const char *data, GArray *pool)
{
  g_autoptr(GError) error = NULL;
  RaFitLaw law = g_str_has_prefix(name, "p2p.")
                     ? *ra_fit_pair(g_str_has_suffix(name, "s"))
                     : *ra_fit_law(name);
  g_autoptr(GArray) rows = ra_measured_rows(data, law.source, gpu, &error);
  g_autoptr(GArray) errors = NULL;
  guint ranks = g_str_has_suffix(level->name, "-gpus-4") ? 4 : 0, table;

  if (!rows) {
    fprintf(stderr, "%s\n", error->message);
    exit(2);
  }
  if (rows->len == 0 || !ra_profile_law(profile, law.law))
    return;
  law.lines = level->line == 2 ? 3 : 1u << level->line;
  errors = ra_fit_cross(&law, profile, rows, &table);
  for (guint i = 0; i < errors->len; i++) {
    const RaHeldOut *one = &g_array_index(errors, RaHeldOut, i);
    const RaOp *op = &g_array_index(rows, RaMeasured, one->row).op;

    if ((!is_message(op) || (double)op->dim[0] >= level->least_bytes) &&
        (ranks == 0 || op->dim[1] == ranks))
      g_array_append_val(pool, *one);
  }
}

static double
bias(const GArray *pool)
{
  double sum = 0;

  for (guint i = 0; i < pool->len; i++)
    sum += g_array_index(pool, RaHeldOut, i).error;
  return sum / pool->len;
}

void
held_out_bars(RaProfile *profile, const char *gpu, const char *data)
{
  printf("held-out\tgpu\tlevel\trows\tmedian_frac\tp90_frac\tbias_frac\n");
  for (guint i = 0; i < G_N_ELEMENTS(levels); i++) {
    const Level *level = &levels[i];
    g_autoptr(GArray) pool = g_array_new(FALSE, FALSE, sizeof(RaHeldOut));
    g_autofree char *name = g_strdup_printf("%s-%s", gpu, level->name);
    g_autofree char *median_name = g_strconcat(name, "-median-frac", NULL);
    g_autofree char *p90_name = g_strconcat(name, "-p90-frac", NULL);
    double median, p90, scale;

    for (guint j = 0; level->laws[j]; j++)
      add_law(level, level->laws[j], profile, gpu, data, pool);
    if (pool->len == 0)
      continue;
    ra_fit_errors(pool, &median, &p90);
    printf("held-out\t%s\t%s\t%u\t%.4f\t%.4f\t%+.4f\n", gpu, level->name,
           pool->len, median, p90, bias(pool));
    /* The A100's products have a bar of their own. */
    scale =
        *gpu == 'a' && g_str_has_prefix(level->name, "gemm") ? 5.5 / 3.5 : 1;
    if (level->median > 0)
      print_bar(median_name, median, level->median * scale);
    if (level->p90 > 0)
      print_bar(p90_name, p90, scale > 1 ? 0.20 : level->p90);
  }
}
