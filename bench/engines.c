/* Constants of inference engines: those of share/systems/NAME.system, fitted
 * again, and their errors on rows outside the fit.
 *
 *     engines [--quick] [--fit] [DATA]
 *
 * DATA is the folder that has infer_e2e and comm_nccl.  An engine is fitted on
 * three points, named below: TensorRT-LLM on times of a token, vLLM, of which
 * no such time of a model that can be predicted is open, on its all-reduce.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/figure.h"
#include "bench/system_fit.h"
#include "estimator/estimator.h"
#include "study/validate/validate_impl.h"
#include "traces/csv.h"

#define N_POINTS 3
#define TOKEN_BAR_FRAC 0.10 /* of times of a token that were not fitted */

static const RaValidateRequests token_points[N_POINTS] = {
    {"llama3.1-8b", "h100", "bf16", 8, 1024, 128, 128},
    {"llama3.1-8b", "h100", "bf16", 8, 1024, 128, 32},
    {"llama3.1-8b", "h100", "bf16", 8, 1024, 512, 8},
};
static const struct {
  double gpus, elements; /* of 2 bytes */
} sum_points[N_POINTS] = {{2, 4096}, {4, 32768}, {8, 262144}};

static const char *const token_keys[] = {"prefill-layer", "one-shot", NULL};
static const char *const sum_keys[] = {"one-shot", NULL};

/* A measured all-reduce. */
typedef struct {
  RaOp op;
  double s;
  gboolean is_point;
} Sum;

typedef struct {
  double token_s[N_POINTS]; /* measured */
  GArray *sums;             /* Sum */
  RaEstimator *estimator;   /* of the GPU of sums */
} Measured;

static void
die(const GError *error)
{
  fprintf(stderr, "engines: %s\n", error ? error->message : "a point is gone");
  exit(2);
}

static gboolean
read_token(const RaCsvLine *line, gpointer data, GError **error)
{
  Measured *m = data;
  double v[5];

  if (!ra_csv_numbers(line, 4, 5, v, error))
    return FALSE;
  for (guint i = 0; i < N_POINTS; i++) {
    const RaValidateRequests *p = &token_points[i];

    if (strcmp(line->field[0], p->model) == 0 &&
        strcmp(line->field[1], p->gpu) == 0 &&
        strcmp(line->field[2], "trtllm") == 0 &&
        strcmp(line->field[3], p->precision) == 0 && (uint32_t)v[0] == p->tp &&
        (uint32_t)v[1] == p->n_in && (uint32_t)v[2] == p->n_out &&
        (uint32_t)v[3] == p->n)
      m->token_s[i] = 1e-3 * v[4];
  }
  return TRUE;
}

static gboolean
read_sum(const RaCsvLine *line, gpointer data, GError **error)
{
  Measured *m = data;
  double v[3];
  Sum sum = {.op = {.kind = RA_OP_ALL_REDUCE, .count = 1}};

  if (!ra_csv_numbers(line, 2, 3, v, error))
    return FALSE;
  if (strcmp(line->field[0], "h100") != 0 ||
      strcmp(line->field[1], "vLLM_custom_graph") != 0 || v[2] <= 0)
    return TRUE;
  sum.op.dim[0] = (uint64_t)(2 * v[1]);
  sum.op.dim[1] = sum.op.dim[2] = (uint64_t)v[0];
  sum.op.dim[3] = 1;
  sum.s = 1e-6 * v[2];
  for (guint i = 0; i < N_POINTS; i++)
    sum.is_point = sum.is_point || (fabs(v[0] - sum_points[i].gpus) < 0.5 &&
                                    fabs(v[1] - sum_points[i].elements) < 0.5);
  g_array_append_val(m->sums, sum);
  return TRUE;
}

static void
read_folder(const char *data, const char *folder, const char *prefix,
            const char *const *columns, RaCsvRow read, Measured *m)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *path = g_build_filename(data, folder, NULL);
  g_autoptr(GPtrArray) files = ra_csv_find(path, prefix);

  for (guint i = 0; i < files->len; i++)
    if (!ra_csv_read(files->pdata[i], columns, read, m, &error))
      die(error);
}

static void
token_residuals(const RaSystemConstants *constants, double *out, gpointer data)
{
  const Measured *m = data;

  for (guint i = 0; i < N_POINTS; i++) {
    g_autoptr(GError) error = NULL;
    double s = ra_validate_token_s(&token_points[i], constants, &error);

    if (s <= 0 || m->token_s[i] <= 0)
      die(error);
    out[i] = log(s / m->token_s[i]);
  }
}

/* Seconds of an engine that has both: the faster one. */
static double
sum_s(const Measured *m, const RaOp *op)
{
  double wire_s = ra_estimator_op_s(m->estimator, op);
  double own_s = ra_estimator_engine_sum_s(m->estimator, op);

  return MIN(wire_s, own_s);
}

static void
sum_residuals(const RaSystemConstants *constants, double *out, gpointer data)
{
  const Measured *m = data;
  guint n = 0;

  ra_estimator_set_system(m->estimator, constants);
  for (guint i = 0; i < m->sums->len; i++) {
    const Sum *sum = &g_array_index(m->sums, Sum, i);

    if (sum->is_point && n < N_POINTS)
      out[n++] = log(sum_s(m, &sum->op) / sum->s);
  }
  if (n < N_POINTS)
    die(NULL);
}

static RaSystemConstants
constants_of(const char *engine)
{
  g_autoptr(RaSystem) system = ra_validate_engine(engine);

  if (!system)
    die(NULL);
  return system->constants;
}

/* Times of a token that were not fitted, as shipped. */
static void
print_tokens(const char *data)
{
  const RaValidateOptions options = {.data = data, .pattern = "tpot"};
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(RaValidation) v = ra_validate(&options, NULL);

  for (guint i = 0; v && i < v->results->len; i++) {
    GArray *rows = g_array_index(v->results, RaValidateResult, i).rows;

    for (guint j = 0; j < rows->len; j++) {
      const RaValidateRow *row = &g_array_index(rows, RaValidateRow, j);
      double error = fabs(row->predicted / row->measured - 1);

      if (strcmp(row->part, "trtllm") == 0)
        g_array_append_val(errors, error);
    }
  }
  bench_bar("tensorrt-llm-token-median-frac",
            bench_median((double *)(gpointer)errors->data, errors->len),
            BENCH_AT_MOST, TOKEN_BAR_FRAC);
}

static void
print_sums(const Measured *m)
{
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));

  for (guint i = 0; i < m->sums->len; i++) {
    const Sum *sum = &g_array_index(m->sums, Sum, i);
    double error = fabs(sum_s(m, &sum->op) / sum->s - 1);

    if (!sum->is_point)
      g_array_append_val(errors, error);
  }
  printf("# vllm: median error of %u all-reduces that were not fitted %.3f; "
         "no bar\n",
         errors->len,
         bench_median((double *)(gpointer)errors->data, errors->len));
}

static void
run(const char *data, gboolean refit)
{
  static const char *const token_columns[] = {
      "model",   "gpu", "engine", "precision",
      "tp",      "isl", "osl",    "batch_per_replica",
      "tpot_ms", NULL};
  static const char *const sum_columns[] = {
      "gpu", "kernel", "num_gpus", "message_size_elems", "time_us", NULL};
  g_autoptr(GError) error = NULL;
  g_autoptr(RaProfile) profile = ra_validate_profile("h100", &error);
  Measured m = {.sums = g_array_new(FALSE, FALSE, sizeof(Sum))};
  SystemFit tokens = {token_keys, {5e-4, 5e-6}, N_POINTS, token_residuals, &m};
  SystemFit sums = {sum_keys, {5e-6}, N_POINTS, sum_residuals, &m};
  RaSystemConstants trtllm, vllm;
  RaCluster node = {.n_nodes = 1, .gpus_per_node = 8};

  if (!profile)
    die(error);
  node.device = profile->spec;
  m.estimator = ra_estimator_new(profile, &node, &error);
  if (!m.estimator)
    die(error);
  read_folder(data, "infer_e2e", "", token_columns, read_token, &m);
  read_folder(data, "comm_nccl", "aic_custom_allreduce", sum_columns, read_sum,
              &m);
  trtllm = refit ? system_fit(&tokens) : constants_of("trtllm");
  vllm = refit ? system_fit(&sums) : constants_of("vllm");
  printf("# tensorrt-llm-h100: three times of a token\n");
  system_fit_print(token_keys, &trtllm);
  printf("# vllm-h100: three all-reduces\n");
  system_fit_print(sum_keys, &vllm);
  ra_estimator_set_system(m.estimator, &vllm);
  print_sums(&m);
  print_tokens(data);
  ra_estimator_free(m.estimator);
  g_array_unref(m.sums);
}

int
main(int argc, char **argv)
{
  const char *folder = NULL;
  g_autofree char *data = NULL;
  gboolean refit = FALSE;

  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--fit") == 0)
      refit = TRUE;
    else if (argv[i][0] != '-' && !folder)
      folder = argv[i];
    else if (strcmp(argv[i], "--quick") != 0) { /* takes seconds as it is */
      fprintf(stderr, "usage: engines [--quick] [--fit] [DATA]\n");
      return 2;
    }
  }
  data = bench_data_folder(folder);
  run(data, refit);
  return 0;
}
