/* Threads that take jobs from one atomic counter. */
#include "config.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/jobs.h"

/* Memory that each thread's jobs need about, as much as a usual stack: where it
 * is scarce (ulimit -v), fewer threads that end are better than many that do
 * not.  MEASURED: 3.5 MiB more are mapped while `simulate --seeds` replays
 * ppo-tiny-8.plan on a thread. */
#define JOB_BYTES ((gsize)8 << 20)

typedef struct {
  RaJobFunc func;
  gpointer data;
  gint n;
  gint next;     /* atomic */
  gint n_joined; /* atomic: threads that have begun */
} Jobs;

static gpointer
run(gpointer item)
{
  Jobs *jobs = item;
  guint thread = (guint)g_atomic_int_add(&jobs->n_joined, 1);

  for (;;) {
    gint i = g_atomic_int_add(&jobs->next, 1);

    if (i >= jobs->n)
      return NULL;
    jobs->func((guint)i, thread, jobs->data);
  }
}

/* TRUE if a stack has a place now, beside the memory of jobs of @n threads. */
static gboolean
has_room(guint n)
{
  gsize n_bytes = n * JOB_BYTES;
  struct rlimit stack;
  void *room;

  if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY)
    n_bytes += stack.rlim_cur;
  room = mmap(NULL, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    return FALSE;
  munmap(room, n_bytes);
  return TRUE;
}

guint
ra_jobs_threads(guint n_threads, guint n)
{
  guint most = n_threads > 0 ? n_threads : g_get_num_processors();

  return CLAMP(n, 1, most);
}

void
ra_jobs_run(guint n, guint n_threads, RaJobFunc func, gpointer data)
{
  Jobs jobs = {.func = func, .data = data, .n = (gint)n};
  guint n_used = ra_jobs_threads(n_threads, n);
  g_autofree GThread **threads = g_new0(GThread *, n_used);

  g_return_if_fail(n <= G_MAXINT / 2);
  for (guint i = 1; i < n_used && has_room(i + 1); i++)
    threads[i] = g_thread_try_new("jobs", run, &jobs, NULL);
  run(&jobs);
  for (guint i = 1; i < n_used; i++)
    if (threads[i]) /* else there was no room for it: the others do its work */
      g_thread_join(threads[i]);
}
