/* Strict reader of traces: line by line, errors with their line.
 *
 * A large file is read twice: first to the end without keeping a row, so that
 * a fault in its last line has cost no memory; then for its rows.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "traces/trace.h"
#include "traces/trace_impl.h"

#define MAX_FILE_BYTES (UINT64_C(1) << 36) /* 64 GiB: 10^9 rows */
#define MAX_ROWS (G_MAXUINT / 2)
#define MAX_LINE_BYTES (1u << 20)   /* ranks of 16,384 GPUs, each named: 0.1 */
#define MAX_HEAD_FIELDS 256         /* writers set about ten */
#define MAX_PACKED_BYTES (1u << 30) /* of text, of a compressed trace */
#define STEP_BYTES (1u << 18)       /* read at a time */
/* Larger files are checked before they are kept.  The shortest row is 26 bytes
 * and takes 100, twice while their array doubles. */
#define CHECKED_BYTES (16u << 20)
#define SHOWN_BYTES 60 /* of a faulty text in a message */
#define EXACT_TENS                                                             \
  22 /* 10^22 is the largest power of ten exact in a double                    \
      */

typedef struct {
  const char *name;  /* of the file, for messages */
  char *next;        /* first byte of the next line */
  char *end;         /* past what is read */
  char *room;        /* (MAX_LINE_BYTES + STEP_BYTES) of a file's text */
  int fd;            /* of the file; -1: all is read */
  gboolean is_check; /* no row is kept */
  guint line;        /* number of the line last taken, from 1 */
  guint n_rows;      /* taken */
  RaTrace *trace;    /* filled */
  GHashTable *ranks; /* char * set: texts found good, owned by the trace */
} Reader;

static gboolean fail(const Reader *reader, GError **error, const char *format,
                     ...) G_GNUC_PRINTF(3, 4);

static gboolean
fail(const Reader *reader, GError **error, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  ra_error_at(error, reader->name, reader->line, format, args);
  va_end(args);
  return FALSE;
}

/* @text as a message can show it: short, one line. */
static char *
shown(const char *text)
{
  g_autofree char *start = g_strndup(text, SHOWN_BYTES);

  return g_strescape(start, NULL);
}

/* Reads on behind what is left; %FALSE with @error set. */
static gboolean
read_step(Reader *reader, GError **error)
{
  gsize n_left = (gsize)(reader->end - reader->next);
  ssize_t n;

  if (n_left > MAX_LINE_BYTES)
    return fail(reader, error, "a line of more than 1 MiB");
  if (reader->is_check) {
    g_hash_table_remove_all(reader->ranks);
    ra_trace_drop_rows(reader->trace);
  }
  memmove(reader->room, reader->next, n_left);
  reader->next = reader->room;
  do
    n = read(reader->fd, reader->room + n_left, STEP_BYTES);
  while (n < 0 && errno == EINTR);
  reader->end = reader->room + n_left + MAX(n, 0);
  if (n <= 0)
    reader->fd = -1;
  if (n >= 0)
    return TRUE;
  return ra_error_file(error, reader->name, errno, FALSE);
}

static gboolean
check_text(const Reader *reader, const char *text, gsize n_bytes,
           GError **error)
{
  const char *bad;

  if (n_bytes > MAX_LINE_BYTES)
    return fail(reader, error, "a line of more than 1 MiB");
  if (g_utf8_validate_len(text, n_bytes, &bad))
    return TRUE;
  return fail(reader, error, "%s",
              bad < text + n_bytes && *bad == '\0' ? "a NUL byte, expected text"
                                                   : "not UTF-8 text");
}

/* Takes the next line, NUL in place of its end; %FALSE at the end of the text
 * or, with @error set, where the line is cut off. */
static gboolean
next_line(Reader *reader, char **out_line, GError **error)
{
  char *line, *end = NULL;

  reader->line++;
  for (;;) {
    line = reader->next;
    if (line < reader->end)
      end = memchr(line, '\n', (gsize)(reader->end - line));
    if (end || reader->fd < 0)
      break;
    if (!read_step(reader, error))
      return FALSE;
  }
  if (line == reader->end) {
    reader->line--;
    return FALSE;
  }
  if (!check_text(reader, line, (gsize)((end ? end : reader->end) - line),
                  error))
    return FALSE;
  if (!end)
    return fail(reader, error,
                "the last line does not end, the file is cut off");
  *end = '\0';
  *out_line = line;
  reader->next = end + 1;
  return TRUE;
}

/* The first bytes say that it is none, however long its first line is. */
static gboolean
check_magic(Reader *reader, GError **error)
{
  gsize n = strlen(RA_TRACE_MAGIC);

  if (reader->fd >= 0 && !read_step(reader, error))
    return FALSE;
  reader->line = 1;
  if (reader->next == reader->end)
    return fail(reader, error, "the file is empty, expected '%s%s'",
                RA_TRACE_MAGIC, RA_TRACE_VERSION);
  if ((gsize)(reader->end - reader->next) < n ||
      memcmp(reader->next, RA_TRACE_MAGIC, n) != 0)
    return fail(reader, error, "no trace: expected '%s%s' as the first line",
                RA_TRACE_MAGIC, RA_TRACE_VERSION);
  reader->line = 0;
  return TRUE;
}

static gboolean
read_magic(Reader *reader, GError **error)
{
  g_autofree char *text = NULL;
  char *line;

  if (!check_magic(reader, error) || !next_line(reader, &line, error))
    return FALSE;
  line += strlen(RA_TRACE_MAGIC);
  if (strcmp(line, RA_TRACE_VERSION) == 0)
    return TRUE;
  text = shown(line);
  return fail(reader, error, "unknown version '%s', expected %s", text,
              RA_TRACE_VERSION);
}

static gboolean
has_control(const char *text, const char *end)
{
  while (text < end && !g_ascii_iscntrl(*text))
    text++;
  return text < end;
}

/* "# key: value", or "# key:" for an empty value. */
static gboolean
read_head_field(Reader *reader, char *line, GError **error)
{
  char *key = line + 2;
  char *colon = line[1] == ' ' ? strchr(key, ':') : NULL;
  g_autofree char *text = shown(line);

  if (colon == NULL || colon == key || has_control(key, colon) ||
      (colon[1] != ' ' && colon[1] != '\0'))
    return fail(reader, error, "expected a head field '# key: value', not '%s'",
                text);
  *colon = '\0';
  if (ra_trace_head(reader->trace, key))
    return fail(reader, error, "head field '%.*s' stands twice", SHOWN_BYTES,
                key);
  if (reader->trace->head->len == MAX_HEAD_FIELDS)
    return fail(reader, error, "more than %d head fields", MAX_HEAD_FIELDS);
  ra_trace_set_head(reader->trace, key, colon[1] == ' ' ? colon + 2 : "");
  return TRUE;
}

/* Cuts @line at its tabs; the number of fields, counted past @max. */
static guint
split(char *line, char **out_fields, guint max)
{
  guint n = 0;

  for (;;) {
    char *tab = strchr(line, '\t');

    if (n < max)
      out_fields[n] = line;
    n++;
    if (tab == NULL)
      return n;
    *tab = '\0';
    line = tab + 1;
  }
}

static gboolean
check_columns(Reader *reader, char *line, GError **error)
{
  char *names[RA_TRACE_N_COLUMNS];
  guint n = split(line, names, RA_TRACE_N_COLUMNS);

  for (guint i = 0; i < RA_TRACE_N_COLUMNS; i++) {
    g_autofree char *text = NULL;

    if (i >= n)
      return fail(reader, error, "column '%s' is missing", ra_trace_columns[i]);
    text = shown(names[i]);
    if (strcmp(names[i], ra_trace_columns[i]) != 0)
      return fail(reader, error, "column %u is '%s', expected '%s'", i + 1,
                  text, ra_trace_columns[i]);
  }
  if (n > RA_TRACE_N_COLUMNS)
    return fail(reader, error, "%u columns, expected %d", n,
                RA_TRACE_N_COLUMNS);
  return TRUE;
}

static gboolean
read_head(Reader *reader, GError **error)
{
  GError *cut = NULL;
  char *line;

  if (!read_magic(reader, error))
    return FALSE;
  while (next_line(reader, &line, &cut)) {
    if (line[0] != '#')
      return check_columns(reader, line, error);
    if (!read_head_field(reader, line, error))
      return FALSE;
  }
  if (cut) {
    g_propagate_error(error, cut);
    return FALSE;
  }
  reader->line++;
  return fail(reader, error, "the line of column names is missing");
}

/* The plain decimals that a trace holds: up to 15 digits and a small power of
 * ten.  Both are exact in a double, so one rounding of their product or
 * quotient gives the same bits as strtod (Clinger, PLDI 1990). */
static gboolean
read_plain(const char *text, double *out_value)
{
  static const double tens[EXACT_TENS + 1] = {
      1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  uint64_t digits = 0;
  int n_digits = 0, n_after = 0, power = 0;
  gboolean after = FALSE;

  for (; g_ascii_isdigit(*text) || (*text == '.' && !after); text++) {
    if (*text == '.') {
      after = TRUE;
      continue;
    }
    digits = 10 * digits + (uint64_t)(*text - '0');
    n_after += after;
    if (digits > 0 && ++n_digits > 15)
      return FALSE;
  }
  if (text[0] == 'e' && (text[1] == '+' || text[1] == '-') &&
      g_ascii_isdigit(text[2]) && g_ascii_isdigit(text[3])) {
    power = 10 * (text[2] - '0') + (text[3] - '0');
    power = text[1] == '-' ? -power : power;
    text += 4;
  }
  power -= n_after;
  if (*text != '\0' || n_digits == 0 || ABS(power) > EXACT_TENS)
    return FALSE;
  *out_value =
      power < 0 ? (double)digits / tens[-power] : (double)digits * tens[power];
  return TRUE;
}

static gboolean
read_number(Reader *reader, const char *column, const char *text,
            double *out_value, GError **error)
{
  g_autofree char *bad = NULL;

  if (read_plain(text, out_value))
    return TRUE;
  if (ra_text_double(text, out_value) && *out_value >= 0)
    return TRUE;
  bad = shown(text);
  return fail(reader, error, "expected a number >= 0 for '%s', not '%s'",
              column, bad);
}

/* The fields that are text.  None is empty; ranks, op and shape may be `-`. */
static gboolean
read_names(Reader *reader, char **fields, RaTraceRow *row, GError **error)
{
  static const int texts[] = {0, 2, 3, 5, 6, 7};
  g_autoptr(GArray) ranges = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    const char *text = fields[texts[i]];

    if (text[0] == '\0' || (texts[i] < 6 && strcmp(text, "-") == 0))
      return fail(reader, error, "'%s' is empty", ra_trace_columns[texts[i]]);
  }
  row->name = fields[0];
  row->call = fields[2];
  row->kind = fields[3];
  row->ranks = strcmp(fields[4], "-") == 0 ? "" : fields[4];
  row->stream = fields[5];
  row->op = strcmp(fields[6], "-") == 0 ? NULL : fields[6];
  row->shape = strcmp(fields[7], "-") == 0 ? NULL : fields[7];
  if (fields[4][0] != '\0' && (row->ranks[0] == '\0' ||
                               g_hash_table_contains(reader->ranks, fields[4])))
    return TRUE;
  ranges = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  if (ra_ranks_parse(fields[4], ranges, error))
    return TRUE;
  g_prefix_error(error, "%s:%u: ", reader->name, reader->line);
  return FALSE;
}

static gboolean
read_row(Reader *reader, char *line, GError **error)
{
  char *fields[RA_TRACE_N_COLUMNS];
  RaTraceRow row = {0};
  uint64_t iteration;
  guint n = split(line, fields, RA_TRACE_N_COLUMNS);

  if (n != RA_TRACE_N_COLUMNS)
    return fail(reader, error, "%u fields, expected %d", n, RA_TRACE_N_COLUMNS);
  if (reader->n_rows == MAX_ROWS)
    return fail(reader, error, "more than %u rows", MAX_ROWS);
  if (!read_names(reader, fields, &row, error))
    return FALSE;
  if (!ra_text_uint64(fields[1], &iteration) || iteration >= UINT32_MAX) {
    g_autofree char *bad = shown(fields[1]);

    return fail(reader, error,
                "expected a whole number for 'iteration', not '%s'", bad);
  }
  row.iteration = (uint32_t)iteration;
  row.line = reader->line;
  if (!read_number(reader, "begin_s", fields[8], &row.begin_s, error) ||
      !read_number(reader, "end_s", fields[9], &row.end_s, error) ||
      !read_number(reader, "flop", fields[10], &row.flop, error) ||
      !read_number(reader, "bytes", fields[11], &row.bytes, error))
    return FALSE;
  if (row.end_s > RA_TRACE_MAX_S)
    return fail(reader, error, "ends at %s s, expected at most %.0f s",
                fields[9], RA_TRACE_MAX_S);
  if (row.end_s < row.begin_s)
    return fail(reader, error, "ends at %s s, before it begins at %s s",
                fields[9], fields[8]);
  reader->n_rows++;
  ra_trace_add(reader->trace, &row);
  n = reader->trace->n_rows;
  g_hash_table_add(reader->ranks,
                   (char *)reader->trace->rows[n - 1].ranks); /* not changed */
  return TRUE;
}

static gboolean
read_all(Reader *reader, GError **error)
{
  GError *cut = NULL;
  char *line;

  if (!read_head(reader, error))
    return FALSE;
  while (next_line(reader, &line, &cut)) {
    if (!read_row(reader, line, error))
      return FALSE;
  }
  if (cut) {
    g_propagate_error(error, cut);
    return FALSE;
  }
  ra_trace_sort(reader->trace);
  return TRUE;
}

RaTrace *
ra_trace_parse(const char *name, const char *text, gsize n_bytes,
               GError **error)
{
  g_return_val_if_fail(name != NULL, NULL);
  g_return_val_if_fail(text != NULL || n_bytes == 0, NULL);

  g_autofree char *copy = g_memdup2(text, n_bytes); /* is cut up */
  g_autoptr(RaTrace) trace = ra_trace_new();
  g_autoptr(GHashTable) ranks = g_hash_table_new(g_str_hash, g_str_equal);
  Reader reader = {
      .name = name,
      .next = copy,
      .end = copy + n_bytes,
      .fd = -1,
      .trace = trace,
      .ranks = ranks,
  };

  return read_all(&reader, error) ? g_steal_pointer(&trace) : NULL;
}

/* One reading of the open file @fd; NULL with @error set. */
static RaTrace *
read_file(const char *path, int fd, gboolean is_check, GError **error)
{
  g_autofree char *room = g_malloc(MAX_LINE_BYTES + STEP_BYTES);
  g_autoptr(RaTrace) trace = ra_trace_new();
  g_autoptr(GHashTable) ranks = g_hash_table_new(g_str_hash, g_str_equal);
  Reader reader = {
      .name = path,
      .next = room,
      .end = room,
      .room = room,
      .fd = fd,
      .is_check = is_check,
      .trace = trace,
      .ranks = ranks,
  };

  return read_all(&reader, error) ? g_steal_pointer(&trace) : NULL;
}

static RaTrace *
load_open(const char *path, int fd, GError **error)
{
  g_autoptr(RaTrace) checked = NULL;
  struct stat about;

  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_size <= (off_t)CHECKED_BYTES)
    return read_file(path, fd, FALSE, error);
  if ((guint64)about.st_size > MAX_FILE_BYTES) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: larger than 64 GiB",
                path);
    return NULL;
  }
  checked = read_file(path, fd, TRUE, error);
  if (!checked)
    return NULL;
  if (lseek(fd, 0, SEEK_SET) == 0)
    return read_file(path, fd, FALSE, error);
  ra_error_file(error, path, errno, FALSE);
  return NULL;
}

RaTrace *
ra_trace_load(const char *path, GError **error)
{
  g_return_val_if_fail(path != NULL, NULL);

  g_autofree char *text = NULL;
  gsize n_bytes;
  RaTrace *trace;
  int fd;

  if (g_str_has_suffix(path, ".gz"))
    return ra_file_read(path, MAX_PACKED_BYTES, &text, &n_bytes, error)
               ? ra_trace_parse(path, text, n_bytes, error)
               : NULL;
  fd = g_open(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) {
    ra_error_file(error, path, errno, FALSE);
    return NULL;
  }
  trace = load_open(path, fd, error);
  close(fd);
  return trace;
}
