/* Picture files: formats, sizes, and the data next to a picture. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/plot/gnuplot.h"
#include "study/plot/picture.h"

#define PX_PER_INCH 96.0 /* CSS: a pixel is 1/96 inch */

gboolean
ra_picture_terminal(const char *path, guint font_pt, char **out_terminal,
                    GError **error)
{
  g_autofree char *terminal = NULL;

  if (g_str_has_suffix(path, ".svg"))
    terminal = g_strdup_printf("svg background rgb 'white' font "
                               "'Helvetica,Arial,sans-serif,%u'",
                               font_pt + 3);
  else if (g_str_has_suffix(path, ".png"))
    terminal = g_strdup_printf("pngcairo background rgb 'white' font 'sans,%u'",
                               font_pt);
  else if (g_str_has_suffix(path, ".pdf"))
    terminal = g_strdup_printf("pdfcairo font 'sans,%u'", font_pt);
  if (!terminal) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: unknown ending, expected .svg, .png or .pdf", path);
    return FALSE;
  }
  if (out_terminal)
    *out_terminal = g_steal_pointer(&terminal);
  return TRUE;
}

void
ra_picture_append_size(GString *script, const char *terminal, double width_px,
                       double height_px)
{
  if (g_str_has_prefix(terminal, "pdf"))
    g_string_append_printf(script, "set terminal %s size %.3fin,%.3fin\n",
                           terminal, width_px / PX_PER_INCH,
                           height_px / PX_PER_INCH);
  else
    g_string_append_printf(script, "set terminal %s size %.0f,%.0f\n", terminal,
                           width_px, height_px);
}

char *
ra_picture_data_path(const char *path)
{
  g_autofree char *stem = g_strndup(path, MAX(strlen(path), 4) - 4);

  return g_strconcat(stem, ".dat", NULL);
}

gboolean
ra_picture_write(const char *path, const char *data_path, const char *data,
                 const char *script, GError **error)
{
  g_autofree char *program = ra_gnuplot_find();
  g_autofree char *beside =
      data_path ? g_strdup(data_path) : ra_picture_data_path(path);
  g_autoptr(GBytes) picture = NULL;

  if (!program) {
    if (ra_file_write(beside, data, strlen(data), error))
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "gnuplot not found: install it to draw '%s'; the data were "
                  "written to '%s'",
                  path, beside);
    return FALSE;
  }
  return ra_gnuplot_run(program, script, RA_GNUPLOT_LIMIT_S, &picture, error) &&
         ra_file_write(path, g_bytes_get_data(picture, NULL),
                       g_bytes_get_size(picture), error) &&
         ra_file_write(beside, data, strlen(data), error);
}
