/* The one error domain of Reallot.
 *
 * Every function that can fail for a reason its user can do something about
 * takes a trailing `GError **error` and sets it in this domain.  The code says
 * what the user can do, and with that the exit status of the program; the
 * message says where and what in one line:
 *
 *     profiles/h100.profile:12: expected a number for 'bf16_flop_per_s'
 *
 * that is place, cause, subject in quotes, lower case, no full stop.  The
 * function that knows the cause writes it, callers add at most a prefix, and
 * only cli/ prints.  Programming errors are never a GError: they are
 * g_return_val_if_fail() at a public entry and g_assert() inside.
 */
#ifndef RA_BASE_ERROR_H
#define RA_BASE_ERROR_H

#include <glib.h>

#define RA_ERROR (ra_error_quark())
GQuark ra_error_quark(void);

/* What the user can do about it. */
typedef enum {
  RA_ERROR_INPUT,     /* correct a file or a flag: exit 2 */
  RA_ERROR_IO,        /* make the file readable or writable: exit 2 */
  RA_ERROR_NEGATIVE,  /* the question was answered with no: exit 1 */
  RA_ERROR_NO_DEVICE, /* find a device or a driver: exit 3 */
  RA_ERROR_DEVICE     /* a device failed while it was used: exit 4 */
} RaErrorCode;

/**
 * ra_error_exit_status:
 * @error: (nullable): borrowed
 *
 * The exit status that stands for @error: 0 for %NULL, 1 a negative answer,
 * 2 usage, input or file system (also for a foreign domain, such as GLib's
 * file errors), 3 no device, 4 device failure.
 *
 * Returns: 0 to 4
 */
int ra_error_exit_status(const GError *error);

/**
 * ra_error_at:
 * @error: (nullable): where `place:line: text` goes, as %RA_ERROR_INPUT
 * @place: name of a file
 * @line: of it, from 1
 * @format: printf()'s, of @args
 *
 * What the readers of line-wise files refuse one with.
 *
 * Returns: %FALSE, to be returned
 */
gboolean ra_error_at(GError **error, const char *place, guint line,
                     const char *format, va_list args) G_GNUC_PRINTF(4, 0);

#endif
