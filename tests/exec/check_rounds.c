/* Reallocation in rounds of grouped messages, on a double of NCCL whose sends
 * wait for their receives. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "exec/comm/comm_nccl.h"
#include "tests/double/nccl_double.h"
#include "tests/support/check_main.h"
#include "tests/support/reshard_cases.h"

#define ENDED 7 /* status of a run that was ended as it should */

/* A case's rounds there and back, and groups of their sets. */
typedef struct {
  const Case *of;
  RaRounds *rounds[2];
  uint32_t *sets[2]; /* (n_sets) groups, owned */
} Trip;

typedef struct {
  Trip *trips;
  guint n_trips;
  RaCommGroups *splits;
  RaNcclId id;
  atomic_uint n_wrong; /* of trips and ranks */
} Work;

typedef struct {
  Work *work;
  uint32_t rank;
} Host;

static uint32_t gpu_ranks[N_RANKS];

static void
end_run(const char *line, gpointer data)
{
  gboolean is_right =
      nccl_double_is_stuck() && strstr(line, "all ranks wait for each other");

  _exit(is_right ? ENDED : 1);
}

static RaParams *
move(const Work *work, RaNccl *nccl, RaComm *world, const Trip *trip, guint way,
     const RaParams *source)
{
  const Case *c = trip->of;
  const RaCallPlan *to = way == 0 ? &c->to : &c->from;
  const RaRounds *rounds = trip->rounds[way];
  g_autofree RaComm **sets = g_new0(RaComm *, rounds->n_sets + 1);
  RaParams *target = params_on(c, to, world->rank, FALSE);
  RaReshard r = {
      ra_backend_host(NULL),         world, gpu_ranks, world->rank, c->model,
      way == 0 ? c->there : c->back, NULL};

  for (uint32_t i = 0; i < rounds->n_sets; i++)
    if (ra_rounds_in_set(rounds, i, world->rank) != RA_NONE)
      sets[i] = ra_nccl_comm_new(nccl, trip->sets[way][i]);
  ra_reshard_rounds(&r, rounds, sets, source, target);
  for (uint32_t i = 0; i < rounds->n_sets; i++)
    ra_comm_free(sets[i]);
  return target;
}

/* TRUE if the data that came are those of a seeded model there. */
static gboolean
is_right(const Case *c, const RaCallPlan *plan, uint32_t rank,
         const RaParams *got)
{
  g_autoptr(RaParams) want = params_on(c, plan, rank, TRUE);

  return !want ||
         memcmp(got->weights, want->weights, want->n * sizeof(float)) == 0;
}

static void *
run_host(void *data)
{
  const Host *host = data;
  Work *work = host->work;
  RaNcclOptions options = {nccl_double(), 60, end_run, NULL, 0};
  g_autoptr(GError) error = NULL;
  RaNccl *nccl;
  RaComm *world;

  nccl_double_enter();
  nccl = ra_nccl_new(&options, &work->id, N_RANKS, host->rank, &error);
  g_assert_no_error(error);
  ra_nccl_split(nccl, work->splits, NULL, &error);
  g_assert_no_error(error);
  world =
      ra_nccl_comm_new(nccl, ra_comm_groups_find(work->splits, RA_NONE,
                                                 RA_GROUP_WORLD, host->rank));
  for (guint i = 0; i < work->n_trips; i++) {
    const Case *c = work->trips[i].of;
    g_autoptr(RaParams) source = params_on(c, &c->from, host->rank, TRUE);
    g_autoptr(RaParams) there =
        move(work, nccl, world, &work->trips[i], 0, source);
    g_autoptr(RaParams) back =
        move(work, nccl, world, &work->trips[i], 1, there);

    if (!is_right(c, &c->to, host->rank, there) ||
        !is_right(c, &c->from, host->rank, back))
      atomic_fetch_add(&work->n_wrong, 1);
  }
  ra_comm_free(world);
  nccl_double_leave(); /* its guard waits, whom no watchdog knows */
  ra_nccl_free(nccl);
  return NULL;
}

static void
make_trip(Work *work, const Case *c, guint number)
{
  static const uint64_t most[] = {1, 40, 1000, 1000000};
  static const uint32_t sets[] = {0, 3, 64};
  RaRoundLimits limits = {most[number % G_N_ELEMENTS(most)],
                          sets[number / 4 % G_N_ELEMENTS(sets)]};
  Trip *t = &work->trips[work->n_trips++];

  t->of = c;
  for (guint way = 0; way < 2; way++) {
    RaRounds *r = ra_rounds_new(way == 0 ? c->there : c->back, gpu_ranks,
                                N_RANKS, &limits);

    t->rounds[way] = r;
    t->sets[way] = g_new(uint32_t, r->n_sets + 1);
    for (uint32_t i = 0; i < r->n_sets; i++)
      t->sets[way][i] = ra_comm_groups_add(
          work->splits, RA_NONE, RA_GROUP_SET, RA_STREAM_REALLOC,
          r->set_begin[i + 1] - r->set_begin[i],
          r->set_ranks + r->set_begin[i]);
  }
}

/* Every @stride-th of @cases from @first on. */
static Work *
work_new(const GArray *cases, guint first, guint stride)
{
  Work *work = g_new0(Work, 1);

  for (uint32_t i = 0; i < N_RANKS; i++)
    gpu_ranks[i] = i;
  work->splits = ra_comm_groups_new(N_RANKS);
  ra_comm_groups_add(work->splits, RA_NONE, RA_GROUP_WORLD, RA_STREAM_REALLOC,
                     N_RANKS, gpu_ranks);
  work->trips = g_new0(Trip, cases->len);
  for (guint i = first; i < cases->len; i += stride)
    make_trip(work, &g_array_index(cases, Case, i), i / stride);
  return work;
}

static void
work_free(Work *work)
{
  for (guint i = 0; i < work->n_trips; i++)
    for (guint way = 0; way < 2; way++) {
      ra_rounds_free(work->trips[i].rounds[way]);
      g_free(work->trips[i].sets[way]);
    }
  ra_comm_groups_free(work->splits);
  g_free(work->trips);
  g_free(work);
}

/* Runs them on a thread a rank; what was done. */
static NcclDoubleTally
run_work(Work *work, uint32_t seed)
{
  pthread_t threads[N_RANKS];
  Host hosts[N_RANKS];
  NcclDoubleTally tally;

  nccl_double_begin(N_RANKS, seed);
  ck_assert(ra_nccl_id(nccl_double(), &work->id, NULL));
  for (uint32_t i = 0; i < N_RANKS; i++) {
    hosts[i] = (Host){work, i};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_host, &hosts[i]), 0);
  }
  for (uint32_t i = 0; i < N_RANKS; i++)
    pthread_join(threads[i], NULL);
  tally = nccl_double_tally();
  nccl_double_end();
  return tally;
}

typedef struct {
  RaModel *model;
  RaTensorTable *table;
  GArray *layouts, *cases;
} Fixture;

static Fixture
fixture_new(guint i)
{
  Fixture f;

  f.model = make_model(models[i].kv_heads, models[i].tied, models[i].value);
  f.table = ra_tensor_table_new(f.model);
  f.layouts = all_layouts();
  f.cases = all_pairs(f.model, f.table, &two_nodes, f.layouts);
  return f;
}

static void
fixture_clear(Fixture *f)
{
  free_cases(f->cases);
  g_array_unref(f->layouts);
  ra_tensor_table_free(f->table);
  ra_model_free(f->model);
}

#define STRIDE 41 /* of 1,250 pairs of layouts: 30 or 31, other ones a model */

START_TEST(test_pairs)
{
  Fixture f = fixture_new((guint)_i);
  Work *work = work_new(f.cases, 5 * (guint)_i, STRIDE);
  NcclDoubleTally tally = run_work(work, 1 + (uint32_t)_i);

  ck_assert_uint_ge(work->n_trips, 30);
  ck_assert_uint_eq(atomic_load(&work->n_wrong), 0);
  ck_assert_uint_gt(tally.n_groups, 0);
  ck_assert_uint_eq(tally.n_aborted, 0);
  ck_assert_uint_gt(work->splits->groups->len, 10); /* broadcasts had sets */
  work_free(work);
  fixture_clear(&f);
}
END_TEST

/* For all pairs: slices of a tensor that a rank sends it has, or has got in
 * rounds before; each slice travels once, as itself or within a broadcast of
 * its rectangle; a window of several tensors is within its limit. */
START_TEST(test_order)
{
  Fixture f = fixture_new((guint)_i);
  guint n_casts = 0, n_relays = 0;

  for (uint32_t i = 0; i < N_RANKS; i++)
    gpu_ranks[i] = i;
  for (guint i = 0; i < f.cases->len; i++) {
    const GArray *slices = g_array_index(f.cases, Case, i).there;
    RaRoundLimits limits = {300, i % 2 ? 8 : 0};
    g_autoptr(RaRounds) r = ra_rounds_new(slices, gpu_ranks, N_RANKS, &limits);
    g_autofree guint *n_times = g_new0(guint, slices->len + 1);
    guint n = 0, n_cast_to = 0;

    for (uint32_t m = 0; m < r->n_messages; m++) {
      const RaRoundMessage *message = &r->messages[m];

      ck_assert_uint_lt(message->round, r->n_rounds);
      for (uint32_t p = 0; p < message->n_pieces; p++)
        n_times[r->pieces[message->first_piece + p]]++;
      n += message->n_pieces;
      if (message->set != RA_NONE) {
        n_casts++;
        n_cast_to += message->n_pieces * (r->set_begin[message->set + 1] -
                                          r->set_begin[message->set] - 2);
      }
    }
    for (guint k = 0; k < slices->len; k++)
      ck_assert_uint_le(n_times[k], 1);
    /* A broadcast to k others is the message of k slices. */
    ck_assert_uint_eq(n + n_cast_to, slices->len);
    n_relays += r->n_rounds > r->n_windows;
  }
  ck_assert_uint_gt(n_casts, 0);
  ck_assert_uint_gt(n_relays, 0);
  fixture_clear(&f);
}
END_TEST

/* In which round of @rank's order from @at on @peer alone sends (or alone gets)
 * among the two; RA_NONE: none. */
static uint32_t
one_way(const RaRounds *r, uint32_t rank, uint32_t peer, gboolean sends,
        uint32_t after)
{
  for (uint32_t i = r->begin[rank]; i < r->begin[rank + 1]; i++) {
    uint32_t round = r->messages[r->order[i]].round;
    guint n_in = 0, n_out = 0, n_others = 0;

    if (after != RA_NONE && round <= after)
      continue;
    for (uint32_t k = r->begin[rank]; k < r->begin[rank + 1]; k++) {
      const RaRoundMessage *m = &r->messages[r->order[k]];

      if (m->round != round)
        continue;
      n_in += m->from == peer && m->to == rank;
      n_out += m->from == rank && m->to == peer;
      n_others += m->set != RA_NONE;
    }
    if (n_others == 0 &&
        (sends ? n_in > 0 && n_out == 0 : n_out > 0 && n_in == 0))
      return round;
  }
  return RA_NONE;
}

/* Gives @rank the groups of rounds @a and @b in each other's place. */
static void
swap_groups(RaRounds *r, uint32_t rank, uint32_t a, uint32_t b)
{
  g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  guint n = r->begin[rank + 1] - r->begin[rank];

  for (uint32_t round = 0; round < r->n_rounds; round++)
    for (uint32_t i = r->begin[rank]; i < r->begin[rank + 1]; i++)
      if (r->messages[r->order[i]].round == (round == a   ? b
                                             : round == b ? a
                                                          : round))
        g_array_append_val(order, r->order[i]);
  ck_assert_uint_eq(order->len, n);
  memcpy(r->order + r->begin[rank], order->data, n * sizeof *r->order);
}

#ifdef __SANITIZE_THREAD__
/* The ranks of test_swapped are stuck for good: threads that nobody joins. */
const char *__tsan_default_options(void);

const char *
__tsan_default_options(void)
{
  return "report_thread_leaks=0";
}
#endif

/* The fault: a rank that gives away in a round and gets in a later one from the
 * same rank does the second first.  Both wait for each other for ever. */
START_TEST(test_swapped)
{
  Fixture f = fixture_new(1);
  guint n = 0;

  for (guint i = 0; i < f.cases->len && n == 0; i++) {
    Work *work = work_new(f.cases, i, f.cases->len);
    RaRounds *r;

    ra_rounds_free(work->trips[0].rounds[0]);
    work->trips[0].rounds[0] = r = ra_rounds_new(
        work->trips[0].of->there, gpu_ranks, N_RANKS, &(RaRoundLimits){1, 0});
    for (uint32_t rank = 0; rank < N_RANKS && n == 0; rank++)
      for (uint32_t peer = 0; peer < N_RANKS && n == 0; peer++) {
        uint32_t first = one_way(r, rank, peer, FALSE, RA_NONE);
        uint32_t second =
            first == RA_NONE ? RA_NONE : one_way(r, rank, peer, TRUE, first);

        if (second != RA_NONE) {
          swap_groups(r, rank, first, second);
          n++;
        }
      }
    if (n > 0)
      run_work(work, 3); /* does not come back: end_run() */
    work_free(work);
  }
  ck_abort_msg(n == 0 ? "no case has such rounds" : "nobody was stuck");
}
END_TEST

/* The fault: the last piece of a message does not travel. */
START_TEST(test_left_out)
{
  Fixture f = fixture_new(0);
  Work *work = work_new(f.cases, 3, 90);
  guint n_cut = 0;

  for (guint i = 0; i < work->n_trips; i++) {
    RaRounds *r = work->trips[i].rounds[0];

    for (uint32_t m = 0; m < r->n_messages; m++)
      if (r->messages[m].n_pieces > 1) {
        const RaRoundMessage *last = &r->messages[m];
        const RaSlice *s =
            &g_array_index(work->trips[i].of->there, RaSlice,
                           r->pieces[last->first_piece + last->n_pieces - 1]);

        r->messages[m].n_elements -= s->n_rows * s->n_cols;
        r->messages[m].n_pieces--;
        n_cut++;
        break;
      }
  }
  ck_assert_uint_gt(n_cut, 3);
  run_work(work, 4);
  ck_assert_uint_ge(atomic_load(&work->n_wrong), n_cut);
  work_free(work);
  fixture_clear(&f);
}
END_TEST

static Suite *
rounds_suite(void)
{
  Suite *suite = suite_create("rounds");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_pairs, 0,
                      RA_CHECK_SOME(G_N_ELEMENTS(models)));
  tcase_add_loop_test(tcase, test_order, 0,
                      RA_CHECK_SOME(G_N_ELEMENTS(models)));
  tcase_add_exit_test(tcase, test_swapped, ENDED);
  tcase_add_test(tcase, test_left_out);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(rounds_suite)
