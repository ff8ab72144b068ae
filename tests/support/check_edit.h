/* Tables of faults: a good file, one edit, and the expected message.
 *
 * A test of bad input replaces one piece of a good text and expects exactly one
 * message.  The edit must match exactly one place, so that a stale table fails
 * instead of testing nothing.
 *
 *     static const RaFault faults[] = {
 *         {"dp = 4", "dp = 0", "x.plan:6: 'dp' is 0, expected ..."},
 *     };
 *     ra_check_faults(good, faults, G_N_ELEMENTS(faults), load);
 *
 * Typical sizes: 30 faults a kind of file.
 */
#ifndef RA_TESTS_SUPPORT_CHECK_EDIT_H
#define RA_TESTS_SUPPORT_CHECK_EDIT_H

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/keyfile.h"
#include "tests/support/check_points.h"

typedef struct {
  const char *from;    /* occurs once in the good text */
  const char *to;      /* replacement */
  const char *message; /* the whole expected message */
} RaFault;

/* Loads @text and frees the result; TRUE if it was good. */
typedef gboolean (*RaLoadText)(const char *text, GError **error);

/* (transfer full): @text with its one @from replaced by @to. */
static inline char *
ra_edit(const char *text, const char *from, const char *to)
{
  const char *at = strstr(text, from);

  ck_assert_msg(at != NULL, "'%s' is not in the good text", from);
  ck_assert_msg(strstr(at + 1, from) == NULL, "'%s' is there twice", from);
  return g_strdup_printf("%.*s%s%s", (int)(at - text), text, to,
                         at + strlen(from));
}

/* TRUE if loading @text gives exactly @message, on one line. */
static inline gboolean
ra_gives(const char *text, const char *message, RaLoadText load)
{
  GError *error = NULL;
  gboolean good = load(text, &error);
  gboolean same;

  if (good) {
    fprintf(stderr, "accepted, expected: %s\n", message);
    return FALSE;
  }
  ck_assert_ptr_nonnull(error);
  same = error->domain == RA_ERROR && error->code == RA_ERROR_INPUT &&
         strcmp(error->message, message) == 0 &&
         strchr(error->message, '\n') == NULL;
  if (!same)
    fprintf(stderr, "got:      %s\nexpected: %s\n", error->message, message);
  g_error_free(error);
  return same;
}

static inline void
ra_check_faults(const char *good, const RaFault *faults, gsize n_faults,
                RaLoadText load)
{
  guint n_wrong = 0;
  GError *error = NULL;

  ck_assert_msg(load(good, &error), "the good text: %s",
                error ? error->message : "no message");
  for (gsize i = 0; i < n_faults; i++) {
    char *text = ra_edit(good, faults[i].from, faults[i].to);

    if (!ra_gives(text, faults[i].message, load))
      n_wrong++;
    g_free(text);
  }
  ck_assert_msg(n_wrong == 0, "%u of %u messages differ, see above", n_wrong,
                (guint)n_faults);
}

#endif
