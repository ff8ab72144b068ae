/* The one error domain of Reallot.
 *
 * Every function that can fail for a reason that its user can act on has a
 * trailing `GError **error` and sets it in this domain.  The code tells what
 * the user can do, and so decides the exit status of the program.  The message
 * is one line that names the place, the cause and the subject in quotes, in
 * lower case, without a full stop:
 *
 *     profiles/h100.profile:12: expected a number for 'bf16_flop_per_s'
 *
 * The function that knows the cause writes the message, callers add at most a
 * prefix, and only cli/ prints.  Programming errors are never a GError: they
 * are g_return_val_if_fail() at a public entry and g_assert() inside.
 */
#ifndef RA_BASE_ERROR_H
#define RA_BASE_ERROR_H

#include <glib.h>

#define RA_ERROR (ra_error_quark())
GQuark ra_error_quark(void);

/* The user's remedy and the exit status. */
typedef enum {
  RA_ERROR_INPUT,     /* correct a file or a flag: exit 2 */
  RA_ERROR_IO,        /* make the file readable or writable: exit 2 */
  RA_ERROR_NEGATIVE,  /* the question was answered with no: exit 1 */
  RA_ERROR_NO_DEVICE, /* find a device or a driver: exit 3 */
  RA_ERROR_DEVICE     /* a run failed: a device, a rank that died or stalls, a
                         number that is not finite: exit 4 */
} RaErrorCode;

/**
 * ra_error_exit_status:
 * @error: (nullable): borrowed
 *
 * Maps @error to the exit status of a program:
 *
 *     0  %NULL
 *     1  a negative answer
 *     2  usage, input or file system; also any other domain, such as GLib's
 *        file errors
 *     3  no device
 *     4  device failure
 *
 * Returns: 0 to 4
 */
int ra_error_exit_status(const GError *error);

/**
 * ra_error_at:
 * @error: (nullable): set to %RA_ERROR_INPUT `place:line: text`
 * @place: name of a file
 * @line: line of the file, from 1
 * @format: printf() format of @args
 *
 * The error of a reader of line-wise files.
 *
 * Returns: %FALSE, to be returned
 */
gboolean ra_error_at(GError **error, const char *place, guint line,
                     const char *format, va_list args) G_GNUC_PRINTF(4, 0);

/**
 * ra_error_file:
 * @error: (nullable): set to %RA_ERROR_IO `path: cause, expected what`
 * @path: name of a file
 * @code: the errno of its use
 * @is_written: it was to be written, not read
 *
 * The error of a use of a file that the system refused.
 *
 * Returns: %FALSE, to be returned
 */
gboolean ra_error_file(GError **error, const char *path, int code,
                       gboolean is_written);

#endif
