/* An estimator on a handmade profile and cluster. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/check_points.h"
#include "tests/support/estimator_fixture.h"

#define TOLERANCE 1e-12

void
bench_remake(Bench *bench)
{
  GError *error = NULL;

  ra_estimator_free(bench->estimator);
  bench->estimator = ra_estimator_new(bench->profile, &bench->cluster, &error);
  ck_assert_msg(bench->estimator != NULL, "%s",
                error ? error->message : "no error");
}

Bench *
bench_new(RaProfile *profile)
{
  Bench *bench = g_new0(Bench, 1);

  bench->profile = profile;
  bench->cluster = (RaCluster){.n_nodes = 16,
                               .gpus_per_node = 8,
                               .nics_per_node = 8,
                               .nic_bytes_per_s = 1e6,
                               .device = profile->spec};
  bench_remake(bench);
  return bench;
}

void
bench_free(Bench *bench)
{
  ra_estimator_free(bench->estimator);
  ra_profile_free(bench->profile);
  g_free(bench);
}

RaOp
bench_op(RaOpKind kind, uint64_t d0, uint64_t d1, uint64_t d2, uint64_t d3)
{
  return (RaOp){.kind = (uint8_t)kind,
                .dtype = RA_DTYPE_BF16,
                .count = 1,
                .dim = {d0, d1, d2, d3}};
}

RaOp
bench_attention(RaOpKind kind, uint64_t sequences, uint64_t q_tokens,
                uint64_t kv_tokens, uint64_t pairs, uint64_t q_heads,
                uint64_t kv_heads, uint64_t head_dim)
{
  return (RaOp){.kind = (uint8_t)kind,
                .dtype = RA_DTYPE_BF16,
                .count = 1,
                .dim = {sequences, q_tokens, kv_tokens, pairs, q_heads,
                        kv_heads, head_dim}};
}

double
bench_s(const Bench *bench, RaOpKind kind, uint64_t d0, uint64_t d1,
        uint64_t d2, uint64_t d3)
{
  RaOp op = bench_op(kind, d0, d1, d2, d3);

  return ra_estimator_op_s(bench->estimator, &op);
}

static gboolean
is_close(double value, double expected)
{
  return fabs(value - expected) <= TOLERANCE * fabs(expected);
}

void
bench_check(double value, double expected)
{
  ck_assert_msg(is_close(value, expected), "%.17g, expected %.17g", value,
                expected);
}

void
bench_check_differs(double wrong, double expected)
{
  ck_assert_msg(!is_close(wrong, expected), "%.17g passes for %.17g", wrong,
                expected);
}

RaModel *
bench_small_model(void)
{
  RaModelShape shape;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 4;
  shape.hidden = 1024;
  shape.heads = 8;
  shape.kv_heads = 2;
  shape.ffn = 2816;
  shape.vocab = 32000;
  return ra_model_from_shape(&shape, NULL);
}
