/* Splitting a profiler's file into events. */
#include "config.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/nesting.h"
#include "traces/kineto_events.h"

#define STEP_BYTES 65536
#define BEGIN_BYTES 4096 /* a profiler's file says by then that it is one */
#define MAX_PART_BYTES (1u << 20) /* an event; profilers': 10^3 */
#define MAX_FILE_BYTES (G_GUINT64_CONSTANT(1) << 32) /* headers say 5 x 10^8 */

/* The member of the file's object that is being read. */
typedef enum { MEMBER_OTHER, MEMBER_EVENTS, MEMBER_INFO } Member;

typedef struct {
  const char *path;
  const char *const *words;
  RaKinetoTake take;
  gpointer data;
  RaNesting scan;
  Member member;
  GString *key;     /* last string at depth 1, without its quotes */
  GString *part;    /* text of the event or of `distributedInfo` so far */
  guint part_depth; /* brackets around it; 0: none is read */
  guint64 n_bytes;
  gboolean has_events, has_ended;
  JsonParser *parser;
} Reader;

static gboolean
fail(const Reader *r, GError **error, const char *reason)
{
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%" G_GUINT64_FORMAT ": %s",
              r->path, r->scan.line, reason);
  return FALSE;
}

static gboolean
has_word(const Reader *r)
{
  for (const char *const *word = r->words; *word; word++) {
    if (strstr(r->part->str, *word))
      return TRUE;
  }
  return FALSE;
}

/* The part is whole. */
static gboolean
take_part(Reader *r, GError **error)
{
  g_autoptr(GError) cause = NULL;
  JsonNode *root;
  JsonObject *object;

  r->part_depth = 0;
  if (r->member == MEMBER_EVENTS && !has_word(r))
    return TRUE;
  if (!json_parser_load_from_data(r->parser, r->part->str, (gssize)r->part->len,
                                  &cause)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s:%" G_GUINT64_FORMAT ": no JSON: %s", r->path, r->scan.line,
                cause->message);
    return FALSE;
  }
  root = json_parser_get_root(r->parser);
  object =
      root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
  if (object)
    r->take(r->member == MEMBER_EVENTS ? object : NULL,
            r->member == MEMBER_INFO ? object : NULL, r->data);
  return TRUE;
}

/* A bracket opened at @depth, the number of those around it. */
static void
open_bracket(Reader *r, guint depth, char c)
{
  if (depth == 1) {
    r->member = MEMBER_OTHER;
    if (c == '[' && strcmp(r->key->str, "traceEvents") == 0)
      r->member = MEMBER_EVENTS;
    else if (c == '{' && strcmp(r->key->str, "distributedInfo") == 0)
      r->member = MEMBER_INFO;
    r->has_events = r->has_events || r->member == MEMBER_EVENTS;
  }
  if (r->part_depth == 0 && c == '{' &&
      ((r->member == MEMBER_EVENTS && depth == 2) ||
       (r->member == MEMBER_INFO && depth == 1))) {
    g_string_truncate(r->part, 0);
    r->part_depth = depth + 1;
  }
}

static gboolean
take_byte(Reader *r, char c, GError **error)
{
  guint depth = r->scan.depth; /* before it */
  gboolean in_string = r->scan.in_string;
  const char *wrong = ra_nesting_step(&r->scan, c);

  if (wrong)
    return fail(r, error, wrong);
  if (r->has_ended && !g_ascii_isspace(c))
    return fail(r, error, "no JSON: text behind its end");
  if (depth == 1 && (in_string || c == '"')) {
    if (!in_string)
      g_string_truncate(r->key, 0);
    else if (r->scan.in_string && r->key->len < STEP_BYTES)
      g_string_append_c(r->key, c);
  }
  if (r->scan.depth > depth)
    open_bracket(r, depth, c);
  if (r->part_depth > 0) {
    if (r->part->len == MAX_PART_BYTES)
      return fail(r, error, "an event of more than 1 MiB");
    g_string_append_c(r->part, c);
    if (r->scan.depth < r->part_depth && !take_part(r, error))
      return FALSE;
  }
  r->has_ended = r->scan.has_begun && r->scan.depth == 0;
  return TRUE;
}

static gboolean
take_all(Reader *r, GInputStream *stream, GError **error)
{
  g_autofree char *step = g_malloc(STEP_BYTES);
  g_autoptr(GError) cause = NULL;
  gssize n;

  while ((n = g_input_stream_read(stream, step, STEP_BYTES, NULL, &cause)) >
         0) {
    r->n_bytes += (guint64)n;
    if (r->n_bytes > MAX_FILE_BYTES)
      return fail(r, error, "more than 4 GiB of text");
    for (gssize i = 0; i < n; i++) {
      if (!take_byte(r, step[i], error))
        return FALSE;
    }
  }
  if (n < 0) {
    g_set_error(error, RA_ERROR,
                cause->domain == G_IO_ERROR &&
                        (cause->code == G_IO_ERROR_INVALID_DATA ||
                         cause->code == G_IO_ERROR_PARTIAL_INPUT)
                    ? RA_ERROR_INPUT
                    : RA_ERROR_IO,
                "%s: %s", r->path, cause->message);
    return FALSE;
  }
  if (!r->has_ended)
    return fail(r, error, "no JSON: the file is cut off");
  if (r->has_events)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: no 'traceEvents', expected a trace of PyTorch's profiler",
              r->path);
  return FALSE;
}

/* The file's text; of a name that ends in .gz, what is compressed in it. */
static GInputStream *
open_text(const char *path, GError **error)
{
  g_autoptr(GFile) file = g_file_new_for_path(path);
  g_autoptr(GError) cause = NULL;
  g_autoptr(GConverter) gunzip = NULL;
  g_autoptr(GFileInputStream) stream = NULL;

  if (g_access(path, R_OK) != 0) {
    ra_error_file(error, path, errno, FALSE);
    return NULL;
  }
  stream = g_file_read(file, NULL, &cause);
  if (!stream) {
    g_set_error(error, RA_ERROR, RA_ERROR_IO, "%s: %s", path, cause->message);
    return NULL;
  }
  if (!g_str_has_suffix(path, ".gz"))
    return G_INPUT_STREAM(g_steal_pointer(&stream));
  gunzip = G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
  return g_converter_input_stream_new(G_INPUT_STREAM(stream), gunzip);
}

gboolean
ra_kineto_is_named(const char *path)
{
  return g_str_has_suffix(path, ".json") || g_str_has_suffix(path, ".json.gz");
}

gboolean
ra_kineto_is(const char *path)
{
  g_return_val_if_fail(path != NULL, FALSE);

  g_autofree char *begin = g_malloc0(BEGIN_BYTES + 1);
  g_autoptr(GInputStream) stream = NULL;

  if (!ra_kineto_is_named(path))
    return FALSE;
  stream = open_text(path, NULL);
  return stream &&
         g_input_stream_read(stream, begin, BEGIN_BYTES, NULL, NULL) > 0 &&
         (strstr(begin, "\"traceEvents\"") ||
          strstr(begin, "\"schemaVersion\""));
}

gboolean
ra_kineto_events(const char *path, const char *const *words, RaKinetoTake take,
                 gpointer data, GError **error)
{
  g_return_val_if_fail(path != NULL && words != NULL && take != NULL, FALSE);

  g_autoptr(GInputStream) stream = open_text(path, error);
  g_autoptr(JsonParser) parser = json_parser_new_immutable();
  g_autoptr(GString) key = g_string_new(NULL);
  g_autoptr(GString) part = g_string_new(NULL);
  Reader r = {.path = path,
              .words = words,
              .take = take,
              .data = data,
              .scan = {.line = 1},
              .key = key,
              .part = part,
              .parser = parser};

  return stream && take_all(&r, stream, error);
}
