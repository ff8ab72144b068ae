/* Constants of an inference engine: those of tensorrt-llm-h100.system, fitted
 * again, and their errors on rows outside the fit.
 *
 *     engines [--quick] [--fit] [DATA]
 *
 * DATA is the folder that has infer_e2e.  TensorRT-LLM is fitted on three times
 * of a token, named below.  Of vLLM no such time of a model that can be
 * predicted is open.
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
static const char *const token_keys[] = {"prefill-layer", NULL};

typedef struct {
  double token_s[N_POINTS]; /* measured */
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
run(const char *data, gboolean refit)
{
  static const char *const token_columns[] = {
      "model",   "gpu", "engine", "precision",
      "tp",      "isl", "osl",    "batch_per_replica",
      "tpot_ms", NULL};
  Measured m = {0};
  SystemFit tokens = {token_keys, {5e-4}, N_POINTS, token_residuals, &m};
  RaSystemConstants trtllm;

  read_folder(data, "infer_e2e", "", token_columns, read_token, &m);
  trtllm = refit ? system_fit(&tokens) : constants_of("trtllm");
  printf("# tensorrt-llm-h100: three times of a token\n");
  system_fit_print(token_keys, &trtllm);
  print_tokens(data);
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
