/* An op estimate allocates nothing: allocations of the C library are counted
 * while every kind of op is asked for, through tables, laws and closed forms.
 * Where they cannot be counted (another C library, a sanitizer, valgrind) there
 * is nothing to check. */
#include "config.h"

#include <stdlib.h>

#include "base/text.h"
#include "estimator/estimator.h"
#include "tests/support/check_main.h"

/* How many there were, ever. */
static guint n_allocations;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER
#endif

#if defined(__GLIBC__) && !defined(HAS_SANITIZER)
void *__libc_malloc(size_t n_bytes);
void *__libc_calloc(size_t n, size_t n_bytes);
void *__libc_realloc(void *old, size_t n_bytes);

/* These stand before the C library's own. */
void *
malloc(size_t n_bytes)
{
  n_allocations++;
  return __libc_malloc(n_bytes);
}

void *
calloc(size_t n, size_t n_bytes)
{
  n_allocations++;
  return __libc_calloc(n, n_bytes);
}

void *
realloc(void *old, size_t n_bytes)
{
  n_allocations++;
  return __libc_realloc(old, n_bytes);
}
#endif

static RaProfile *
load_profile(const char *name)
{
  g_autofree char *path = ra_share_find("profiles", name, NULL, NULL);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, NULL) : NULL;

  return file ? ra_profile_load(file, NULL) : NULL;
}

/* @shape of a kind: small, or beyond every table. */
static RaOp
make_op(RaOpKind kind, guint shape)
{
  uint64_t wide = shape ? 70000 : 2048;
  RaOp op = {.kind = (uint8_t)kind,
             .dtype = RA_DTYPE_BF16,
             .count = 1,
             .dim = {wide, 4096, wide, 1}};

  if (ra_op_class(kind) == RA_OP_CLASS_COMM)
    op = (RaOp){.kind = (uint8_t)kind,
                .count = 1,
                .dim = {wide << 10, shape ? 24 : 6, shape ? 8 : 6, 1}};
  else if (kind == RA_OP_ATTENTION || kind == RA_OP_ATTENTION_BACKWARD ||
           kind == RA_OP_DECODE_ATTENTION)
    op = (RaOp){.kind = (uint8_t)kind,
                .count = 1,
                .dim = {8, wide, wide, wide * wide / 2, 8, 1, 128}};
  return op;
}

START_TEST(test_none)
{
  static const char *const names[] = {"h100-sxm.profile", "l40s.profile"};
  g_autoptr(RaProfile) profile = load_profile(names[_i]);
  g_autoptr(RaEstimator) estimator = NULL;
  RaCluster cluster = {.n_nodes = 4,
                       .gpus_per_node = 8,
                       .nics_per_node = 8,
                       .nic_bytes_per_s = 25e9};
  guint before = n_allocations;
  double sum_s = 0;

  ck_assert_ptr_nonnull(profile);
  cluster.device = profile->spec;
  estimator = ra_estimator_new(profile, &cluster, NULL);
  ck_assert_ptr_nonnull(estimator);
  /* The fault to catch: making an estimator allocates, and is seen to. */
  if (n_allocations == before)
    return; /* nothing is counted here */
  /* The second pass counts: in the first the C library may set up what it
   * makes on first use (storage of threads, bindings of functions). */
  for (guint pass = 0; pass < 2; pass++) {
    before = n_allocations;
    for (guint kind = 0; kind < RA_N_OPS; kind++)
      for (guint shape = 0; shape < 2; shape++) {
        RaOp op = make_op((RaOpKind)kind, shape);

        sum_s += ra_estimator_op_s(estimator, &op);
      }
  }
  ck_assert_uint_eq(n_allocations, before);
  ck_assert_double_gt(sum_s, 0);
}
END_TEST

static Suite *
allocation_suite(void)
{
  Suite *suite = suite_create("allocation");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_none, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(allocation_suite)
