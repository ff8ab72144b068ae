/* The collectives of this machine's GPUs over NCCL, as a trace for
 * `calibrate --from`.
 *
 *   bench/collectives [--trace=FILE] [--log=LOG]...
 *
 * Also beside products and norms of the same GPUs, which `calibrate` fits the
 * overlap law on.  Each LOG is of nccl-tests on this machine (all_reduce_perf
 * and its sisters): from 1 MiB on the bus bandwidth of the same operation is at
 * least 95 % of it, the least over the sizes.  Fewer than two GPUs: one line,
 * status 3.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/figure.h"
#include "exec/backend/backend_cuda.h"
#include "exec/measure/collective_probe.h"
#include "traces/nccl_log.h"

#define LARGE_BYTES (1 << 20)
#define LEAST_SHARE 0.95

/* The least of what the log's seconds are of ours, over the sizes of both. */
static double
least_share(const GArray *ours, const char *path, GError **error)
{
  g_autoptr(GArray) theirs = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
  double least = (double)NAN;

  if (!ra_nccl_log_load(path, theirs, notes, error))
    return least;
  for (guint i = 0; i < theirs->len; i++)
    for (guint k = 0; k < ours->len; k++) {
      const RaMeasured *a = &g_array_index(theirs, RaMeasured, i);
      const RaMeasured *b = &g_array_index(ours, RaMeasured, k);

      if (a->op.kind == b->op.kind && a->op.dim[0] == b->op.dim[0] &&
          a->op.dim[0] >= LARGE_BYTES && a->op.dim[1] == b->op.dim[1] &&
          a->op.dim[2] == b->op.dim[2] && a->op.dim[3] == b->op.dim[3])
        least = fmin(least, a->measured_s / b->measured_s);
    }
  return least;
}

static void
print_rows(const GArray *rows)
{
  puts("# op; bytes, ranks, of a node, groups at a time; seconds");
  puts("op\tshape\tseconds");
  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);
    g_autofree char *shape = ra_op_shape(&row->op);

    printf("%s\t%s\t%.6g\n", ra_op_name((RaOpKind)row->op.kind), shape,
           row->measured_s);
  }
}

/* In the mean over both passes, of what the same takes alone. */
static void
print_beside(const GArray *rows, const GArray *beside)
{
  puts("# beside the other kind: times as long as alone");
  puts("op\tshape\tbeside\tfactor");
  for (guint i = 0; i < beside->len; i++) {
    const RaCollectiveBeside *b = &g_array_index(beside, RaCollectiveBeside, i);
    g_autofree char *shape = ra_op_shape(&b->op);
    g_autofree char *other = ra_op_shape(&b->collective);
    double alone_s = (double)NAN;

    for (guint k = 0; k < rows->len; k++) {
      const RaMeasured *row = &g_array_index(rows, RaMeasured, k);

      if (row->op.kind == b->op.kind &&
          memcmp(row->op.dim, b->op.dim, sizeof b->op.dim) == 0)
        alone_s = row->measured_s;
    }
    printf("%s\t%s\t%s %s\t%.3f\n", ra_op_name((RaOpKind)b->op.kind), shape,
           ra_op_name((RaOpKind)b->collective.kind), other,
           (b->op_s[0] + b->op_s[1]) / 2 / alone_s);
  }
}

static gboolean
run(const char *path, char **logs, uint32_t n_gpus, GError **error)
{
  g_autoptr(GArray) beside =
      g_array_new(FALSE, FALSE, sizeof(RaCollectiveBeside));
  g_autoptr(GArray) rows = NULL;
  g_autoptr(RaTrace) trace = NULL;
  RaCollectiveProbe probe;

  ra_collective_probe_init(&probe, ra_nccl_cuda(), n_gpus);
  probe.backend = ra_backend_cuda();
  rows = ra_collective_probe(&probe, beside, error);
  if (!rows)
    return FALSE;
  print_rows(rows);
  print_beside(rows, beside);
  for (guint i = 0; logs && logs[i]; i++) {
    double share = least_share(rows, logs[i], error);

    if (error && *error)
      return FALSE;
    printf("# %s\n", logs[i]);
    bench_bar("collectives_of_nccl_tests", share, BENCH_AT_LEAST, LEAST_SHARE);
  }
  if (!path)
    return TRUE;
  trace = ra_collective_trace(&probe, rows, beside);
  return ra_trace_save(trace, path, error);
}

int
main(int argc, char **argv)
{
  char *path = NULL, **logs = NULL;
  const GOptionEntry entries[] = {
      {"trace", 0, 0, G_OPTION_ARG_FILENAME, &path, "write them to FILE",
       "FILE"},
      {"log", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &logs, "of nccl-tests", "LOG"},
      {.long_name = NULL}};
  g_autoptr(GOptionContext) context = g_option_context_new("");
  g_autoptr(GError) error = NULL;
  uint32_t n_gpus = ra_nccl_cuda()->n_devices();

  g_option_context_add_main_entries(context, entries, NULL);
  if (!g_option_context_parse(context, &argc, &argv, &error) || argc > 1) {
    fprintf(stderr, "collectives: %s\n",
            error ? error->message : "one argument too many");
    return 2;
  }
  if (n_gpus < 2) {
    fprintf(stderr, "collectives: %u GPUs, expected two or more\n", n_gpus);
    return 3;
  }
  if (run(path, logs, n_gpus, &error))
    return 0;
  fprintf(stderr, "collectives: %s\n", error->message);
  return 4;
}
