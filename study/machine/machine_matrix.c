/* Reader of the matrix that `nvidia-smi topo -m` prints. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "study/machine/machine.h"

enum { MAX_DEVICES = 4096 };

/* The matrix: of device i and j, NVLinks, or how far. */
typedef struct {
  RaMachine *machine;
  GPtrArray *names; /* of its columns, GPUs first, owned */
  char **cells;     /* (n, n) borrowed of lines; NULL: not yet */
  guint n;
  uint64_t domains; /* bits: NUMA domains that have GPUs */
} Matrix;

static gboolean
fail(const RaMachine *machine, guint line, GError **error, const char *what,
     const char *word)
{
  g_autofree char *shown = ra_quote_visible(word);

  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%u: %s '%s'%s",
              machine->path, line, what, shown,
              ", expected the matrix of nvidia-smi topo -m");
  return FALSE;
}

/* A name and a number: "GPU0", "NIC3", "mlx5_0". */
static gboolean
is_device(const char *word, const char *kind)
{
  gsize n = strlen(kind);

  return strncmp(word, kind, n) == 0 && word[n] != '\0' &&
         strspn(word + n, "0123456789") == strlen(word + n);
}

static gboolean
is_column(const char *word)
{
  return is_device(word, "GPU") || is_device(word, "NIC") ||
         is_device(word, "mlx5_") || is_device(word, "mlx4_");
}

/* Colours of a terminal go: ESC [ ... m. */
static void
strip_escapes(char *text)
{
  char *to = text;

  for (const char *from = text; *from;) {
    if (from[0] == '\033' && from[1] == '[') {
      from += 2 + strspn(from + 2, "0123456789;");
      from += *from != '\0';
    } else {
      *to++ = *from++;
    }
  }
  *to = '\0';
}

/* The words of @line; empty ones are gone. */
static char **
words_of(const char *line)
{
  char **words = g_strsplit_set(line, " \t\r", -1), **to = words;

  for (char **from = words; *from; from++)
    if (**from == '\0')
      g_free(*from);
    else
      *to++ = *from;
  *to = NULL;
  return words;
}

static gboolean
is_cell(const char *word)
{
  static const char *const cells[] = {"X",    "PIX", "PXB", "PHB",
                                      "NODE", "SYS", NULL};

  return g_strv_contains(cells, word) || is_device(word, "NV");
}

/* The NUMA domain of a GPU's row: behind the cores, "0-63,128-191". */
static void
count_domain(Matrix *m, char **behind)
{
  uint64_t domain;

  if (behind[0] && behind[1] && ra_text_uint64(behind[1], &domain) &&
      domain < 64 && !(m->domains >> domain & 1)) {
    m->domains |= (uint64_t)1 << domain;
    m->machine->n_numa++;
  }
}

/* A row of the matrix; of a device that no column has: an error. */
static gboolean
read_row(Matrix *m, guint line, char **words, GError **error)
{
  guint row = 0;

  while (row < m->n && strcmp(m->names->pdata[row], words[0]) != 0)
    row++;
  if (row == m->n)
    return fail(m->machine, line, error, "a row without a column,", words[0]);
  if (m->cells[row * m->n])
    return fail(m->machine, line, error, "a second row of", words[0]);
  if (g_strv_length(words) < m->n + 1)
    return fail(m->machine, line, error, "a short row of", words[0]);
  for (guint i = 0; i < m->n; i++) {
    if (!is_cell(words[i + 1]) ||
        (strcmp(words[i + 1], "X") == 0) != (i == row))
      return fail(m->machine, line, error, "an unknown relation", words[i + 1]);
    m->cells[row * m->n + i] = g_strdup(words[i + 1]);
  }
  if (row < m->machine->n_gpus)
    count_domain(m, words + m->n + 1);
  return TRUE;
}

static gboolean
read_header(Matrix *m, guint line, char **words, GError **error)
{
  for (guint i = 0; words[i] && is_column(words[i]); i++) {
    gboolean is_gpu = is_device(words[i], "GPU");

    if (is_gpu && m->machine->n_gpus != i)
      return fail(m->machine, line, error, "a GPU behind a NIC,", words[i]);
    m->machine->n_gpus += is_gpu;
    g_ptr_array_add(m->names, g_strdup(words[i]));
  }
  m->n = m->names->len;
  if (m->machine->n_gpus == 0 || m->n > MAX_DEVICES)
    return fail(m->machine, line, error, "no columns of GPUs in", words[0]);
  m->cells = g_new0(char *, (gsize)m->n * m->n);
  return TRUE;
}

/* "NIC0: mlx5_0" of the legend. */
static void
read_legend(Matrix *m, char **words)
{
  gsize n = strlen(words[0]) - 1;

  for (guint i = m->machine->n_gpus; words[1] && i < m->n; i++) {
    const char *name = m->names->pdata[i];
    RaMachineCard *card = &g_array_index(m->machine->cards, RaMachineCard,
                                         i - m->machine->n_gpus);

    if (strlen(name) == n && strncmp(name, words[0], n) == 0) {
      g_free(card->name);
      card->name = g_strdup(words[1]);
    }
  }
}

static void
add_cards(Matrix *m)
{
  for (guint i = m->machine->n_gpus; i < m->n; i++) {
    RaMachineCard card = {g_strdup(m->names->pdata[i]), (double)NAN, 0, FALSE};

    g_array_append_val(m->machine->cards, card);
  }
}

static const char *
cell(const Matrix *m, guint row, guint column)
{
  return m->cells[row * m->n + column];
}

/* Derives values from the whole matrix. */
static gboolean
settle(Matrix *m, guint line, GError **error)
{
  RaMachine *machine = m->machine;

  for (guint i = 0; i < m->n; i++) {
    if (!cell(m, i, 0))
      return fail(machine, line, error, "ends before the row of",
                  m->names->pdata[i]);
    for (guint j = 0; j < i; j++)
      if (strcmp(cell(m, i, j), cell(m, j, i)) != 0)
        return fail(machine, line, error, "is not symmetric at",
                    m->names->pdata[i]);
  }
  machine->is_switched = machine->n_gpus > 1;
  for (guint i = 0; i < machine->n_gpus; i++)
    for (guint j = 0; j < m->n; j++) {
      const char *what = cell(m, i, j);
      uint64_t links = 0;

      if (j >= machine->n_gpus) {
        g_array_index(machine->cards, RaMachineCard, j - machine->n_gpus)
            .n_near += strcmp(what, "PIX") == 0 || strcmp(what, "PXB") == 0;
        continue;
      }
      if (i == j)
        continue;
      if (is_device(what, "NV") && !ra_text_uint64(what + 2, &links))
        return fail(machine, line, error, "too many links,", what);
      machine->n_nvlinks = i + j == 1
                               ? (uint32_t)links
                               : MIN(machine->n_nvlinks, (uint32_t)links);
      machine->is_switched &= links > 0 && strcmp(what, cell(m, 0, 1)) == 0;
    }
  return TRUE;
}

static void
matrix_clear(Matrix *m)
{
  for (gsize i = 0; m->cells && i < (gsize)m->n * m->n; i++)
    g_free(m->cells[i]);
  g_free(m->cells);
  g_ptr_array_unref(m->names);
}

static gboolean
read_lines(Matrix *m, char **lines, GError **error)
{
  guint n_rows = 0, last = 0;

  for (guint i = 0; lines[i]; i++) {
    g_auto(GStrv) words = words_of(lines[i]);
    gboolean ok = TRUE;

    if (!words[0])
      continue;
    if (m->n == 0 && strcmp(words[0], "GPU0") == 0) {
      ok = read_header(m, i + 1, words, error);
      if (ok)
        add_cards(m);
    } else if (m->n > 0 && n_rows < m->n && is_column(words[0])) {
      ok = read_row(m, i + 1, words, error);
      n_rows++;
      last = i + 1;
    } else if (m->n > 0 && g_str_has_suffix(words[0], ":")) {
      read_legend(m, words);
    }
    if (!ok)
      return FALSE;
  }
  if (m->n == 0)
    return fail(m->machine, 1, error, "no row begins with", "GPU0");
  return settle(m, last, error);
}

gboolean
ra_machine_read_matrix(RaMachine *machine, const char *text, GError **error)
{
  Matrix m = {.machine = machine,
              .names = g_ptr_array_new_with_free_func(g_free)};
  g_autofree char *plain = g_strdup(text);
  g_auto(GStrv) lines = NULL;
  gboolean ok;

  strip_escapes(plain);
  lines = g_strsplit(plain, "\n", -1);
  ok = read_lines(&m, lines, error);
  matrix_clear(&m);
  return ok;
}
