/* The thread team of a rank. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>

#include "exec/backend/spin_wait.h"
#include "exec/backend/team.h"

/* A claim: 24 bits of the loop's number, 20 of its parts, 20 of the next
 * unclaimed part.  They are one word, so that a thread that is late for a
 * finished loop cannot claim a part of the next one by mistake. */
#define PART_BITS 20
#define PART_MASK ((1u << PART_BITS) - 1)

struct _RaTeam {
  uint32_t n_threads;
  gboolean spins;     /* waiting threads spin before they block */
  pthread_t *threads; /* (n_threads - 1) */
  atomic_uint_fast64_t claim;
  _Atomic(RaTeamFunc) func; /* function of the current loop */
  _Atomic(gpointer) data;
  atomic_uint n_done; /* parts of it */
  pthread_mutex_t lock;
  pthread_cond_t work; /* a loop, or the end */
  pthread_cond_t done; /* the last part */
  gboolean is_over;    /* locked */
};

static _Thread_local RaTeam *current;

static uint32_t
parts_of(uint64_t claim)
{
  return (uint32_t)(claim >> PART_BITS) & PART_MASK;
}

static uint32_t
next_of(uint64_t claim)
{
  return (uint32_t)claim & PART_MASK;
}

static gboolean
has_parts(gconstpointer data)
{
  const RaTeam *t = data;
  uint64_t claim = atomic_load(&t->claim);

  return next_of(claim) < parts_of(claim);
}

/* TRUE if all parts of the loop at hand are done. */
static gboolean
is_done(gconstpointer data)
{
  const RaTeam *t = data;

  return atomic_load(&t->n_done) >= parts_of(atomic_load(&t->claim));
}

/* Does parts until none is left. */
static void
work(RaTeam *t)
{
  uint64_t claim = atomic_load(&t->claim);

  while (next_of(claim) < parts_of(claim)) {
    RaTeamFunc func = atomic_load(&t->func);
    gpointer data = atomic_load(&t->data);
    uint32_t n = parts_of(claim);

    /* The claim is as it was when they were read, so they are its loop's. */
    if (!atomic_compare_exchange_weak(&t->claim, &claim, claim + 1))
      continue;
    func(next_of(claim), data);
    if (atomic_fetch_add(&t->n_done, 1) + 1 == n) {
      pthread_mutex_lock(&t->lock);
      pthread_cond_signal(&t->done);
      pthread_mutex_unlock(&t->lock);
    }
    claim = atomic_load(&t->claim);
  }
}

static void *
run_member(void *data)
{
  RaTeam *t = data;

  for (;;) {
    gboolean is_over;

    if (t->spins)
      (void)ra_spin_until(has_parts, t);
    pthread_mutex_lock(&t->lock);
    while (!has_parts(t) && !t->is_over)
      pthread_cond_wait(&t->work, &t->lock);
    is_over = t->is_over;
    pthread_mutex_unlock(&t->lock);
    if (is_over)
      return NULL;
    work(t);
  }
}

RaTeam *
ra_team_new(uint32_t n_threads, gboolean spins)
{
  RaTeam *t = g_new0(RaTeam, 1);

  t->n_threads = MAX(n_threads, 1u);
  t->spins = spins;
  t->threads = g_new0(pthread_t, t->n_threads);
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->work, NULL);
  pthread_cond_init(&t->done, NULL);
  for (uint32_t i = 0; i + 1 < t->n_threads; i++)
    if (pthread_create(&t->threads[i], NULL, run_member, t) != 0)
      g_error("cannot start thread %u of a rank", i + 1);
  return t;
}

void
ra_team_free(RaTeam *team)
{
  if (!team)
    return;
  pthread_mutex_lock(&team->lock);
  team->is_over = TRUE;
  pthread_cond_broadcast(&team->work);
  pthread_mutex_unlock(&team->lock);
  for (uint32_t i = 0; i + 1 < team->n_threads; i++)
    pthread_join(team->threads[i], NULL);
  pthread_cond_destroy(&team->work);
  pthread_cond_destroy(&team->done);
  pthread_mutex_destroy(&team->lock);
  g_free(team->threads);
  g_free(team);
}

void
ra_team_lead(RaTeam *team)
{
  current = team;
}

uint32_t
ra_team_n_threads(void)
{
  return current ? current->n_threads : 1;
}

void
ra_team_for(uint32_t n_parts, RaTeamFunc func, gpointer data)
{
  RaTeam *t = current;
  uint64_t number;

  g_return_if_fail(n_parts <= PART_MASK);
  if (!t || t->n_threads == 1 || n_parts <= 1) {
    for (uint32_t part = 0; part < n_parts; part++)
      func(part, data);
    return;
  }
  number = (atomic_load(&t->claim) >> 2 * PART_BITS) + 1;
  atomic_store(&t->func, func);
  atomic_store(&t->data, data);
  atomic_store(&t->n_done, 0);
  pthread_mutex_lock(&t->lock);
  atomic_store(&t->claim,
               number << 2 * PART_BITS | (uint64_t)n_parts << PART_BITS);
  pthread_cond_broadcast(&t->work);
  pthread_mutex_unlock(&t->lock);
  work(t);
  if (t->spins && ra_spin_until(is_done, t))
    return;
  pthread_mutex_lock(&t->lock);
  while (atomic_load(&t->n_done) < n_parts)
    pthread_cond_wait(&t->done, &t->lock);
  pthread_mutex_unlock(&t->lock);
}
