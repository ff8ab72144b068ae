/* New measurements into a profile that is there. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "estimator/fit.h"
#include "study/calibrate_impl.h"

#define BYTES_MAX (4u << 20) /* of a profile, as of any key file */

/* What of one law changes. */
typedef struct {
  const char *law;
  guint64 n_rows; /* new ones */
  RaGrid *grid;   /* owned */
} Change;

static void
clear_change(gpointer data)
{
  ra_grid_free(((Change *)data)->grid);
}

/* The law's change whose group the header @line opens; NULL: none. */
static const Change *
change_of(const GArray *changes, const char *noun, const char *line)
{
  for (guint i = 0; i < changes->len; i++) {
    const Change *change = &g_array_index(changes, Change, i);
    g_autofree char *header = g_strdup_printf("[%s %s]", noun, change->law);

    if (g_str_has_prefix(line, header))
      return change;
  }
  return NULL;
}

/* The profile's lines, with tables and numbers of rows as they are now. */
static void
rewrite(const char *text, const RaProfile *profile, const GArray *changes,
        GString *out)
{
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  const Change *law = NULL, *table = NULL;

  for (guint i = 0; lines[i]; i++) {
    const char *line = lines[i];

    if (*line == '[') {
      law = change_of(changes, "law", line);
      table = change_of(changes, "table", line);
      g_string_append_printf(out, "%s\n", line);
      if (table)
        ra_grid_write(table->grid, out);
    } else if (law && g_str_has_prefix(line, "rows = ")) {
      g_string_append_printf(out, "rows = %" G_GUINT64_FORMAT "\n",
                             ra_profile_law(profile, law->law)->n_rows +
                                 law->n_rows);
    } else if (!table || (!g_str_has_prefix(line, "axis-") &&
                          !g_str_has_prefix(line, "at"))) {
      g_string_append_printf(out, "%s%s", line, lines[i + 1] ? "\n" : "");
    }
  }
}

/* Tables with the new rows in them. */
static GArray *
find_changes(RaProfile *profile, const char *data, const RaGpu *gpu,
             RaCalibration *out, GError **error)
{
  g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(Change));

  g_array_set_clear_func(changes, clear_change);
  for (guint i = 0; i < ra_fit_n_laws(); i++) {
    const RaFitLaw *law = ra_fit_law_at(i);
    g_autoptr(GArray) rows =
        ra_measured_rows(data, law->source, gpu->rows, error);
    Change change = {.law = law->law};

    if (!rows)
      return NULL;
    if (rows->len == 0)
      continue;
    change.n_rows = rows->len;
    change.grid = ra_fit_merge(law, profile, rows);
    if (change.grid) {
      g_array_append_val(changes, change);
      continue;
    }
    g_ptr_array_add(out->notes,
                    g_strdup_printf("%s: has no table, %u rows are left out",
                                    law->law, rows->len));
  }
  return g_steal_pointer(&changes);
}

RaCalibration *
ra_calibrate_merge(const char *path, const char *data, const char *gpu,
                   GError **error)
{
  g_autoptr(RaCalibration) out = ra_calibration_new();
  const RaGpu *known = ra_gpu_named(gpu, error);
  g_autoptr(RaProfile) profile = NULL;
  g_autoptr(RaKeyFile) file = NULL;
  g_autoptr(GArray) changes = NULL;
  g_autofree char *text = NULL;
  gsize n_bytes;

  if (!known || !ra_file_read(path, BYTES_MAX, &text, &n_bytes, error))
    return NULL;
  file = ra_key_file_parse(path, text, n_bytes, error);
  profile = file ? ra_profile_load(file, error) : NULL;
  if (profile)
    changes = find_changes(profile, data, known, out, error);
  if (!changes)
    return NULL;
  rewrite(text, profile, changes, out->text);
  return g_steal_pointer(&out);
}
