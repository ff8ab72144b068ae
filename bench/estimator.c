/* Cost of estimates: ns an op by kind, milliseconds to load each shipped
 * profile.  `reallot validate` reports their errors.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/figure.h"
#include "estimator/estimator.h"

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
  g_autofree char *path = ra_share_find("profiles", name, NULL, &error);
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
    double begin_s = bench_wall_s();

    for (guint i = 0; i < n; i++) {
      op.dim[0] = first + i % 64;
      sum_s += ra_estimator_op_s(estimator, &op);
    }
    runs[r] = (bench_wall_s() - begin_s) / n * 1e9;
    g_assert(sum_s >= 0); /* used, so that nothing is left out */
  }
  return bench_median(runs, G_N_ELEMENTS(runs));
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
    double begin_s = bench_wall_s();

    ra_profile_free(load_profile(name));
    runs[r] = (bench_wall_s() - begin_s) * 1e3;
  }
  return bench_median(runs, G_N_ELEMENTS(runs));
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

int
main(int argc, char **argv)
{
  double ns, ms;

  if (argc > 2 || (argc == 2 && strcmp(argv[1], "--quick") != 0)) {
    fprintf(stderr, "usage: estimator [--quick]\n");
    return 2;
  }
  is_quick = argc == 2;
  ns = speed();
  ms = loading();
  bench_bar("op-estimate-ns", ns, BENCH_AT_MOST, 100);
  bench_bar("profile-load-ms", ms, BENCH_AT_MOST, 5);
  return 0;
}
