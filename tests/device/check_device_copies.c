/* Tests of copies that overlap ops, on the emulated device: with their ordering
 * they are right under any seed, and without it some seed shows the fault. */
#include "config.h"

#include <signal.h>
#include <string.h>

#include "exec/backend/backend_cuda.h"
#include "tests/device/device_array.h"

#ifdef RA_ON_GPU

#define N ((gsize)64 << 20) /* some milliseconds of a copy */
#define SEEDS 4

static void
seed_queues(uint64_t seed)
{
  (void)seed;
}

#else

#include "tests/emulator/measure.h"
#include "tests/emulator/queue.h"

#define N 1000
#define SEEDS 40

static void
seed_queues(uint64_t seed)
{
  ra_emu_seed_queues(seed, seed % 2 == 1);
  ra_emu_late_ops(seed / 2 % 2 == 1);
}

#endif

/* Two arrays of the device, two of pinned memory. */
typedef struct {
  const RaBackend *b;
  guint8 *device[2], *pinned[2];
} Places;

static void
fill(guint8 *bytes, guint seed)
{
  for (gsize i = 0; i < N; i++)
    bytes[i] = (guint8)(i * 7 + seed);
}

static Places
places_new(uint64_t seed)
{
  Places p = {.b = ra_backend_cuda()};
  g_autofree guint8 *bytes = g_malloc(N);

  seed_queues(seed);
  for (guint i = 0; i < 2; i++) {
    p.device[i] = p.b->alloc(N);
    p.pinned[i] = p.b->alloc_host(N);
    fill(p.pinned[i], 100 + i);
    fill(bytes, i);
    p.b->write(p.device[i], bytes, N);
  }
  return p;
}

static void
places_free(Places *p)
{
  for (guint i = 0; i < 2; i++) {
    p->b->free(p->device[i]);
    p->b->free_host(p->pinned[i]);
  }
}

static void
places_clear(Places *p)
{
  places_free(p);
  ck_assert(!p->b->failure());
}

/* TRUE if @bytes are those of fill() with @seed. */
static gboolean
are(const guint8 *bytes, guint seed)
{
  g_autofree guint8 *expected = g_malloc(N);

  fill(expected, seed);
  return memcmp(bytes, expected, N) == 0;
}

static void
end(const Places *p, RaBackendCopy *copy)
{
  double begin_s, end_s;

  p->b->end_copy(copy, &begin_s, &end_s);
  ck_assert_double_le(begin_s, end_s);
}

/* Ops behind a copy in read what it has brought. */
static gboolean
read_behind(Places *p)
{
  g_autofree guint8 *bytes = g_malloc(N);
  RaBackendCopy *in = p->b->begin_copy(p->device[0], p->pinned[0], N, FALSE);

  p->b->follow_copy(RA_BACKEND_OPS, in);
  p->b->read(bytes, p->device[0], N);
  end(p, in);
  return are(bytes, 100);
}

/* Ops behind a copy out may write over what it took. */
static gboolean
write_behind(Places *p)
{
  RaBackendCopy *out = p->b->begin_copy(p->pinned[0], p->device[0], N, TRUE);

  p->b->follow_copy(RA_BACKEND_OPS, out);
  p->b->zero(p->device[0], N);
  end(p, out);
  return are(p->pinned[0], 0);
}

/* A copy in behind a copy out brings what went, to the place of another. */
static gboolean
return_behind(Places *p)
{
  g_autofree guint8 *bytes = g_malloc(N);
  RaBackendCopy *out = p->b->begin_copy(p->pinned[0], p->device[0], N, TRUE);
  RaBackendCopy *in;

  p->b->follow_copy(RA_BACKEND_IN, out);
  in = p->b->begin_copy(p->device[1], p->pinned[0], N, FALSE);
  end(p, in);
  end(p, out);
  p->b->read(bytes, p->device[1], N);
  return are(bytes, 0);
}

/* A copy out takes what ops before it made. */
static gboolean
take_behind(Places *p)
{
  RaBackendCopy *out;

  p->b->copy(p->device[0], p->device[1], N);
  out = p->b->begin_copy(p->pinned[0], p->device[0], N, TRUE);
  end(p, out);
  return are(p->pinned[0], 1);
}

static gboolean (*const orders[])(Places *p) = {read_behind, write_behind,
                                                return_behind, take_behind};

START_TEST(test_order)
{
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    Places p = places_new(seed);

    ck_assert(orders[_i](&p));
    places_clear(&p);
  }
}
END_TEST

#ifndef RA_ON_GPU

/* The fault: what each order is told is forgotten. */
START_TEST(test_order_fault)
{
  static const RaEmuFollow told[] = {
      RA_EMU_OPS_AFTER_COPY, RA_EMU_OPS_AFTER_COPY, RA_EMU_COPIES_AFTER_COPY,
      RA_EMU_COPIES_AFTER_OPS};
  guint n_wrong = 0;

  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    Places p = places_new(seed);

    ra_emu_late_ops(TRUE);
    ra_emu_forget_follow(told[_i], 0);
    n_wrong += !orders[_i](&p);
    places_clear(&p);
  }
  ck_assert_uint_gt(n_wrong, 0);
}
END_TEST

/* Where ops are not late, a copy is held against how many its thread has begun:
 * one that is not behind them ends the program. */
START_TEST(test_ops_fault)
{
  Places p = places_new(1);

  ra_emu_late_ops(FALSE);
  ra_emu_forget_follow(RA_EMU_COPIES_AFTER_OPS, 0);
  p.b->begin_copy(p.pinned[0], p.device[0], N, TRUE);
}
END_TEST

/* Memory that is not pinned would be copied while the host waits. */
START_TEST(test_pageable)
{
  Places p = places_new(1);
  g_autofree guint8 *pageable = g_malloc0(N);
  double begin_s, end_s;

  p.b->end_copy(p.b->begin_copy(pageable, p.device[0], N, TRUE), &begin_s,
                &end_s);
  ck_assert_ptr_nonnull(p.b->failure());
  places_free(&p);
}
END_TEST

/* A device tells of a fault when it is next asked: those ops are named that
 * were not waited for by then, of 33 the last 32.  The faults that this
 * catches: ops of before a wait, and no ops. */
START_TEST(test_named)
{
  g_autoptr(GString) expected =
      g_string_new("an offload failed on the device: not allowed on the "
                   "emulator; not waited for before: ");
  g_autofree guint8 *pageable = g_malloc0(N);
  Places p = places_new(1);
  double begin_s, end_s;

  p.b->zero(p.device[0], N);
  p.b->wait();
  for (int i = 0; i < (_i == 0 ? 1 : 32); i++)
    p.b->zero(p.device[0], N);
  p.b->copy(p.device[1], p.device[0], N);
  p.b->end_copy(p.b->begin_copy(pageable, p.device[0], N, TRUE), &begin_s,
                &end_s);
  if (_i > 0)
    g_string_append(expected, "..., ");
  for (int i = 0; i < (_i == 0 ? 1 : 31); i++)
    g_string_append(expected, "zeroes, ");
  g_string_append(expected, "a copy");
  ck_assert_str_eq(p.b->failure(), expected->str);
  places_free(&p);
}
END_TEST

static double
next_second(void)
{
  static double s;

  return s += 1;
}

/* With a clock that ticks a second an event, a copy takes one from its first to
 * its last. */
START_TEST(test_seconds)
{
  Places p = places_new(1);

  ra_emu_set_clock(next_second);
  for (int i = 0; i < 2; i++) {
    RaBackendCopy *copy = p.b->begin_copy(p.pinned[i], p.device[i], N, TRUE);
    double begin_s, end_s;

    p.b->end_copy(copy, &begin_s, &end_s);
    ck_assert_double_eq_tol(end_s - begin_s, 1, 1e-6);
  }
  ra_emu_set_clock(NULL);
  places_clear(&p);
}
END_TEST

#endif

/* The host's are over as they are begun. */
START_TEST(test_host)
{
  const RaBackend *b = ra_backend_host_memory();
  g_autofree guint8 *from = g_malloc(N), *to = g_malloc(N);

  fill(from, 5);
  ck_assert_ptr_null(b->begin_copy(to, from, N, TRUE));
  ck_assert(are(to, 5));
  fill(from, 6);
  ck_assert_ptr_null(b->begin_copy(to, from, N, FALSE));
  ck_assert(are(to, 6));
}
END_TEST

static Suite *
copies_suite(void)
{
  Suite *suite = suite_create("device_copies");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60); /* under valgrind */
  tcase_add_loop_test(tcase, test_order, 0, G_N_ELEMENTS(orders));
#ifndef RA_ON_GPU
  tcase_add_loop_test(tcase, test_order_fault, 0, G_N_ELEMENTS(orders));
  tcase_add_test_raise_signal(tcase, test_ops_fault, SIGABRT);
  tcase_add_test(tcase, test_pageable);
  tcase_add_loop_test(tcase, test_named, 0, 2);
  tcase_add_test(tcase, test_seconds);
#endif
  tcase_add_test(tcase, test_host);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(copies_suite)
