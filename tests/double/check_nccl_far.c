/* Tests of the double of NCCL between two processes. */
#include "config.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/double/nccl_double.h"
#include "tests/support/check_main.h"

/* The double of NCCL between two processes: a side has one rank, a communicator
 * and a stream, and a pipe by which it says that it is so far.  What a side
 * does is one function, whose assertions end the side. */

#define LATER_US 100000 /* what nobody holds up is over much sooner */
#define MOST_LOOKS 20000

typedef struct {
  const RaNcclApi *api;
  uint32_t rank;
  RaNcclHandle comm;
  RaNcclStream stream;
  int said, heard; /* ends of pipes */
} Side;

typedef void (*WorkFunc)(Side *side);

static void
say(const Side *s)
{
  g_assert_cmpint(write(s->said, "", 1), ==, 1);
}

static void
hear(const Side *s)
{
  char byte;

  g_assert_cmpint(read(s->heard, &byte, 1), ==, 1);
}

static int
state_of(const Side *s, RaNcclHandle comm)
{
  int state = RA_NCCL_BUSY;

  g_assert_cmpint(s->api->async_error(comm, &state), ==, RA_NCCL_OK);
  return state;
}

static RaNcclMark
mark(const Side *s)
{
  RaNcclMark m = NULL;

  g_assert_cmpint(s->api->mark_new(s->stream, &m), ==, RA_NCCL_OK);
  return m;
}

static void
assert_waits(const Side *s, RaNcclMark m)
{
  usleep(LATER_US);
  g_assert_cmpint(s->api->mark_look(m), ==, RA_NCCL_BUSY);
}

static void
assert_passes(const Side *s, RaNcclMark m)
{
  int state = RA_NCCL_BUSY;

  for (guint i = 0; i < MOST_LOOKS && state == RA_NCCL_BUSY; i++) {
    usleep(500);
    state = s->api->mark_look(m);
  }
  g_assert_cmpint(state, ==, RA_NCCL_OK);
  s->api->mark_free(m);
}

/* The process of a side: it alone knows the library. */
static pid_t
side_new(Side s, WorkFunc work, const char *words)
{
  RaNcclId id;
  pid_t pid = fork();

  if (pid != 0)
    return pid;
  nccl_double_begin(G_MAXINT, 1);
  nccl_double_go_far();
  nccl_double_obey(words);
  if (s.rank == 0) {
    g_assert_cmpint(s.api->unique_id(&id), ==, RA_NCCL_OK);
    g_assert_cmpint(write(s.said, &id, sizeof id), ==, sizeof id);
  } else {
    g_assert_cmpint(read(s.heard, &id, sizeof id), ==, sizeof id);
  }
  g_assert_cmpint(s.api->init(&s.comm, 2, &id, s.rank), ==, RA_NCCL_OK);
  s.api->stream_new(&s.stream);
  work(&s);
  _exit(0);
}

static void
run_both(WorkFunc work, const char *words)
{
  Side s = {.api = nccl_double()};
  int there[2], back[2];
  pid_t sides[2];

  ck_assert(pipe(there) == 0 && pipe(back) == 0);
  for (uint32_t i = 0; i < 2; i++) {
    s.rank = i;
    s.said = i == 0 ? there[1] : back[1];
    s.heard = i == 0 ? back[0] : there[0];
    sides[i] = side_new(s, work, words);
    ck_assert_int_ge(sides[i], 0);
  }
  for (uint32_t i = 0; i < 2; i++) {
    int status = -1;

    ck_assert_int_eq(waitpid(sides[i], &status, 0), sides[i]);
    ck_assert_int_eq(status, 0);
    close(there[i]);
    close(back[i]);
  }
}

/* A send is over when its receive has come, not before; and a receive when its
 * send has. */
static void
message(Side *s)
{
  uint32_t sent = 7 + s->rank, come = 0;
  RaNcclMark m;

  if (s->rank == 0)
    s->api->send(&sent, sizeof sent, 1, s->comm, s->stream);
  else
    hear(s);
  m = mark(s);
  if (s->rank == 0) {
    assert_waits(s, m);
    say(s);
    assert_passes(s, m);
    s->api->recv(&come, sizeof come, 1, s->comm, s->stream);
    m = mark(s);
    assert_waits(s, m);
    say(s);
    assert_passes(s, m);
  } else {
    assert_passes(s, m);
    s->api->recv(&come, sizeof come, 0, s->comm, s->stream);
    assert_passes(s, mark(s));
    hear(s);
    s->api->send(&sent, sizeof sent, 0, s->comm, s->stream);
    assert_passes(s, mark(s));
  }
  g_assert_cmpuint(come, ==, 8 - s->rank);
}

START_TEST(test_message)
{
  run_both(message, NULL);
}
END_TEST

/* A group of a send and a receive each way goes through, whoever is first; a
 * send alone on both sides would not (which test_message has). */
static void
both_ways(Side *s)
{
  uint32_t sent = 7 + s->rank, come = 0;

  s->api->group_start();
  s->api->send(&sent, sizeof sent, 1 - s->rank, s->comm, s->stream);
  s->api->recv(&come, sizeof come, 1 - s->rank, s->comm, s->stream);
  s->api->group_end();
  assert_passes(s, mark(s));
  g_assert_cmpuint(come, ==, 8 - s->rank);
}

START_TEST(test_both_ways)
{
  run_both(both_ways, NULL);
}
END_TEST

/* 1 + 2 and 10 + 20 at both, when both have come; then each has its half. */
static void
sum(Side *s)
{
  float x[] = {1, 10}, half = 0;
  RaNcclMark m;

  x[0] += s->rank;
  x[1] += 10 * (float)s->rank;
  if (s->rank == 1)
    hear(s);
  s->api->all_reduce(x, x, 2, RA_COMM_F32, RA_REDUCE_SUM, s->comm, s->stream);
  m = mark(s);
  if (s->rank == 0) {
    assert_waits(s, m);
    say(s);
  }
  assert_passes(s, m);
  g_assert_true(x[0] == 3 && x[1] == 30);
  s->api->reduce_scatter(x, &half, 1, RA_COMM_F32, s->comm, s->stream);
  assert_passes(s, mark(s));
  g_assert_true(half == (s->rank ? 60 : 6));
}

START_TEST(test_sum)
{
  run_both(sum, NULL);
}
END_TEST

/* Split with keys the other way round, so that rank 1 is root 0; the first
 * communicator goes on. */
static void
split(Side *s)
{
  RaNcclHandle made = NULL;
  uint32_t x = s->rank;

  g_assert_cmpint(s->api->split(s->comm, 5, 1 - (int)s->rank, 0, &made), ==,
                  RA_NCCL_OK);
  s->api->broadcast(&x, sizeof x, 0, made, s->stream);
  assert_passes(s, mark(s));
  g_assert_cmpuint(x, ==, 1);
  x = s->rank;
  s->api->broadcast(&x, sizeof x, 0, s->comm, s->stream);
  assert_passes(s, mark(s));
  g_assert_cmpuint(x, ==, 0);
}

START_TEST(test_split)
{
  run_both(split, NULL);
}
END_TEST

/* A wait ends when its communicator is dropped. */
static void
drop(Side *s)
{
  uint32_t come = 5;
  RaNcclMark m;

  if (s->rank == 1) {
    hear(s);
    return;
  }
  s->api->recv(&come, sizeof come, 1, s->comm, s->stream);
  m = mark(s);
  assert_waits(s, m);
  s->api->drop(s->comm);
  assert_passes(s, m);
  s->api->stream_free(s->stream);
  g_assert_cmpuint(come, ==, 5);
  say(s);
}

START_TEST(test_drop)
{
  run_both(drop, NULL);
}
END_TEST

/* Messages of unlike lengths are a fault of both. */
static void
unlike(Side *s)
{
  char x[2] = "";

  if (s->rank == 0)
    s->api->send(x, 1, 1, s->comm, s->stream);
  else
    s->api->recv(x, 2, 0, s->comm, s->stream);
  assert_passes(s, mark(s));
  g_assert_cmpint(state_of(s, s->comm), ==, NCCL_DOUBLE_USAGE);
}

START_TEST(test_unlike)
{
  run_both(unlike, NULL);
}
END_TEST

/* A peer's process that has ended: nobody hears of it, or all do. */
static void
unheard(Side *s)
{
  uint32_t come;
  RaNcclMark m;

  if (s->rank == 1)
    return;
  s->api->recv(&come, sizeof come, 1, s->comm, s->stream);
  m = mark(s);
  assert_waits(s, m);
  g_assert_cmpint(state_of(s, s->comm), ==, RA_NCCL_OK);
}

START_TEST(test_unheard)
{
  run_both(unheard, NULL);
}
END_TEST

/* Rank 1 ends after rank 0 has its communicator: an end before that is a fault
 * of init. */
static void
told(Side *s)
{
  if (s->rank == 1) {
    hear(s);
    return;
  }
  say(s);
  for (guint i = 0; i < MOST_LOOKS && state_of(s, s->comm) == RA_NCCL_OK; i++)
    usleep(500);
  g_assert_cmpint(state_of(s, s->comm), ==, NCCL_DOUBLE_GONE);
}

START_TEST(test_told)
{
  run_both(told, "tells");
}
END_TEST

static Suite *
nccl_far_suite(void)
{
  Suite *suite = suite_create("nccl_far");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_message);
  tcase_add_test(tcase, test_both_ways);
  tcase_add_test(tcase, test_sum);
  tcase_add_test(tcase, test_split);
  tcase_add_test(tcase, test_drop);
  tcase_add_test(tcase, test_unlike);
  tcase_add_test(tcase, test_unheard);
  tcase_add_test(tcase, test_told);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(nccl_far_suite)
