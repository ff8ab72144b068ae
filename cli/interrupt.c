/* Ctrl-C during a long command. */
#include "config.h"

#include <signal.h>

#include "cli/interrupt.h"

static gint stop;       /* atomic: set by the signal */
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

gboolean
ra_interrupt_note(void)
{
  g_atomic_int_set(&stop, 1);
  return g_atomic_int_get(&is_watched) != 0;
}
