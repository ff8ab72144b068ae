/* The error of work that was ended. */
#include "config.h"

#include "base/error.h"
#include "base/until.h"

gboolean
ra_until_fail(GError **error)
{
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE, "the time was up");
  return FALSE;
}
