/* Calls of NCCL on a thread of their own. */
#include "config.h"

#include <pthread.h>

#include "exec/comm/nccl_guard.h"

#define LONGEST_S 1e9 /* patience without an end: G_MAXINT64 us are more */

struct _RaNcclGuard {
  GMutex lock;
  GCond changed;
  gboolean is_over, is_left; /* by the thread; by who waited */
  int result;
  int (*call)(gpointer data);
  gpointer data;            /* borrowed */
  GDestroyNotify free_data; /* if it is left; NULL: no */
};

static void
guard_free(RaNcclGuard *g)
{
  g_mutex_clear(&g->lock);
  g_cond_clear(&g->changed);
  g_free(g);
}

static void *
run(void *data)
{
  RaNcclGuard *g = data;
  int result = g->call(g->data);
  gboolean is_left;

  g_mutex_lock(&g->lock);
  g->result = result;
  g->is_over = TRUE;
  is_left = g->is_left;
  g_cond_signal(&g->changed);
  g_mutex_unlock(&g->lock);
  if (is_left && g->free_data)
    g->free_data(g->data);
  if (is_left)
    guard_free(g);
  return NULL;
}

RaNcclGuard *
ra_nccl_guard_start(int (*call)(gpointer data), gpointer data,
                    GDestroyNotify free_data)
{
  RaNcclGuard *g = g_new0(RaNcclGuard, 1);
  pthread_t thread;

  g_mutex_init(&g->lock);
  g_cond_init(&g->changed);
  g->call = call;
  g->data = data;
  g->free_data = free_data;
  if (pthread_create(&thread, NULL, run, g) != 0)
    g_error("cannot start a thread for a communicator");
  pthread_detach(thread);
  return g;
}

gboolean
ra_nccl_guard_wait(RaNcclGuard *g, double patience_s, int *out_result)
{
  gint64 until = g_get_monotonic_time() +
                 (gint64)(G_USEC_PER_SEC * MIN(patience_s, LONGEST_S));
  gboolean is_over;

  g_mutex_lock(&g->lock);
  while (!g->is_over && g_cond_wait_until(&g->changed, &g->lock, until))
    ;
  is_over = g->is_over;
  *out_result = g->result;
  g->is_left = TRUE;
  g_mutex_unlock(&g->lock);
  if (is_over)
    guard_free(g);
  return is_over;
}
