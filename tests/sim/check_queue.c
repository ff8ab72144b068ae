#include "config.h"

#include "base/rng.h"
#include "sim/network/queue.h"
#include "tests/support/check_main.h"

/* TRUE if the queue gives its events in the order (time, seq), all of them. */
static gboolean
drains_in_order(RaQueue *queue)
{
  gsize n = queue->n;
  RaEvent event, before = {-1, 0, 0};

  for (gsize i = 0; i < n; i++) {
    if (!ra_queue_pop(queue, &event))
      return FALSE;
    if (event.time_s < before.time_s ||
        (event.time_s == before.time_s && event.seq <= before.seq))
      return FALSE;
    before = event;
  }
  return !ra_queue_pop(queue, &event);
}

/* Pushes @n events, their times from @n_times values, seq in order of push. */
static void
push_random(RaQueue *queue, RaRng *rng, uint32_t n, uint32_t n_times)
{
  for (uint32_t i = 0; i < n; i++)
    ra_queue_push(queue, (RaEvent){(double)ra_rng_below(rng, n_times), i, i});
}

/* Times 2, 1, 1, 0 with seq 0 to 3: out come 0, then 1 with the lesser seq,
 * then 1, then 2. */
START_TEST(test_time_then_seq)
{
  static const uint32_t expected[] = {3, 1, 2, 0};
  RaQueue queue;
  RaEvent event;

  ra_queue_init(&queue, 0);
  ra_queue_push(&queue, (RaEvent){2, 0, 0});
  ra_queue_push(&queue, (RaEvent){1, 1, 1});
  ra_queue_push(&queue, (RaEvent){1, 2, 2});
  ra_queue_push(&queue, (RaEvent){0, 3, 3});
  for (guint i = 0; i < 4; i++) {
    ck_assert(ra_queue_pop(&queue, &event));
    ck_assert_uint_eq(event.task, expected[i]);
  }
  ra_queue_clear(&queue);
}
END_TEST

/* No epsilon: of two times one unit in the last place apart the lesser comes
 * first, though its seq is the greater. */
START_TEST(test_no_epsilon)
{
  RaQueue queue;
  RaEvent event;

  ra_queue_init(&queue, 4);
  ra_queue_push(&queue, (RaEvent){1.0 + 0x1p-52, 0, 0});
  ra_queue_push(&queue, (RaEvent){1.0, 1, 1});
  ck_assert(ra_queue_pop(&queue, &event));
  ck_assert_uint_eq(event.task, 1);
  ra_queue_clear(&queue);
}
END_TEST

START_TEST(test_empty)
{
  RaQueue queue;
  RaEvent event = {7, 7, 7};

  ra_queue_init(&queue, 0);
  ck_assert(!ra_queue_pop(&queue, &event));
  ck_assert_uint_eq(event.task, 7);
  ra_queue_push(&queue, (RaEvent){0, 0, 1});
  ck_assert(ra_queue_pop(&queue, &event));
  ck_assert(!ra_queue_pop(&queue, &event));
  ra_queue_clear(&queue);
}
END_TEST

/* Heaps of every size from 0 to 200, and one of 10^5 that has grown from 4
 * fifteen times; with as many ties as 1, 3 and 1000 distinct times give. */
START_TEST(test_drains_sorted)
{
  static const uint32_t n_times[] = {1, 3, 1000};
  RaRng rng = ra_rng_init(1, 0);

  for (guint i = 0; i < G_N_ELEMENTS(n_times); i++)
    for (uint32_t n = 0; n <= 201; n++) {
      RaQueue queue;

      ra_queue_init(&queue, 0);
      push_random(&queue, &rng, n == 201 ? 100000 : n, n_times[i]);
      ck_assert(drains_in_order(&queue));
      ra_queue_clear(&queue);
    }
}
END_TEST

/* Pushes and pops mixed, as a simulation does: an event never comes out before
 * one that was in the queue and is less.  Held against a scan of a list. */
START_TEST(test_mixed)
{
  RaRng rng = ra_rng_init(2, 0);
  g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(RaEvent));
  RaQueue queue;

  ra_queue_init(&queue, 0);
  for (uint32_t seq = 0; seq < 20000; seq++) {
    RaEvent event = {(double)ra_rng_below(&rng, 50), seq, seq}, popped;
    guint least = 0;

    if (ra_rng_below(&rng, 100) < (list->len < 300 ? 60 : 40)) {
      ra_queue_push(&queue, event);
      g_array_append_val(list, event);
      continue;
    }
    if (list->len == 0)
      continue;
    for (guint i = 1; i < list->len; i++) {
      const RaEvent *a = &g_array_index(list, RaEvent, i);
      const RaEvent *b = &g_array_index(list, RaEvent, least);

      if (a->time_s < b->time_s || (a->time_s == b->time_s && a->seq < b->seq))
        least = i;
    }
    ck_assert(ra_queue_pop(&queue, &popped));
    ck_assert_uint_eq(popped.seq, g_array_index(list, RaEvent, least).seq);
    g_array_remove_index_fast(list, least);
  }
  ra_queue_clear(&queue);
}
END_TEST

/* The four children of a node share a cache line: event 1 starts one, and
 * 16-byte events make 5, 9, ... start the next. */
START_TEST(test_children_share_a_line)
{
  RaQueue queue;

  ck_assert_uint_eq(sizeof(RaEvent), 16);
  ra_queue_init(&queue, 100);
  ck_assert_uint_eq((uintptr_t)&queue.events[1] % 64, 0);
  ra_queue_grow(&queue);
  ck_assert_uint_eq((uintptr_t)&queue.events[1] % 64, 0);
  ra_queue_clear(&queue);
}
END_TEST

/* The oracle sees a broken heap: the root swapped with a leaf. */
START_TEST(test_oracle_sees_fault)
{
  RaRng rng = ra_rng_init(3, 0);
  RaQueue queue;
  RaEvent swap;

  ra_queue_init(&queue, 0);
  push_random(&queue, &rng, 100, 1000);
  swap = queue.events[0];
  queue.events[0] = queue.events[99];
  queue.events[99] = swap;
  ck_assert(!drains_in_order(&queue));
  ra_queue_clear(&queue);
}
END_TEST

static Suite *
queue_suite(void)
{
  Suite *suite = suite_create("queue");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_time_then_seq);
  tcase_add_test(tcase, test_no_epsilon);
  tcase_add_test(tcase, test_empty);
  tcase_add_test(tcase, test_drains_sorted);
  tcase_add_test(tcase, test_mixed);
  tcase_add_test(tcase, test_children_share_a_line);
  tcase_add_test(tcase, test_oracle_sees_fault);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(queue_suite)
