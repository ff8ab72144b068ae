/* Functions for any world. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "exec/comm/world.h"

#define LINE_BYTES 1024

/* The processes whose hash is not process 0's, "1, 3"; %NULL: none. */
static char *
strangers(const GPtrArray *hashes)
{
  const void *first = g_bytes_get_data(hashes->pdata[0], NULL);
  g_autoptr(GString) out = g_string_new(NULL);

  for (guint i = 1; i < hashes->len; i++)
    if (memcmp(g_bytes_get_data(hashes->pdata[i], NULL), first,
               sizeof(uint64_t)) != 0)
      g_string_append_printf(out, "%s%u", out->len > 0 ? ", " : "", i);
  return out->len > 0 ? g_strdup(out->str) : NULL;
}

gboolean
ra_world_agree(RaWorld *world, uint64_t hash, const char *what, GError **error)
{
  g_autoptr(GPtrArray) hashes = NULL;
  char line[LINE_BYTES] = "";

  if (!world)
    return TRUE;
  hashes = world->table->gather(world, &hash, sizeof hash);
  if (hashes) {
    g_autofree char *others = strangers(hashes);

    if (others)
      g_snprintf(line, sizeof line,
                 "%s of process %s is not that of process 0, expected the same "
                 "files and flags on all",
                 what, others);
  }
  world->table->share(world, line, sizeof line);
  if (line[0] == '\0')
    return TRUE;
  g_set_error_literal(error, RA_ERROR, RA_ERROR_INPUT, line);
  return FALSE;
}
