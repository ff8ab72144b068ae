/* Ctrl-C during a long command. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/interrupt.h"

#define STEP_US 20000

static gint stop;       /* atomic: set by the signal */
static gint late;       /* atomic: set some time after it */
static gint has_timer;  /* atomic */
static timer_t timer;   /* that sets it */
static gint is_watched; /* atomic */

static void
on_interrupt(int signal_number)
{
  const struct itimerspec after = {
      .it_value = {.tv_nsec = (long)(RA_INTERRUPT_S * 1e9)}};

  (void)signal_number;
  g_atomic_int_set(&stop, 1);
  if (g_atomic_int_get(&has_timer))
    timer_settime(timer, 0, &after, NULL); /* a handler may call it: POSIX */
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
on_late(int signal_number)
{
  (void)signal_number;
  g_atomic_int_set(&late, 1);
}

/* By a timer, as a thread takes memory that may be short; an alarm is left to
 * the program that started this one. */
const gint *
ra_interrupt_late(void)
{
  struct sigaction action = {.sa_handler = on_late, .sa_flags = SA_RESTART};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                           .sigev_signo = SIGRTMIN};

  sigemptyset(&action.sa_mask);
  if (sigaction(SIGRTMIN, &action, NULL) == 0 &&
      timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
    g_atomic_int_set(&has_timer, 1);
  return &late;
}

static gpointer
wait_for_interrupt(gpointer data)
{
  g_autofree Bound *bound = data;
  g_autofree char *line = NULL;

  while (!g_atomic_int_get(&stop))
    g_usleep(STEP_US);
  g_usleep((gulong)(RA_INTERRUPT_S * 1e6));
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
