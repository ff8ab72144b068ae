/* Until: a time, or a wish to stop, that ends long work.
 *
 *     RaUntil until = {.stop = ra_interrupt_watch(), .end_us = end_us};
 *     if (ra_until_is_over(&until))
 *       return what there is so far;
 */
#ifndef RA_BASE_UNTIL_H
#define RA_BASE_UNTIL_H

#include <glib.h>

typedef struct {
  const gint *stop; /* nullable: set atomically to non-zero: stop */
  gint64 end_us;    /* as g_get_monotonic_time(); 0: no end */
} RaUntil;

/* Sets "the time was up" (%RA_ERROR_NEGATIVE), and returns FALSE. */
gboolean ra_until_fail(GError **error);

/* TRUE if work should end; never for a NULL @until. */
static inline gboolean
ra_until_is_over(const RaUntil *until)
{
  return until &&
         ((until->stop && g_atomic_int_get(until->stop) != 0) ||
          (until->end_us > 0 && g_get_monotonic_time() >= until->end_us));
}

#endif
