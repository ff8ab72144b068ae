/* Cost of reallocating parameters: bytes that a GPU receives against the closed
 * forms, and the time to plan the sends.
 *
 * With t, p the tensor and pipeline sizes of training and t', p' those of
 * generation, M the bytes of all parameters:
 *
 *     all-gather, then slice                    (t p - 1) / (t p) M
 *     generation groups at stride t/t', p/p'    (t p - t' p') / (t' p' t p) M
 *
 * (HybridFlow, arXiv 2409.19256, table 2; the second is what P2P and broadcast
 * move when the rank order lets every GPU keep what it has.)  Means over the
 * GPUs, as embedding and head make stages unlike; norms, which tensor
 * parallelism does not divide, make the difference that is left.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/figure.h"
#include "graph/augment/realloc.h"

#define ELEMENT_BYTES 2 /* bf16 */
#define GPUS_PER_NODE 8
#define MOST_ERROR_FRAC 0.005 /* norms are 0.002 % to 0.02 % of parameters */

typedef struct {
  const char *model;
  uint32_t t, p;   /* training */
  uint32_t gt, gp; /* generation */
} Case;

static const Case cases[] = {
    {"llama-2-7b.json", 8, 1, 2, 1},   {"llama-2-13b.json", 8, 1, 4, 1},
    {"llama-2-70b.json", 8, 4, 8, 1},  {"llama-3-70b.json", 8, 4, 4, 2},
    {"llama-3-70b.json", 8, 8, 8, 1},  {"qwen2.5-32b.json", 8, 2, 4, 1},
    {"codellama-34b.json", 8, 4, 4, 1}};

static const struct {
  RaReallocScheme scheme;
  const char *name;
  gboolean strided; /* generation groups */
} rows[] = {{RA_REALLOC_ALL_GATHER, "all-gather", FALSE},
            {RA_REALLOC_P2P, "p2p", TRUE},
            {RA_REALLOC_BROADCAST, "broadcast", TRUE}};

static RaModel *
load_model(const char *name)
{
  GError *error = NULL;
  g_autofree char *path = ra_share_find("models", name, NULL, &error);
  RaModel *model = path ? ra_model_load(path, &error) : NULL;

  if (!model) {
    fprintf(stderr, "realloc: %s\n", error->message);
    exit(2);
  }
  return model;
}

/* On all @n_nodes nodes; free its stage layers. */
static RaCallPlan
make_plan(const RaModel *model, uint32_t n_nodes, const uint32_t degree[4],
          const RaAxis order[4])
{
  RaCallPlan plan = {.set = TRUE,
                     .mesh = {.runs = {{0, n_nodes}},
                              .n_runs = 1,
                              .n_nodes = n_nodes,
                              .gpus_per_node = GPUS_PER_NODE},
                     .tp = degree[RA_AXIS_TP],
                     .cp = degree[RA_AXIS_CP],
                     .dp = degree[RA_AXIS_DP],
                     .pp = degree[RA_AXIS_PP],
                     .ep = 1,
                     .n_virtual = 1};

  for (int i = 0; i < RA_N_AXES; i++)
    plan.axis[i] = (uint8_t)order[i];
  plan.stage_layers = g_new(uint32_t, plan.pp);
  ra_stage_layers_even(model->n_layers, plan.pp, plan.stage_layers);
  return plan;
}

static const RaAxis usual[] = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP};
/* dp = t/t' innermost and cp = p/p' before pp: every GPU generates with a part
 * of the model that its own shard is a part of. */
static const RaAxis strided[] = {RA_AXIS_DP, RA_AXIS_TP, RA_AXIS_CP,
                                 RA_AXIS_PP};

/* One row; how far the mean is from the closed form. */
static double
bytes_row(const Case *c, guint row)
{
  g_autoptr(RaModel) model = load_model(c->model);
  uint32_t n = c->t * c->p;
  RaCluster cluster = {.n_nodes = n / GPUS_PER_NODE,
                       .gpus_per_node = GPUS_PER_NODE};
  const uint32_t train[] = {c->t, 1, 1, c->p};
  const uint32_t generate[] = {c->gt, c->p / c->gp, c->t / c->gt, c->gp};
  RaCallPlan from = make_plan(model, cluster.n_nodes, train, usual);
  RaCallPlan to = make_plan(model, cluster.n_nodes, generate,
                            rows[row].strided ? strided : usual);
  g_autoptr(RaRealloc) r = ra_realloc_new(model, ELEMENT_BYTES, &from, &to,
                                          &cluster, rows[row].scheme);
  double m = (double)ra_model_n_params(model) * ELEMENT_BYTES;
  double mean = (double)r->load.total_bytes / n, tp = n;
  double gen = (double)c->gt * c->gp;
  double form =
      rows[row].strided ? (tp - gen) / (gen * tp) * m : (tp - 1) / tp * m;

  printf("%s\t%s\t%u\t%u\t%u\t%u\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\n", c->model,
         rows[row].name, c->t, c->p, c->gt, c->gp, mean, form, mean / form - 1,
         (double)r->load.max_intra_bytes, (double)r->load.max_inter_bytes);
  g_free(from.stage_layers);
  g_free(to.stage_layers);
  return fabs(mean / form - 1);
}

/* Median seconds of ra_realloc_new() of Llama-3-70B between @n_gpus GPUs:
 * training in tp 8, pp 4 to generation in tp 8. */
static double
time_row(uint32_t n_gpus, RaReallocScheme scheme, const char *name, guint n)
{
  g_autoptr(RaModel) model = load_model("llama-3-70b.json");
  RaCluster cluster = {.n_nodes = n_gpus / GPUS_PER_NODE,
                       .gpus_per_node = GPUS_PER_NODE};
  const uint32_t train[] = {8, 1, n_gpus / 32, 4};
  const uint32_t generate[] = {8, 1, n_gpus / 8, 1};
  RaCallPlan from = make_plan(model, cluster.n_nodes, train, usual);
  RaCallPlan to = make_plan(model, cluster.n_nodes, generate, usual);
  g_autofree double *times_s = g_new(double, n);
  double median_s;

  for (guint i = 0; i < n; i++) {
    double begin_s = bench_wall_s();
    ra_realloc_free(
        ra_realloc_new(model, ELEMENT_BYTES, &from, &to, &cluster, scheme));
    times_s[i] = bench_wall_s() - begin_s;
  }
  median_s = bench_median(times_s, n);
  printf("time\t%s\t%u\t%u\t%.9g\n", name, n_gpus, n, median_s);
  g_free(from.stage_layers);
  g_free(to.stage_layers);
  return median_s;
}

int
main(int argc, char **argv)
{
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  guint n = quick ? 3 : 21;
  double most_frac = 0, at_1024_s = 0;
  static const uint32_t sizes[] = {128, 1024, 16384};

  printf("# bytes that a GPU receives (mean), its closed form, and the most "
         "in or out of one\n");
  printf("model\tscheme\tt\tp\tgen_t\tgen_p\treceived_bytes\tform_bytes\t"
         "error_frac\tmax_intra_bytes\tmax_inter_bytes\n");
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    for (guint row = 0; row < G_N_ELEMENTS(rows); row++) {
      double error_frac = bytes_row(&cases[i], row);
      most_frac = MAX(most_frac, error_frac);
    }
  printf("# seconds of ra_realloc_new(): Llama-3-70B, tp 8 x pp 4 to tp 8\n");
  printf("time\tscheme\tgpus\truns\tmedian_s\n");
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
    for (guint row = 0; row < G_N_ELEMENTS(rows); row++) {
      double s;
      if (quick && sizes[i] > 1024)
        continue;
      s = time_row(sizes[i], rows[row].scheme, rows[row].name, n);
      if (sizes[i] == 1024)
        at_1024_s = MAX(at_1024_s, s);
    }
  bench_bar("realloc-form-most-frac", most_frac, BENCH_AT_MOST,
            MOST_ERROR_FRAC);
  bench_bar("realloc-1024-gpus-s", at_1024_s, BENCH_AT_MOST, 0.1);
  return 0;
}
