/* Grids as lines of a key file: see ra_grid_read(). */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "traces/grid.h"

#define UNIT 1e-3  /* of a mean and of a deviation in the text */
#define DECIMALS 6 /* of them, at most */
#define INTEGER_MAX 100000000000000000 /* ten of it fit into 64 bits */
#define CELLS_MAX 2000000              /* of a grid in a file */

/* `name 1 2 4`: an axis of @grid. */
static gboolean
read_axis(const RaKeyFile *file, guint group, const char *key, RaGrid *grid,
          GError **error)
{
  g_auto(GStrv) words = g_strsplit(ra_key_file_get(file, group, key), " ", -1);
  guint n = g_strv_length(words);
  double knots[RA_GRID_KNOTS];

  if (n < 2 || n > RA_GRID_KNOTS + 1)
    return ra_key_file_fail(file, group, key, error,
                            "'%s' has %u knots, expected a name and 1 to %d",
                            key, n > 0 ? n - 1 : 0, RA_GRID_KNOTS);
  for (guint i = 0; i + 1 < n; i++)
    if (!ra_text_double(words[i + 1], &knots[i]) || knots[i] < 1e-9 ||
        knots[i] > 1e18 || (i > 0 && knots[i] <= knots[i - 1]))
      return ra_key_file_fail(
          file, group, key, error,
          "knot %u of '%s' is '%s', expected a number above "
          "the one before it",
          i + 1, key, words[i + 1]);
  if ((double)grid->n_cells * (n - 1) > CELLS_MAX)
    return ra_key_file_fail(file, group, key, error,
                            "the table has more than %d cells", CELLS_MAX);
  ra_grid_add_axis(grid, words[0], knots, n - 1);
  return TRUE;
}

/* A whole number of at most @max <= 1e18 at *@at, which moves behind it. */
static gboolean
read_integer(const char **at, double max, double *out_value)
{
  gboolean minus = **at == '-';
  const char *start = *at + minus, *p = start;
  int64_t value = 0;

  for (; *p >= '0' && *p <= '9' && value <= INTEGER_MAX; p++)
    value = value * 10 + (*p - '0');
  *at = p;
  if (p == start || (double)value > max)
    return FALSE;
  *out_value = (double)(minus ? -value : value);
  return TRUE;
}

/* The same with decimals; @exact is set where there are any. */
static gboolean
read_real(const char **at, double max, double *out_value, gboolean *exact)
{
  gboolean minus = **at == '-';
  const char *start;
  double part = 0, scale = 1;

  if (!read_integer(at, max, out_value))
    return FALSE;
  if (**at != '.')
    return TRUE;
  start = ++*at;
  for (; g_ascii_isdigit(**at); ++*at) {
    part = part * 10 + (**at - '0');
    scale *= 10;
  }
  if (*at == start || *at - start > DECIMALS)
    return FALSE;
  *out_value += minus ? -part / scale : part / scale;
  *exact = TRUE;
  return TRUE;
}

/* `at-128-256`: the index of the first cell of its line; -1 for none. */
static gssize
find_line(const RaGrid *grid, const char *key)
{
  double at[RA_GRID_AXES];
  guint a = 1;

  at[0] = grid->axes[0].knots[0];
  if (key[0] != 'a' || key[1] != 't')
    return -1;
  for (key += 2; *key == '-' && a < grid->n_axes; a++) {
    key++;
    if (*key == '-' || !read_integer(&key, 1e18, &at[a]))
      return -1;
  }
  return *key == '\0' && a == grid->n_axes ? ra_grid_find(grid, at) : -1;
}

/* A measured mean with its statistics. */
static gboolean
read_mean(const char **at, RaGridCell *cell, gboolean *exact)
{
  double n = 1, mean, deviation = 0;

  if (!read_real(at, 1e5, &mean, exact))
    return FALSE;
  if (**at == '*') {
    ++*at;
    if (!read_integer(at, 1e9, &n) || n < 1)
      return FALSE;
  }
  if (**at == '~') {
    ++*at;
    if (!read_real(at, 1e5, &deviation, exact) || deviation < 0)
      return FALSE;
  }
  *cell = (RaGridCell){(guint)n, mean * UNIT, deviation * UNIT};
  return TRUE;
}

/* One cell at *@at, which moves behind it. */
static gboolean
read_cell(const char **at, RaGridCell *cell, float *value, gboolean *exact)
{
  double filled;

  if (**at != '(') {
    if (!read_mean(at, cell, exact))
      return FALSE;
    *value = (float)cell->mean;
    return TRUE;
  }
  ++*at;
  if (!read_integer(at, 1e5, &filled) || **at != ')')
    return FALSE;
  ++*at;
  *value = (float)(filled * UNIT);
  return **at == ' ' || **at == '\0' || read_mean(at, cell, exact);
}

static gboolean
read_line(const RaKeyFile *file, guint group, guint entry, RaGrid *grid,
          GError **error)
{
  const char *key = ra_key_file_key(file, group, entry);
  const char *at = ra_key_file_value(file, group, entry);
  gssize index = find_line(grid, key);
  guint n = grid->axes[0].n_knots;

  if (index < 0)
    return ra_key_file_fail(file, group, key, error,
                            "unknown key '%s', expected 'at-' and a knot of "
                            "each axis but the first",
                            key);
  for (guint i = 0; i < n; i++) {
    const char *start = at;

    if (!read_cell(&at, &grid->cells[index + i], &grid->values[index + i],
                   &grid->is_exact) ||
        (*at != (i + 1 < n ? ' ' : '\0')))
      return ra_key_file_fail(file, group, key, error,
                              "cell %u of '%s' is '%.*s', expected %u cells "
                              "such as '-31', '-31*3~7' or '(12)'",
                              i + 1, key, ra_text_head(start, 20), start, n);
    at += i + 1 < n;
  }
  return TRUE;
}

RaGrid *
ra_grid_read(const RaKeyFile *file, guint group, GError **error)
{
  g_autoptr(RaGrid) grid = ra_grid_new();
  const char *key;
  guint i = 0, n_lines;

  for (; (key = ra_key_file_key(file, group, i)); i++) {
    if (!g_str_has_prefix(key, "axis-"))
      break;
    g_autofree char *wanted = g_strdup_printf("axis-%u", i + 1);

    if (i == RA_GRID_AXES || strcmp(key, wanted) != 0) {
      ra_key_file_fail(file, group, key, error,
                       "'%s' is axis %u, expected 'axis-1' to 'axis-%d' in "
                       "order",
                       key, i + 1, RA_GRID_AXES);
      return NULL;
    }
    if (!read_axis(file, group, key, grid, error))
      return NULL;
  }
  if (i == 0) {
    ra_key_file_fail(file, group, NULL, error, "the table has no 'axis-1'");
    return NULL;
  }
  n_lines = (guint)(grid->n_cells / grid->axes[0].n_knots);
  grid->values = g_new0(float, grid->n_cells);
  for (guint line = 0; line < n_lines; line++)
    if (!ra_key_file_key(file, group, i + line)) {
      ra_key_file_fail(file, group, NULL, error,
                       "the table has %u lines, expected %u, one for each "
                       "combination of the knots of its later axes",
                       line, n_lines);
      return NULL;
    }
  for (; ra_key_file_key(file, group, i); i++)
    if (!read_line(file, group, i, grid, error))
      return NULL;
  return g_steal_pointer(&grid);
}

/* @x in thousandths, whole or, @exact, with decimals. */
static void
write_number(double x, gboolean exact, GString *out)
{
  char text[64];
  gsize n;

  if (!exact) {
    g_string_append_printf(out, "%ld", lround(x / UNIT));
    return;
  }
  g_ascii_formatd(text, sizeof text, "%.6f", x / UNIT);
  for (n = strlen(text); text[n - 1] == '0'; n--)
    ;
  text[text[n - 1] == '.' ? n - 1 : n] = '\0';
  g_string_append(out, strcmp(text, "-0") == 0 ? "0" : text);
}

static void
write_cell(const RaGridCell *cell, float value, gboolean exact, GString *out)
{
  float mean = (float)cell->mean;

  if (cell->n == 0 || value < mean || value > mean)
    g_string_append_printf(out, "(%ld)", lround((double)value / UNIT));
  if (cell->n > 0)
    write_number(cell->mean, exact, out);
  if (cell->n > 1) {
    g_string_append_printf(out, "*%u~", cell->n);
    write_number(cell->deviation, exact, out);
  }
}

void
ra_grid_write(const RaGrid *grid, GString *out)
{
  guint n = grid->axes[0].n_knots;

  for (guint a = 0; a < grid->n_axes; a++) {
    g_string_append_printf(out, "axis-%u = %s", a + 1, grid->axes[a].name);
    for (guint i = 0; i < grid->axes[a].n_knots; i++)
      g_string_append_printf(out, " %.10g", grid->axes[a].knots[i]);
    g_string_append_c(out, '\n');
  }
  for (gsize line = 0; line < grid->n_cells; line += n) {
    g_string_append(out, "at");
    for (guint a = 1; a < grid->n_axes; a++) {
      const RaGridAxis *axis = &grid->axes[a];

      g_string_append_printf(
          out, "-%.10g", axis->knots[line / grid->stride[a] % axis->n_knots]);
    }
    g_string_append(out, " =");
    for (guint i = 0; i < n; i++) {
      g_string_append_c(out, ' ');
      write_cell(&grid->cells[line + i], grid->values[line + i], grid->is_exact,
                 out);
    }
    g_string_append_c(out, '\n');
  }
}
