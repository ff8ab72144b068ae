/* What an estimate costs and how far it is from what others measured.
 *
 * Rows: ns an op by kind, milliseconds to load each shipped profile, and the
 * error of the shipped profiles on the published rows they were fitted on, by
 * law, beside the roofline's.  The last are in-sample; what counts are the rows
 * `held-out` behind them (bench/held_out.h), a minute's work that --quick
 * leaves out.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/held_out.h"
#include "estimator/estimator.h"
#include "traces/measured.h"

#define NODE_GPUS 8
#define NIC_BYTES_PER_S 50e9 /* NDR InfiniBand, 400 Gbit/s */

static gboolean is_quick;

/* A profile and an estimator on two nodes of its device. */
typedef struct {
  RaProfile *profile;
  RaCluster cluster;
  RaEstimator *estimator;
} Subject;

static RaProfile *
load_profile(const char *name)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *path = ra_data_find("profiles", name, NULL, &error);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, &error) : NULL;
  RaProfile *profile = file ? ra_profile_load(file, &error) : NULL;

  if (!profile) {
    fprintf(stderr, "%s\n", error->message);
    exit(2);
  }
  return profile;
}

/* Makes the estimator for a node whose NICs together have @nic_bytes_per_s. */
static void
subject_make(Subject *s, double nic_bytes_per_s)
{
  g_autoptr(GError) error = NULL;

  s->cluster = (RaCluster){.n_nodes = 2,
                           .gpus_per_node = NODE_GPUS,
                           .nics_per_node = NODE_GPUS,
                           .nic_bytes_per_s = nic_bytes_per_s / NODE_GPUS,
                           .device = s->profile->spec};
  ra_estimator_free(s->estimator);
  s->estimator = ra_estimator_new(s->profile, &s->cluster, &error);
  if (!s->estimator) {
    fprintf(stderr, "%s\n", error->message);
    exit(2);
  }
}

static void
subject_clear(Subject *s)
{
  ra_estimator_free(s->estimator);
  ra_profile_free(s->profile);
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* The @q-quantile of @values, which it sorts. */
static double
quantile(double *values, guint n, double q)
{
  guint at = (guint)ceil(q * n);

  qsort(values, n, sizeof *values, compare_doubles);
  return values[CLAMP(at, 1, n) - 1];
}

static double
now_s(void)
{
  return (double)g_get_monotonic_time() * 1e-6;
}

/* A shape as it comes up in a 70B model's layer on 8 GPUs. */
static RaOp
typical_op(RaOpKind kind)
{
  RaOp op = {.kind = (uint8_t)kind, .count = 1, .dim = {4096, 8192, 8192, 1}};

  switch (ra_op_class(kind)) {
  case RA_OP_CLASS_COMM:
    op.dim[0] = 1 << 26;
    op.dim[1] = 16;
    op.dim[2] = NODE_GPUS;
    break;
  default:
    if (kind == RA_OP_ATTENTION || kind == RA_OP_ATTENTION_BACKWARD ||
        kind == RA_OP_DECODE_ATTENTION)
      op = (RaOp){.kind = (uint8_t)kind,
                  .count = 1,
                  .dim = {4, 4096, 4096, 2098176, 8, 1, 128}};
  }
  return op;
}

/* Nanoseconds of one estimate of @kind: the median of nine runs, over shapes
 * that differ so that nothing can be hoisted. */
static double
op_ns(const RaEstimator *estimator, RaOpKind kind)
{
  guint n = is_quick ? 20000 : 500000;
  double runs[9];
  double sum_s = 0;

  for (guint r = 0; r < G_N_ELEMENTS(runs); r++) {
    RaOp op = typical_op(kind);
    uint64_t first = op.dim[0];
    double begin_s = now_s();

    for (guint i = 0; i < n; i++) {
      op.dim[0] = first + i % 64;
      sum_s += ra_estimator_op_s(estimator, &op);
    }
    runs[r] = (now_s() - begin_s) / n * 1e9;
    g_assert(sum_s >= 0); /* used, so that nothing is left out */
  }
  return quantile(runs, G_N_ELEMENTS(runs), 0.5);
}

static double
speed(void)
{
  Subject s = {.profile = load_profile("h100-sxm.profile")};
  double worst = 0;

  subject_make(&s, NODE_GPUS * NIC_BYTES_PER_S);
  printf("speed\top\ttime_ns\n");
  for (guint kind = 0; kind < RA_N_OPS; kind++) {
    double ns = op_ns(s.estimator, (RaOpKind)kind);

    printf("speed\t%s\t%.3g\n", ra_op_name((RaOpKind)kind), ns);
    worst = MAX(worst, ns);
  }
  subject_clear(&s);
  return worst;
}

static double
load_ms(const char *name)
{
  double runs[9];

  for (guint r = 0; r < G_N_ELEMENTS(runs); r++) {
    double begin_s = now_s();

    ra_profile_free(load_profile(name));
    runs[r] = (now_s() - begin_s) * 1e3;
  }
  return quantile(runs, G_N_ELEMENTS(runs), 0.5);
}

static double
loading(void)
{
  static const char *const names[] = {"a100-sxm.profile", "h100-sxm.profile",
                                      "h200-sxm.profile"};
  double worst = 0;

  printf("load\tprofile\ttime_ms\n");
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    double ms = load_ms(names[i]);

    printf("load\t%s\t%.3g\n", names[i], ms);
    worst = MAX(worst, ms);
  }
  return worst;
}

/* Least seconds by the data sheet: FLOP over the peak, bytes over the memory's
 * or the links' bandwidth, no latency. */
static double
roofline_s(const RaMeasured *row, const RaCluster *cluster)
{
  const RaDevice *device = &cluster->device;
  double peak = row->op.dtype == RA_DTYPE_FP8 ? device->fp8_flop_per_s
                                              : device->bf16_flop_per_s;
  double n = (double)row->op.dim[1], bytes = (double)row->op.dim[0];

  if (row->op.kind == RA_OP_SEND)
    return bytes / device->intra_bytes_per_s;
  if (ra_op_class((RaOpKind)row->op.kind) == RA_OP_CLASS_COMM) {
    double ring = (row->op.kind == RA_OP_ALL_REDUCE ? 2 : 1) * (n - 1) / n;
    double rate = row->nic_bytes_per_s > 0
                      ? MIN(row->nic_bytes_per_s, device->intra_bytes_per_s)
                      : device->intra_bytes_per_s;

    return ring * bytes / rate;
  }
  return MAX(ra_op_flop(&row->op) / peak,
             ra_op_bytes(&row->op) / device->memory_bytes_per_s);
}

static GArray *
read_rows(const char *data, const char *source, const char *gpu)
{
  g_autoptr(GError) error = NULL;
  GArray *rows = ra_measured_rows(data, source, gpu, &error);

  if (!rows) {
    fprintf(stderr, "%s\n", error->message);
    exit(2);
  }
  return rows;
}

/* Held-out errors of the law behind @source, as text; `-`: not measured. */
static const RaLaw *
law_of(const Subject *s, const char *source)
{
  g_autofree char *memory = g_strdup_printf("memory.%s", source);
  const RaLaw *law = ra_profile_law(s->profile, source);

  return law ? law : ra_profile_law(s->profile, memory);
}

/* Prints one line of the error table.
 * Returns: the median error, NAN without rows */
static double
error_row(Subject *s, const char *data, const char *source, const char *gpu)
{
  g_autoptr(GArray) rows = read_rows(data, source, gpu);
  g_autofree double *error = g_new(double, rows->len + 1);
  g_autofree double *roofline = g_new(double, rows->len + 1);
  const RaLaw *law = law_of(s, source);
  double nic = NODE_GPUS * NIC_BYTES_PER_S, bias = 0, median;

  if (rows->len == 0 || !law)
    return (double)NAN;
  subject_make(s, nic);
  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);
    double e;

    if (row->nic_bytes_per_s > 0 && row->nic_bytes_per_s != nic)
      subject_make(s, nic = row->nic_bytes_per_s);
    e = ra_estimator_op_s(s->estimator, &row->op) / row->measured_s - 1;
    bias += e / rows->len;
    error[i] = fabs(e);
    roofline[i] = fabs(roofline_s(row, &s->cluster) / row->measured_s - 1);
  }
  median = quantile(error, rows->len, 0.5);
  printf("error\t%s\t%s\t%u\t%.3f\t%.3f\t%+.3f\t%.3f\t%.3f\t%.3f\t%.3f\n", gpu,
         source, rows->len, median, quantile(error, rows->len, 0.9), bias,
         law->error_median_frac, law->error_p90_frac,
         quantile(roofline, rows->len, 0.5),
         quantile(roofline, rows->len, 0.9));
  return median;
}

/* The error table, and, unless quick, what held-out lines say. */
static void
errors(const char *data)
{
  static const char *const gpus[] = {"h100", "a100"};

  printf("error\tgpu\tlaw\trows\tmedian_frac\tp90_frac\tbias_frac\t"
         "held_out_median_frac\theld_out_p90_frac\troofline_median_frac\t"
         "roofline_p90_frac\n");
  for (guint g = 0; g < G_N_ELEMENTS(gpus); g++) {
    g_autofree char *name = g_strdup_printf("%s-sxm.profile", gpus[g]);
    Subject s = {.profile = load_profile(name)};

    for (guint i = 0; ra_measured_sources[i]; i++)
      error_row(&s, data, ra_measured_sources[i], gpus[g]);
    subject_clear(&s);
  }
  for (guint g = 0; g < G_N_ELEMENTS(gpus) && !is_quick; g++) {
    g_autofree char *name = g_strdup_printf("%s-sxm.profile", gpus[g]);
    g_autoptr(RaProfile) profile = load_profile(name);

    held_out_bars(profile, gpus[g], data);
  }
}

/* The folder of measurements: beside the source tree, whose share/ is first in
 * RA_DATA_PATH under `make bench`. */
static char *
find_data(void)
{
  const char *path = g_getenv("RA_DATA_PATH");
  g_auto(GStrv) folders = g_strsplit(path ? path : "share", ":", 2);

  return g_build_filename(folders[0], "..", "..", "shared", "data", NULL);
}

int
main(int argc, char **argv)
{
  g_autofree char *data = NULL;
  double ns, ms;

  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      is_quick = TRUE;
    } else if (i + 1 < argc && strcmp(argv[i], "--data") == 0) {
      data = g_strdup(argv[++i]);
    } else {
      fprintf(stderr, "usage: estimator [--quick] [--data DIR]\n");
      return 2;
    }
  }
  if (!data)
    data = find_data();
  ns = speed();
  ms = loading();
  errors(data);
  print_bar("op-estimate-ns", ns, 100);
  print_bar("profile-load-ms", ms, 5);
  return 0;
}
