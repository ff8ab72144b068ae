/* Progress line on the terminal during long work. */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/progress.h"

struct _RaProgress {
  const char *what; /* borrowed */
  GThread *thread;  /* shows the line; NULL: there was no room for it */
  GMutex mutex;     /* guards `done` and the counts' places */
  GCond end;        /* signalled when `done` is set */
  gboolean done;    /* the work has ended */
  const gint *n_parts_done, *n_parts; /* nullable, borrowed */
};

/* Returns the columns that it takes; @n_s: seconds since the begin. */
static int
show_line(const RaProgress *progress, gint64 n_s)
{
  gint n = progress->n_parts ? g_atomic_int_get(progress->n_parts) : 0;
  int n_shown =
      fprintf(stderr, "\r%s: %" G_GINT64_FORMAT " s", progress->what, n_s);

  if (n > 0)
    n_shown += fprintf(stderr, ", %d of %d replays",
                       g_atomic_int_get(progress->n_parts_done), n);
  return n_shown;
}

static gpointer
show(gpointer data)
{
  RaProgress *progress = data;
  gint64 begin_us = g_get_monotonic_time();
  int n_shown = 0;

  g_mutex_lock(&progress->mutex);
  for (gint64 n_s = 1; !progress->done; n_s++) {
    gint64 until_us = begin_us + n_s * G_USEC_PER_SEC;

    while (!progress->done &&
           g_cond_wait_until(&progress->end, &progress->mutex, until_us))
      ;
    if (!progress->done)
      n_shown = show_line(progress, n_s);
  }
  g_mutex_unlock(&progress->mutex);
  if (n_shown > 0)
    fprintf(stderr, "\r%*s\r", n_shown, "");
  return NULL;
}

RaProgress *
ra_progress_begin(const char *what)
{
  RaProgress *progress;

  if (!isatty(STDERR_FILENO))
    return NULL;
  progress = g_new0(RaProgress, 1);
  progress->what = what;
  g_mutex_init(&progress->mutex);
  g_cond_init(&progress->end);
  progress->thread = g_thread_try_new("progress", show, progress, NULL);
  return progress;
}

void
ra_progress_count(RaProgress *progress, const gint *n_done, const gint *n)
{
  if (!progress)
    return;
  g_mutex_lock(&progress->mutex);
  progress->n_parts_done = n_done;
  progress->n_parts = n;
  g_mutex_unlock(&progress->mutex);
}

void
ra_progress_end(RaProgress *progress)
{
  if (!progress)
    return;
  g_mutex_lock(&progress->mutex);
  progress->done = TRUE;
  g_cond_signal(&progress->end);
  g_mutex_unlock(&progress->mutex);
  if (progress->thread)
    g_thread_join(progress->thread);
  g_mutex_clear(&progress->mutex);
  g_cond_clear(&progress->end);
  g_free(progress);
}
