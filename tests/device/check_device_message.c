/* Tests of messages between threads that share a device or the host. */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "base/rng.h"
#include "exec/backend/backend_cuda.h"
#include "exec/comm/comm_local.h"
#include "exec/comm/device_message.h"
#include "tests/emulator/memory.h"
#include "tests/support/check_main.h"

/* Messages between two threads that share the emulated device, or the host's
 * memory: both send each other what they have, of sizes that vary, several
 * ahead of what is received, to places of their own and anywhere.
 */

enum { N = 60, AHEAD = 3, MOST = 5000 };

typedef struct {
  const RaBackend *backend;
  RaLocalGroup *group;
  uint32_t rank;
  guint n_wrong;
} Rank;

/* Size of message @i from @rank, and its value at @k. */
static gsize
size_of(uint32_t rank, guint i)
{
  return 16 + (i * 977 + rank * 131) % MOST;
}

static guint8
byte_of(uint32_t rank, guint i, gsize k)
{
  return (guint8)(rank * 101 + i * 7 + k * 3);
}

static void
send(const Rank *r, RaComm *comm, guint i)
{
  gsize n = size_of(r->rank, i);
  g_autofree guint8 *bytes = g_malloc(n);
  void *data = r->backend->alloc(n);

  for (gsize k = 0; k < n; k++)
    bytes[k] = byte_of(r->rank, i, k);
  r->backend->write(data, bytes, n);
  ra_device_message_send(r->backend, comm, 1 - r->rank, data, n);
  r->backend->zero(data, n); /* it may be used again */
  r->backend->free(data);
}

/* TRUE if @where has message @i of the other. */
static gboolean
is_right(const Rank *r, guint i, const void *where)
{
  gsize n = size_of(1 - r->rank, i);
  g_autofree guint8 *bytes = g_malloc(n);
  void *room = r->backend->alloc(n);
  gboolean right = TRUE;

  r->backend->write(room, where, n);
  r->backend->read(bytes, room, n);
  for (gsize k = 0; k < n; k++)
    right = right && bytes[k] == byte_of(1 - r->rank, i, k);
  r->backend->free(room);
  return right;
}

static void *
run_rank(void *data)
{
  Rank *r = data;
  g_autoptr(RaComm) comm = ra_local_comm_new(r->group, r->rank);
  RaDeviceMessage *coming[N];
  void *rooms[N];

  for (guint i = 0; i < N + AHEAD; i++) {
    if (i < N) {
      rooms[i] = i % 3 ? NULL : r->backend->alloc(MOST + 16);
      coming[i] = ra_device_message_start_recv(
          r->backend, comm, 1 - r->rank, rooms[i], size_of(1 - r->rank, i));
      send(r, comm, i);
    }
    if (i >= AHEAD) {
      double done_s = 0;
      const void *where =
          ra_device_message_end_recv(coming[i - AHEAD], &done_s);

      ck_assert(done_s > 0 && (!rooms[i - AHEAD] || where == rooms[i - AHEAD]));
      r->n_wrong += !is_right(r, i - AHEAD, where);
      ra_device_message_free(coming[i - AHEAD]);
      r->backend->free(rooms[i - AHEAD]);
    }
  }
  return NULL;
}

/* Messages that were wrong, of 2 N. */
static guint
run(const RaBackend *backend)
{
  g_autoptr(RaLocalGroup) group = ra_local_group_new(2, FALSE);
  Rank ranks[2];
  pthread_t threads[2];

  for (uint32_t i = 0; i < 2; i++) {
    ranks[i] = (Rank){backend, group, i, 0};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_rank, &ranks[i]), 0);
  }
  for (uint32_t i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return ranks[0].n_wrong + ranks[1].n_wrong;
}

/* Memory on the way is a few messages' of each size, and all given back. */
START_TEST(test_device)
{
  size_t before = ra_emu_held_bytes();

  ck_assert_uint_eq(run(ra_backend_cuda()), 0);
  ck_assert_uint_gt(ra_emu_held_bytes(), before);
  ck_assert_uint_lt(ra_emu_held_bytes() - before, N * (MOST + 4096));
  ra_device_message_clear_all(ra_backend_cuda());
  ck_assert_uint_eq(ra_emu_held_bytes(), before);
  ck_assert(!ra_backend_cuda()->failure());
}
END_TEST

START_TEST(test_host)
{
  ck_assert_uint_eq(run(ra_backend_host_memory()), 0);
}
END_TEST

/* The fault: nothing is copied within the device, which is all that brings a
 * message. */
static void
copy_none(void *to, const void *from, gsize n_bytes)
{
  (void)to, (void)from, (void)n_bytes;
}

START_TEST(test_fault)
{
  RaBackend faulty = *ra_backend_cuda();

  faulty.copy = copy_none;
  ck_assert_uint_eq(run(&faulty), 2 * N);
  ra_device_message_clear_all(&faulty);
}
END_TEST

static Suite *
device_message_suite(void)
{
  Suite *suite = suite_create("device_message");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_device);
  tcase_add_test(tcase, test_host);
  tcase_add_test(tcase, test_fault);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(device_message_suite)
