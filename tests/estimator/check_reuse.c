/* Reuse of weights: what of it an op says, what is measured and fitted, what a
 * decode step takes. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/fit.h"
#include "exec/measure/probe.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

/* The small model of bench/loop, of so many layers. */
static RaModel *
small_model(uint32_t layers)
{
  RaModelShape s;
  RaModel *m;

  ra_model_shape_init(&s, RA_MLP_GATED);
  s.layers = layers;
  s.hidden = 256;
  s.heads = 4;
  s.kv_heads = 2;
  s.ffn = 704;
  s.vocab = 1024;
  m = ra_model_from_shape(&s, NULL);
  ck_assert_ptr_nonnull(m);
  return m;
}

static RaShard
shard_of(const RaModel *m)
{
  return (RaShard){.model = m,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 1,
                   .dtype = RA_DTYPE_FP32,
                   .sampling = TRUE};
}

static RaPiece
whole(const RaModel *m)
{
  return (RaPiece){.n_layers = m->n_layers, .has_embedding = 1, .has_head = 1};
}

#define WEIGHTS (2 * (256 * 512 + 256 * 256 + 3 * 256 * 704) + 256 * 1024)

/* A shape says a reuse, or does not and reads back as none; what another op
 * says of itself (the fault) is none of its dimensions. */
START_TEST(test_text)
{
  RaOp op = {.kind = RA_OP_GEMM,
             .dtype = RA_DTYPE_FP32,
             .count = 1,
             .dim = {1, 2, 3, 4, 5}};
  RaOp back;
  g_autofree char *with = ra_op_shape(&op), *without = NULL;
  g_autoptr(GError) error = NULL;

  ck_assert_str_eq(with, "m=1,n=2,k=3,batch=4,reuse=5,dtype=fp32");
  ck_assert(ra_op_parse("gemm", with, &back, NULL));
  ck_assert_mem_eq(&op, &back, sizeof op);
  op.dim[RA_OP_REUSE_DIM] = 0;
  without = ra_op_shape(&op);
  ck_assert_str_eq(without, "m=1,n=2,k=3,batch=4,dtype=fp32");
  ck_assert(ra_op_parse("gemm", without, &back, NULL));
  ck_assert_mem_eq(&op, &back, sizeof op);
  ck_assert(!ra_op_parse("add", "tokens=1,width=2,reuse=3", &back, &error));
}
END_TEST

/* Two layers and the head have 1,736,704 weights, 6.625 MiB; a token's keys
 * and values 2 layers x 2 x 2 heads x 64 numbers, 2 KiB.  400 tokens are 0.78
 * MiB more: 8, up to (8 - 6.625) x 512 = 704.  Of two ranks 14.8: 15, up to
 * (7.5 - 6.625) x 512 = 448.  At 705 (the fault: one too many) it is 9.
 * Weights that are gathered at every step say none. */
START_TEST(test_mib)
{
  g_autoptr(RaModel) m = small_model(2);
  RaShard shard = shard_of(m);
  RaPiece piece = whole(m);
  RaBatch batch = {4, 4, 400, 400};
  uint64_t until;

  ck_assert_uint_eq(ra_op_reuse_mib(&shard, &piece, &batch, &until), 8);
  ck_assert_uint_eq(until, 704);
  batch.kv_tokens = 704;
  ck_assert_uint_eq(ra_op_reuse_mib(&shard, &piece, &batch, &until), 8);
  batch.kv_tokens = 705;
  ck_assert_uint_eq(ra_op_reuse_mib(&shard, &piece, &batch, &until), 9);
  batch.kv_tokens = 400;
  shard.tp_groups_per_node = 2;
  ck_assert_uint_eq(ra_op_reuse_mib(&shard, &piece, &batch, &until), 15);
  ck_assert_uint_eq(until, 448);
  shard.zero_ranks = 2;
  ck_assert_uint_eq(ra_op_reuse_mib(&shard, &piece, &batch, &until), 0);
  ck_assert_uint_eq(until, UINT64_MAX);
}
END_TEST

/* ---- The estimator --------------------------------------------------------
 */

/* Products at 0.5e12 FLOP/s and nothing else that counts; with @table they
 * take e^-0.5 of it at 8 MiB, all of it at 16, up to 64 rows. */
static Bench *
host_bench(gboolean table)
{
  const char *const edits[] = {"device.memory-bandwidth=1e100 B/s",
                               "gemm.fp32.peak-frac=1",
                               "gemm.fp32.reuse.lap-mib=16", NULL};
  g_autofree char *plain = profile_text(edits);
  g_autofree char *text = g_strconcat(
      plain,
      table ? "[table gemm.fp32.reuse]\naxis-1 = m 1 64\n"
              "axis-2 = n 256\naxis-3 = k 256\naxis-4 = reuse 8 16\n"
              "at-256-256-8 = -500 -500\nat-256-256-16 = 0 0\n"
            : "",
      NULL);

  return bench_new(profile_text_parse(text));
}

static RaDecodeLine
decode(const Bench *b, uint32_t layers, uint32_t n, uint64_t kv_tokens)
{
  g_autoptr(RaModel) m = small_model(layers);
  RaShard shard = shard_of(m);
  RaPiece piece = whole(m);
  RaDecodeLine line;

  ra_estimator_decode(b->estimator, &shard, &piece, n, kv_tokens, &line);
  return line;
}

/* A step of 4 sequences: 2 x 4 FLOP a weight at 0.5e12/s, of which e^-0.5 at 8
 * MiB (400 tokens, up to 704) and, an eighth of the way to 16 in log2 between
 * powers of two, e^-0.4375 at 9 (705 tokens).  Eight layers (24 MiB) and 65
 * rows are what they are without a table (which, the fault, the quick step is
 * not). */
START_TEST(test_decode)
{
  g_autoptr(Bench) with = host_bench(TRUE), without = host_bench(FALSE);
  double products_s = 2.0 * 4 * WEIGHTS / 0.5e12;
  RaDecodeLine line = decode(with, 2, 4, 400);

  ck_assert(ra_estimator_has_reuse(with->estimator));
  ck_assert(!ra_estimator_has_reuse(without->estimator));
  ck_assert_uint_eq(line.until_tokens, 704);
  ck_assert_double_eq_tol(decode(without, 2, 4, 400).cost.compute_s -
                              line.cost.compute_s,
                          products_s * (1 - exp(-0.5)), 1e-9 * products_s);
  ck_assert_double_eq_tol(decode(without, 2, 4, 705).cost.compute_s -
                              decode(with, 2, 4, 705).cost.compute_s,
                          products_s * (1 - exp(-0.4375)), 1e-9 * products_s);
  ck_assert_double_eq(decode(with, 8, 4, 400).cost.compute_s,
                      decode(without, 8, 4, 400).cost.compute_s);
  ck_assert_double_eq(decode(with, 2, 65, 400).cost.compute_s,
                      decode(without, 2, 65, 400).cost.compute_s);
}
END_TEST

/* ---- The fit --------------------------------------------------------------
 */

/* A product that says a reuse is a row of its law where the profile knows what
 * that makes of it, and of none where it does not; one that says none always.
 */
START_TEST(test_takes)
{
  g_autoptr(Bench) with = host_bench(TRUE);
  g_autoptr(RaProfile) without =
      profile_text_load("gemm.fp32.peak-frac=1", NULL);
  const RaFitLaw *law = ra_fit_host_law("gemm.fp32");
  RaOp op = {.kind = RA_OP_GEMM,
             .dtype = RA_DTYPE_FP32,
             .count = 1,
             .dim = {4, 256, 256, 1, 8}};

  ck_assert(ra_fit_takes(law, with->profile, &op));
  ck_assert(!ra_fit_takes(law, without, &op));
  op.dim[RA_OP_REUSE_DIM] = 0;
  ck_assert(ra_fit_takes(law, without, &op));
}
END_TEST

static const uint64_t knots[] = {2, 4, 8, 16, 32};

static void
add_row(GArray *rows, uint64_t m, uint64_t reuse, double s)
{
  RaMeasured row = {.op = {.kind = RA_OP_GEMM,
                           .dtype = RA_DTYPE_FP32,
                           .count = 1,
                           .dim = {m, 256, 256, 1, reuse}},
                    .measured_s = s,
                    .samples = {3, 0, 0.01}};

  g_array_append_val(rows, row);
}

static double
cell_at(const RaGrid *grid, uint64_t m, uint64_t reuse)
{
  double at[] = {(double)m, 256, 256, (double)reuse};

  return ra_grid_at(grid, at);
}

/* One row takes 1, 2, 2, 4, 8 units and eight rows 4, 5, 4, 4, 4 of it, at 2 to
 * 32 MiB, measured at 16.  The first stays what it is: ln of 1/4, 1/2, 1/2, 1,
 * 2.  The second falls: the nearest that does not is ln 4 and then the mean of
 * ln 5, 4, 4, 4, so behind the first all alike, 0, and that mean less.  Of what
 * lies between two others: at 4 MiB sqrt(1 x 2) for 2, and so on. */
START_TEST(test_fit)
{
  static const double units[][G_N_ELEMENTS(knots)] = {{1, 2, 2, 4, 8},
                                                      {4, 5, 4, 4, 4}};
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(RaHeldOut));
  g_autoptr(RaGrid) grid = NULL;

  for (guint i = 0; i < 2; i++)
    for (guint k = 0; k < G_N_ELEMENTS(knots); k++)
      add_row(rows, i ? 8 : 1, knots[k], 1e-5 * units[i][k]);
  grid = ra_fit_reuse(rows, 16, errors);
  ck_assert_ptr_nonnull(grid);
  for (guint k = 0; k < G_N_ELEMENTS(knots); k++) {
    ck_assert_double_eq_tol(cell_at(grid, 1, knots[k]), log(units[0][k] / 4),
                            1e-6);
    ck_assert_double_eq_tol(cell_at(grid, 8, knots[k]),
                            k == 0 ? log(4.) - log(5 * 4 * 4 * 4.) / 4 : 0,
                            1e-6);
  }
  ck_assert_uint_eq(errors->len, 2 * 3);
  ck_assert_double_eq_tol(g_array_index(errors, RaHeldOut, 0).error,
                          sqrt(1. * 2) / 2 - 1, 1e-9);
  /* Faulty: of what was not measured at the lap nothing can be said. */
  ck_assert_ptr_null(ra_fit_reuse(rows, 24, errors));
  ck_assert_ptr_null(ra_fit_reuse(none, 16, errors));
}
END_TEST

/* ---- The probe ------------------------------------------------------------
 */

#define MOST_SEEN 4096

static gconstpointer seen[MOST_SEEN]; /* weights, product by product */
static gint n_seen;

static void
see(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n, size_t k,
    const RaElem *a, size_t lda, const RaElem *b, size_t ldb, float beta,
    RaElem *c, size_t ldc)
{
  gint at = g_atomic_int_add(&n_seen, 1);

  if (at < MOST_SEEN)
    seen[at] = b;
}

static double
tick(gpointer data)
{
  return *(double *)data += 1e-9;
}

static int
compare_pointers(const void *a, const void *b)
{
  gconstpointer x = *(const gconstpointer *)a, y = *(const gconstpointer *)b;

  return (x > y) - (x < y);
}

/* Different weights of 256 KiB that products of @n_ranks ranks have met. */
static guint
n_weights(uint32_t n_ranks, uint64_t reuse)
{
  RaBackend backend = *ra_backend_host(NULL);
  RaProbeMachine machine = {.backend = &backend,
                            .dtype = RA_DTYPE_FP32,
                            .pool_bytes = 2 << 20,
                            .lap_bytes = 2 << 20,
                            .most_lap_bytes = 8 << 20};
  RaProbePoint point = {.op = {.kind = RA_OP_GEMM,
                               .dtype = RA_DTYPE_FP32,
                               .count = 1,
                               .dim = {4, 256, 256, 1, reuse}}};
  double at_s = 0;
  RaProbeOptions o;
  RaProbeSample sample;
  guint n = 0, all;

  backend.gemm = see;
  ra_probe_options_init(&o);
  o.machine = &machine;
  o.n_ranks = n_ranks;
  o.clock = tick;
  o.clock_data = &at_s;
  g_autoptr(RaProbe) probe = ra_probe_new(&o, NULL);
  n_seen = 0;
  ra_probe_run(probe, &point, &sample);
  all = MIN((guint)n_seen, MOST_SEEN);
  qsort(seen, all, sizeof *seen, compare_pointers);
  for (guint i = 0; i < all; i++)
    n += i == 0 || seen[i] != seen[i - 1];
  return n;
}

/* A reuse of 4 MiB is 16 such weights, of two ranks 8 MiB, each its 16; of 16
 * MiB, more than the pool, all its 32.  Without one (the fault) the machine's
 * lap, 8. */
START_TEST(test_probe)
{
  uint32_t n_ranks = 1 + (uint32_t)_i;

  ck_assert_uint_eq(n_weights(n_ranks, 4 * n_ranks), 16 * n_ranks);
  ck_assert_uint_eq(n_weights(n_ranks, 16 * n_ranks), 32 * n_ranks);
  ck_assert_uint_eq(n_weights(n_ranks, 0), 8 * n_ranks);
}
END_TEST

static Suite *
reuse_suite(void)
{
  Suite *suite = suite_create("reuse");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_text);
  tcase_add_test(tcase, test_mib);
  tcase_add_test(tcase, test_decode);
  tcase_add_test(tcase, test_takes);
  tcase_add_test(tcase, test_fit);
  tcase_add_loop_test(tcase, test_probe, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(reuse_suite)
