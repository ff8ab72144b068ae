/* Forks of an estimator: one a thread, with memos. */
#include "config.h"

#include "estimator/estimator_impl.h"

struct _RaForks {
  gatomicrefcount n_users; /* the estimator, its forks and keepers, whose ends
                              come in any order */
  GMutex lock;
  guint n_keepers; /* ra_estimator_keep_forks() that have not ended */
  GPtrArray *idle; /* (RaEstimator), owned; the last to be used is the last */
};

RaForks *
ra_forks_new(void)
{
  RaForks *forks = g_new0(RaForks, 1);

  g_atomic_ref_count_init(&forks->n_users);
  g_mutex_init(&forks->lock);
  forks->idle = g_ptr_array_new();
  return forks;
}

static void
forks_unref(RaForks *forks)
{
  if (!g_atomic_ref_count_dec(&forks->n_users))
    return;
  g_ptr_array_unref(forks->idle);
  g_mutex_clear(&forks->lock);
  g_free(forks);
}

/* An idle fork, NULL if there is none. */
static RaEstimator *
take(RaForks *forks)
{
  RaEstimator *fork = NULL;

  g_mutex_lock(&forks->lock);
  if (forks->idle->len > 0)
    fork = g_ptr_array_steal_index(forks->idle, forks->idle->len - 1);
  g_mutex_unlock(&forks->lock);
  return fork;
}

/* FALSE if forks are not kept. */
static gboolean
put_back(RaForks *forks, RaEstimator *fork)
{
  gboolean is_kept;

  g_mutex_lock(&forks->lock);
  is_kept = forks->n_keepers > 0;
  if (is_kept)
    g_ptr_array_add(forks->idle, fork);
  g_mutex_unlock(&forks->lock);
  return is_kept;
}

RaEstimator *
ra_estimator_fork(const RaEstimator *estimator)
{
  RaEstimator *fork = take(estimator->forks);

  if (fork)
    return fork;
  fork = g_memdup2(estimator, sizeof *estimator);
  g_atomic_ref_count_inc(&fork->forks->n_users);
  fork->memo = ra_op_memo_new();
  fork->lines = ra_lines_memo_new();
  fork->is_fork = TRUE;
  for (guint k = 1; k < fork->n_kinds; k++)
    fork->kinds[k] = ra_estimator_fork(estimator->kinds[k]);
  return fork;
}

/* A fork, whose laws belong to another, or the estimator itself. */
static void
destroy(RaEstimator *estimator)
{
  if (!estimator->is_fork)
    ra_estimator_clear_decode(estimator);
  for (guint k = 1; k < estimator->n_kinds; k++)
    ra_estimator_free(estimator->kinds[k]);
  ra_op_memo_free(estimator->memo);
  ra_lines_memo_free(estimator->lines);
  forks_unref(estimator->forks);
  g_free(estimator);
}

void
ra_estimator_free(RaEstimator *estimator)
{
  if (estimator &&
      !(estimator->is_fork && put_back(estimator->forks, estimator)))
    destroy(estimator);
}

RaForks *
ra_estimator_keep_forks(const RaEstimator *estimator)
{
  RaForks *forks = estimator->forks;

  g_atomic_ref_count_inc(&forks->n_users);
  g_mutex_lock(&forks->lock);
  forks->n_keepers++;
  g_mutex_unlock(&forks->lock);
  return forks;
}

void
ra_forks_drop(RaForks *forks)
{
  RaEstimator *fork;
  gboolean is_last;

  g_mutex_lock(&forks->lock);
  g_assert(forks->n_keepers > 0);
  is_last = --forks->n_keepers == 0;
  g_mutex_unlock(&forks->lock);
  while (is_last && (fork = take(forks)))
    destroy(fork);
  forks_unref(forks);
}
