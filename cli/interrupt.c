/* Ctrl-C during a long command. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/interrupt.h"

#define STEP_US 20000

static gint stop;       /* atomic: set by the signal */
static gint late;       /* atomic: set some time after it */
static gint is_watched; /* atomic */

static void
on_interrupt(int signal_number)
{
  (void)signal_number;
  g_atomic_int_set(&stop, 1);
}

gint *
ra_interrupt_watch(void)
{
  struct sigaction action = {.sa_handler = on_interrupt,
                             .sa_flags = (int)SA_RESETHAND};

  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  g_atomic_int_set(&is_watched, 1);
  return &stop;
}

typedef struct {
  char *(*last_words)(gconstpointer data);
  gconstpointer data;
} Bound;

static void
wait_until_late(void)
{
  while (!g_atomic_int_get(&stop))
    g_usleep(STEP_US);
  g_usleep((gulong)(RA_INTERRUPT_S * 1e6));
}

static gpointer
set_late(gpointer data)
{
  (void)data;
  wait_until_late();
  g_atomic_int_set(&late, 1);
  return NULL;
}

const gint *
ra_interrupt_late(void)
{
  GThread *thread = g_thread_try_new("interrupt", set_late, NULL, NULL);

  if (thread)
    g_thread_unref(thread);
  return &late;
}

static gpointer
wait_for_interrupt(gpointer data)
{
  g_autofree Bound *bound = data;
  g_autofree char *line = NULL;

  wait_until_late();
  line = bound->last_words(bound->data);
  fprintf(stderr, "%sreallot: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
          line);
  _exit(1);
}

void
ra_interrupt_bound(char *(*last_words)(gconstpointer data), gconstpointer data)
{
  Bound *bound = g_new(Bound, 1);
  GThread *thread;

  *bound = (Bound){last_words, data};
  thread = g_thread_try_new("interrupt", wait_for_interrupt, bound, NULL);
  if (thread)
    g_thread_unref(thread);
  else
    g_free(bound); /* the work ends when it looks at the watch */
}

gboolean
ra_interrupt_note(void)
{
  g_atomic_int_set(&stop, 1);
  return g_atomic_int_get(&is_watched) != 0;
}
