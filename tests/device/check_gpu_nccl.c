/* The configurations that exec/comm/nccl_cuda.c gives NCCL: the library's
 * functions are here, and keep what they are given. */
#include "config.h"

#include <nccl.h>
#include <string.h>

#include "exec/comm/nccl_api.h"
#include "tests/support/check_main.h"

static ncclConfig_t given; /* the last */
static gboolean is_set;    /* there was one */

static void
keep(const ncclConfig_t *config)
{
  is_set = config != NULL;
  if (config)
    given = *config;
}

/* ---- the library ----------------------------------------------------------*/

ncclResult_t
ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId,
                       int rank, ncclConfig_t *config)
{
  keep(config);
  *comm = (ncclComm_t)(gpointer)&given;
  return ncclSuccess;
}

ncclResult_t
ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
              ncclConfig_t *config)
{
  keep(config);
  *newcomm = comm;
  return ncclSuccess;
}

ncclResult_t
ncclGetVersion(int *version)
{
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

/* Calls that no case makes.  NCCL's header says () of two. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define NEVER(name, parameters)                                                \
  ncclResult_t name parameters { return ncclInternalError; }

const char *
ncclGetLastError(ncclComm_t comm)
{
  return "";
}

const char *
ncclGetErrorString(ncclResult_t result)
{
  return "";
}

/* clang-format off */
NEVER(ncclGetUniqueId, (ncclUniqueId *id))
NEVER(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *error))
NEVER(ncclCommAbort, (ncclComm_t comm))
NEVER(ncclCommFinalize, (ncclComm_t comm))
NEVER(ncclCommDestroy, (ncclComm_t comm))
NEVER(ncclGroupStart, (void))
NEVER(ncclGroupEnd, (void))
NEVER(ncclAllReduce, (const void *in, void *out, size_t n, ncclDataType_t type,
                      ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream))
NEVER(ncclReduce, (const void *in, void *out, size_t n, ncclDataType_t type,
                   ncclRedOp_t op, int root, ncclComm_t comm,
                   cudaStream_t stream))
NEVER(ncclReduceScatter, (const void *in, void *out, size_t n,
                          ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                          cudaStream_t stream))
NEVER(ncclAllGather, (const void *in, void *out, size_t n, ncclDataType_t type,
                      ncclComm_t comm, cudaStream_t stream))
NEVER(ncclBroadcast, (const void *in, void *out, size_t n, ncclDataType_t type,
                      int root, ncclComm_t comm, cudaStream_t stream))
NEVER(ncclSend, (const void *in, size_t n, ncclDataType_t type, int peer,
                 ncclComm_t comm, cudaStream_t stream))
NEVER(ncclRecv, (void *out, size_t n, ncclDataType_t type, int peer,
                 ncclComm_t comm, cudaStream_t stream))
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
NEVER(ncclCommRegister, (const ncclComm_t comm, void *data, size_t n,
                         void **handle))
NEVER(ncclCommDeregister, (const ncclComm_t comm, void *handle))
NEVER(ncclMemAlloc, (void **data, size_t n))
NEVER(ncclMemFree, (void *data))
#endif
/* clang-format on */

/* ---- what it is given -----------------------------------------------------*/

/* Blocking, both: with others the library starts a thread for every collective
 * (group.cc, ncclGroupEndInternal()), and a group may not mix the two.  No
 * share of the parent's resources, which orders all communicators behind one
 * another; and blocks of a pair, no number for 0. */
START_TEST(test_config)
{
  const RaNcclApi *api = ra_nccl_cuda();
  RaNcclHandle world = NULL, made = NULL;
  RaNcclId id = {{0}};

  ck_assert_int_eq(api->init(&world, 2, &id, 1), RA_NCCL_OK);
  ck_assert(is_set);
  ck_assert_int_eq(given.blocking, 1);
  ck_assert_int_ne(given.splitShare, 1);
  for (int most = 0; most <= 4; most += 4) {
    memset(&given, 0, sizeof given);
    ck_assert_int_eq(api->split(world, 3, 0, (uint32_t)most, &made),
                     RA_NCCL_OK);
    ck_assert_int_eq(given.blocking, 1);
    ck_assert_int_ne(given.splitShare, 1);
    ck_assert_int_eq(given.maxCTAs, most > 0 ? most : NCCL_CONFIG_UNDEF_INT);
  }
}
END_TEST

static Suite *
gpu_nccl_suite(void)
{
  Suite *suite = suite_create("gpu_nccl");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_config);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(gpu_nccl_suite)
