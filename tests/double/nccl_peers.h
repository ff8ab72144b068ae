/* Ranks on threads, each with a communicator `nccl` on the double and a `local`
 * one. */
#ifndef RA_TESTS_DOUBLE_NCCL_PEERS_H
#define RA_TESTS_DOUBLE_NCCL_PEERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "exec/comm/comm_local.h"
#include "exec/comm/comm_nccl.h"
#include "tests/double/nccl_double.h"
#include "tests/support/check_points.h"

#define MOST_RANKS 8
#define ENDED 7 /* exit status of a run that ended as it should */

/* The communicators of a rank. */
typedef struct {
  RaNccl *nccl;
  RaComm *group, *pairs; /* over all ranks; owned */
  RaComm *local;         /* `local` over all ranks, owned */
  uint32_t rank;
} Peer;

typedef void (*WorkFunc)(Peer *peer);

typedef struct {
  uint32_t n_ranks, rank;
  double patience_s;
  RaCommGroups *splits;
  RaLocalGroup *locals;
  RaNcclId id;
  WorkFunc work;
} Host;

static atomic_uint n_failed;
static uint32_t n_to_fail;      /* ranks whose runs must end */
static const char *must_say[2]; /* required parts of their messages */

/* Error handler: the last of the ranks ends the process, as the first does in a
 * run. */
static inline void
end_run(const char *line, gpointer data)
{
  if (!strstr(line, must_say[0]) || !strstr(line, must_say[1]) ||
      strchr(line, '\n'))
    _exit(1);
  if (atomic_fetch_add(&n_failed, 1) + 1 == n_to_fail)
    _exit(ENDED);
  for (;;)
    pause();
}

static inline void *
run_host(void *data)
{
  const Host *h = data;
  RaNcclOptions options = {nccl_double(), h->patience_s, end_run, NULL, 0};
  g_autoptr(GError) error = NULL;
  Peer peer = {.rank = h->rank};

  nccl_double_enter();
  peer.nccl = ra_nccl_new(&options, &h->id, h->n_ranks, h->rank, &error);
  g_assert_no_error(error);
  ra_nccl_split(peer.nccl, h->splits, NULL, &error);
  g_assert_no_error(error);
  peer.group = ra_nccl_comm_new(peer.nccl, 0);
  peer.pairs = ra_nccl_pairs_new(peer.nccl, RA_STREAM_PP_SEND);
  peer.local = ra_local_comm_new(h->locals, h->rank);
  h->work(&peer);
  ra_comm_free(peer.local);
  ra_comm_free(peer.pairs);
  ra_comm_free(peer.group);
  nccl_double_leave(); /* its guard waits, whom no watchdog knows */
  ra_nccl_free(peer.nccl);
  return NULL;
}

/* All ranks as group 0, and pairs both ways around. */
static inline RaCommGroups *
make_splits(uint32_t n_ranks)
{
  RaCommGroups *s = ra_comm_groups_new(n_ranks);
  uint32_t all[MOST_RANKS];

  for (uint32_t i = 0; i < n_ranks; i++)
    all[i] = i;
  ra_comm_groups_add(s, RA_NONE, RA_GROUP_WORLD, RA_STREAM_TP, n_ranks, all);
  for (uint32_t i = 0; i < n_ranks; i++) {
    uint32_t there[] = {i, (i + 1) % n_ranks}, back[] = {there[1], i};

    ra_comm_groups_add(s, RA_NONE, RA_GROUP_PAIR, RA_STREAM_PP_SEND, 2, there);
    ra_comm_groups_add(s, RA_NONE, RA_GROUP_PAIR, RA_STREAM_PP_SEND, 2, back);
  }
  return s;
}

static inline NcclDoubleTally
run_all(uint32_t n_ranks, double patience_s, uint32_t seed, WorkFunc work)
{
  g_autoptr(RaCommGroups) splits = make_splits(n_ranks);
  g_autoptr(RaLocalGroup) locals = ra_local_group_new(n_ranks, FALSE);
  pthread_t threads[MOST_RANKS];
  Host hosts[MOST_RANKS];
  NcclDoubleTally tally;
  RaNcclId id;

  nccl_double_begin(n_ranks, seed);
  ck_assert(ra_nccl_id(nccl_double(), &id, NULL));
  for (uint32_t i = 0; i < n_ranks; i++) {
    hosts[i] = (Host){n_ranks, i, patience_s, splits, locals, id, work};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_host, &hosts[i]), 0);
  }
  for (uint32_t i = 0; i < n_ranks; i++)
    pthread_join(threads[i], NULL);
  tally = nccl_double_tally();
  nccl_double_end();
  return tally;
}

#endif
