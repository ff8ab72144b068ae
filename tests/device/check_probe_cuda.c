/* Tests of the probe of a GPU on the emulated device. */
#include "config.h"

#include <math.h>

#include "exec/backend/backend_cuda.h"
#include "exec/measure/probe.h"
#include "tests/emulator/measure.h"
#include "tests/support/check_main.h"

/* The probe of a GPU on the emulated device: every op that it measures runs
 * there, at shapes that the kernels take; its clock is the test's. */

/* A timer that says, in milliseconds, 1000 of each warm-up and then 2. */
typedef struct {
  guint n;       /* stretches so far */
  guint n_first; /* of them that are as long as the first */
} Clock;

#define FIRST_MS 1000.0f
#define THEN_MS 2.0f

static float
stop(void *data)
{
  Clock *c = data;

  return c->n++ < c->n_first ? FIRST_MS : THEN_MS;
}

static guint n_flushed;
static RaBackend faulty;   /* with an op that leaves something out */
static RaProbeMachine own; /* of the test at hand */

static void
flush(void)
{
  n_flushed++;
}

static void
no_poison(void *to, gsize n_bytes)
{
  (void)to;
  (void)n_bytes;
}

static RaProbe *
new_probe(const RaBackend *backend, gboolean is_poisoned)
{
  RaProbeOptions o;

  own = *ra_probe_machine_cuda();
  own.backend = backend;
  if (!is_poisoned)
    own.poison = no_poison;
  own.flush = flush;
  /* The emulator takes its time to copy. */
  own.pool_bytes = own.lap_bytes = (gsize)4 << 20;
  ra_probe_options_init(&o);
  o.machine = &own;
  o.sample_s = 0;
  n_flushed = 0;
  return ra_probe_new(&o, NULL);
}

/* A small op of each kind; attention of 2 sequences of 20 tokens. */
static const RaProbePoint points[] = {
    {{.kind = RA_OP_GEMM, .dim = {24, 40, 16, 1}}, RA_PROBE_FORWARD},
    {{.kind = RA_OP_GEMM, .dim = {24, 1, 16, 1}}, RA_PROBE_FORWARD},
    {{.kind = RA_OP_GEMM, .dim = {72, 40, 16, 1}}, RA_PROBE_INPUT},
    {{.kind = RA_OP_GEMM, .dim = {24, 40, 16, 1}}, RA_PROBE_WEIGHT},
    {{.kind = RA_OP_GEMM, .dim = {7, 40, 16, 3}}, RA_PROBE_FORWARD},
    {{.kind = RA_OP_GEMM, .dim = {24, 40, 7, 3}}, RA_PROBE_WEIGHT},
    {{.kind = RA_OP_ROUTER, .dim = {9, 16, 2}}, 0},
    {{.kind = RA_OP_PERMUTE, .dim = {18, 64, 2}}, RA_PROBE_FORWARD},
    {{.kind = RA_OP_PERMUTE, .dim = {18, 64, 2}}, RA_PROBE_INPUT},
    {{.kind = RA_OP_ATTENTION, .dim = {2, 40, 40, 420, 4, 2, 64}}, 0},
    {{.kind = RA_OP_ATTENTION_BACKWARD, .dim = {2, 40, 40, 420, 4, 2, 64}}, 0},
    {{.kind = RA_OP_DECODE_ATTENTION, .dim = {3, 3, 300, 300, 4, 2, 64}}, 0},
    {{.kind = RA_OP_NORM, .dim = {5, 64}}, 0},
    {{.kind = RA_OP_NORM_BACKWARD, .dim = {5, 64}}, 0},
    {{.kind = RA_OP_ROPE, .dim = {5, 6, 64}}, 0},
    {{.kind = RA_OP_ACTIVATION, .dim = {5, 64, 1}}, 0},
    {{.kind = RA_OP_ACTIVATION_BACKWARD, .dim = {5, 64, 1}}, 0},
    {{.kind = RA_OP_ADD, .dim = {5, 64}}, 0},
    {{.kind = RA_OP_EMBEDDING, .dim = {5, 64, 48}}, 0},
    {{.kind = RA_OP_EMBEDDING_BACKWARD, .dim = {5, 64, 48}}, 0},
    {{.kind = RA_OP_CROSS_ENTROPY, .dim = {5, 48}}, 0},
    {{.kind = RA_OP_CROSS_ENTROPY_BACKWARD, .dim = {5, 48}}, 0},
    {{.kind = RA_OP_SAMPLE, .dim = {2, 48}}, 0},
    {{.kind = RA_OP_LOSS, .dim = {40}}, 0},
    {{.kind = RA_OP_OPTIMIZER, .dim = {4096}}, 0},
    {{.kind = RA_OP_OFFLOAD, .dim = {4096}}, 0},
    {{.kind = RA_OP_RELOAD, .dim = {4096}}, 0},
};

static RaProbePoint
at(guint index)
{
  RaProbePoint p = points[index];

  p.op.dtype = RA_DTYPE_BF16;
  p.op.count = 1;
  return p;
}

static RaProbePoint
at_kind(RaOpKind kind)
{
  guint i = 0;

  while (points[i].op.kind != kind)
    i++;
  return at(i);
}

/* The two repeats before those that count are left out whatever they took: the
 * five that are kept say 2 ms, 0.002 s, all of them, behind seven emptied
 * caches.  What the host does is not asked of the device's timer. */
START_TEST(test_ops)
{
  RaProbePoint point = at((guint)_i);
  gboolean is_hosts = point.op.kind == RA_OP_LOSS;
  g_autoptr(RaProbe) probe = new_probe(ra_backend_cuda(), TRUE);
  Clock clock = {0, 2};
  RaProbeSample sample;

  ra_emu_set_timer(stop, &clock);
  ra_probe_run(probe, &point, &sample);
  ck_assert_msg(ra_backend_cuda()->failure() == NULL, "%s",
                ra_backend_cuda()->failure());
  ck_assert_uint_eq(sample.n_odd, 0);
  ck_assert_uint_eq(sample.n, 5);
  ck_assert_uint_eq(n_flushed, 7);
  ck_assert_uint_eq(clock.n, is_hosts ? 0 : 7);
  if (is_hosts)
    return;
  ck_assert_double_eq_tol(sample.median_s, 0.002, 1e-12);
  ck_assert_double_eq_tol(sample.high_s, 0.002, 1e-12);
  ck_assert_double_eq(sample.cpu_s, 0); /* the device has no core */
}
END_TEST

/* Every kind that is no collective. */
START_TEST(test_kinds)
{
  for (guint kind = 0; kind < RA_N_OPS; kind++) {
    gboolean there = FALSE;

    if (!ra_probe_has((RaOpKind)kind, FALSE) ||
        ra_op_class((RaOpKind)kind) == RA_OP_CLASS_COMM)
      continue;
    for (guint i = 0; i < G_N_ELEMENTS(points) && !there; i++)
      there = points[i].op.kind == kind;
    ck_assert_msg(there, "%s", ra_op_name((RaOpKind)kind));
  }
}
END_TEST

/* The fault of the clock: were three repeats as slow as a first one, one that
 * counts would be. */
START_TEST(test_slow)
{
  RaProbePoint point = at_kind(RA_OP_NORM);
  g_autoptr(RaProbe) probe = new_probe(ra_backend_cuda(), TRUE);
  Clock clock = {0, 3};
  RaProbeSample sample;

  ra_emu_set_timer(stop, &clock);
  ra_probe_run(probe, &point, &sample);
  ck_assert_double_eq_tol(sample.median_s, 0.002, 1e-12);
  ck_assert_uint_eq(sample.n, 5);
  clock = (Clock){0, 5};
  ra_probe_run(probe, &point, &sample); /* 3 of 5 */
  ck_assert_double_eq_tol(sample.median_s, 1, 1e-12);
}
END_TEST

static void
lazy_swiglu(size_t n_tokens, size_t width, const RaElem *gate_up, RaElem *out)
{
  ra_backend_cuda()->swiglu(n_tokens - 1, width, gate_up, out);
}

static void
lazy_gemm(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n, size_t k,
          const RaElem *a, size_t lda, const RaElem *b, size_t ldb, float beta,
          RaElem *c, size_t ldc)
{
  ra_backend_cuda()->gemm(order_a, order_b, m, n - 1, k, a, lda, b, ldb, beta,
                          c, ldc);
}

static void
lazy_spread_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                 const uint32_t *place, const RaElem *x, const float *gates,
                 RaElem *rows)
{
  ra_backend_cuda()->spread_rows(routing, n_tokens - 1, width, place, x, gates,
                                 rows);
}

/* The faults of an op: a row, a column that is not written.  What is poisoned
 * tells; where nothing is (the oracle's own fault) the pool's numbers pass. */
START_TEST(test_poison)
{
  static const RaOpKind which[] = {RA_OP_ACTIVATION, RA_OP_GEMM, RA_OP_PERMUTE};
  RaProbePoint point = at_kind(which[_i]);
  g_autoptr(RaProbe) probe = NULL;
  RaProbeSample sample;

  faulty = *ra_backend_cuda();
  faulty.gemm = lazy_gemm;
  faulty.swiglu = lazy_swiglu;
  faulty.spread_rows = lazy_spread_rows;
  ra_emu_set_timer(NULL, NULL);
  probe = new_probe(&faulty, TRUE);
  ra_probe_run(probe, &point, &sample);
  ck_assert_uint_eq(sample.n_odd, 1);
  ra_probe_free(g_steal_pointer(&probe));
  probe = new_probe(&faulty, FALSE);
  ra_probe_run(probe, &point, &sample);
  ck_assert_uint_eq(sample.n_odd, 0);
}
END_TEST

static Suite *
probe_cuda_suite(void)
{
  Suite *suite = suite_create("probe_cuda");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_ops, 0, G_N_ELEMENTS(points));
  tcase_add_test(tcase, test_kinds);
  tcase_add_test(tcase, test_slow);
  tcase_add_loop_test(tcase, test_poison, 0, 3);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(probe_cuda_suite)
