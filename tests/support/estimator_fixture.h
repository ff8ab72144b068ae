/* An estimator on a handmade profile, for tests.
 *
 *     Bench *b = bench_new(profile_text_load("host.eager-launch-s=1", NULL));
 *     bench_s(b, RA_OP_GEMM, 128, 128, 128, 1, 0, 0, 0);
 *     bench_free(b);
 *
 * The cluster has 16 nodes of 8 GPUs, 8 NICs of 1e6 B/s, the profile's device.
 */
#ifndef RA_TESTS_SUPPORT_ESTIMATOR_FIXTURE_H
#define RA_TESTS_SUPPORT_ESTIMATOR_FIXTURE_H

#include "estimator/estimator.h"
#include "tests/support/profile_text.h"

typedef struct {
  RaProfile *profile;     /* owned */
  RaCluster cluster;      /* has the profile's device */
  RaEstimator *estimator; /* owned */
} Bench;

/* @profile: (transfer full). */
Bench *bench_new(RaProfile *profile);
void bench_free(Bench *bench);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Bench, bench_free)

/* Rebuilds the estimator, after a change of the cluster. */
void bench_remake(Bench *bench);

/* A BF16 op, count 1. */
RaOp bench_op(RaOpKind kind, uint64_t d0, uint64_t d1, uint64_t d2,
              uint64_t d3);
RaOp bench_attention(RaOpKind kind, uint64_t sequences, uint64_t q_tokens,
                     uint64_t kv_tokens, uint64_t pairs, uint64_t q_heads,
                     uint64_t kv_heads, uint64_t head_dim);

/* Seconds of bench_op(). */
double bench_s(const Bench *bench, RaOpKind kind, uint64_t d0, uint64_t d1,
               uint64_t d2, uint64_t d3);

/* Asserts equality up to rounding: 1e-12 relative. */
void bench_check(double value, double expected);
/* Test of the oracle itself: asserts that @wrong would not pass. */
void bench_check_differs(double wrong, double expected);

/* (transfer full): a dense model of 4 layers. */
RaModel *bench_small_model(void);

#endif
