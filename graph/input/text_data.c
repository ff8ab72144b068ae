/* Reader of text files of prompts and answers. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/text_data.h"

#define MAX_FILE_BYTES ((gsize)1 << 26)
#define MAX_TOKEN ((1u << 24) - 1) /* RA_MODEL_MAX_INNER: of a vocabulary */

/* The file under way. */
typedef struct {
  const char *path;
  guint line; /* from 1 */
  gboolean bytes;
  GArray *begin, *tokens; /* of uint32_t */
  uint32_t n_vocab;
} Reader;

static gboolean fail(const Reader *r, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static gboolean
fail(const Reader *r, GError **error, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  ra_error_at(error, r->path, r->line, format, args);
  va_end(args);
  return FALSE;
}

static void
add_token(Reader *r, uint32_t token)
{
  g_array_append_val(r->tokens, token);
  r->n_vocab = MAX(r->n_vocab, token + 1);
}

static gboolean
read_bytes(Reader *r, const char *at, const char *end, GError **error)
{
  for (; at < end; at++) {
    if (*at != '\\') {
      add_token(r, (guchar)*at);
      continue;
    }
    at++;
    if (at == end || !strchr("nt\\", *at))
      return fail(r, error,
                  "a lone backslash, expected \\n"
                  ", \\t or \\\\");
    add_token(r, *at == 'n' ? '\n' : *at == 't' ? '\t' : '\\');
  }
  return TRUE;
}

static gboolean
read_ids(Reader *r, const char *at, const char *end, GError **error)
{
  while (at < end) {
    uint64_t id = 0;

    if (*at == ' ') {
      at++;
      continue;
    }
    if (!g_ascii_isdigit(*at))
      return fail(
          r, error,
          "byte 0x%02x among token ids, expected numbers separated by spaces",
          (guchar)*at);
    for (; at < end && g_ascii_isdigit(*at) && id <= MAX_TOKEN; at++)
      id = 10 * id + (uint64_t)(*at - '0');
    if (id > MAX_TOKEN)
      return fail(r, error, "a token id is over %u", MAX_TOKEN);
    add_token(r, (uint32_t)id);
  }
  return TRUE;
}

/* Fields of the line; the first line says how many. */
static gboolean
read_line(Reader *r, const char *at, const char *end, uint32_t *n_fields,
          GError **error)
{
  uint32_t n = 0;

  for (;; at++) {
    const char *tab = memchr(at, '\t', (gsize)(end - at));
    const char *stop = tab ? tab : end;
    guint before = r->tokens->len;

    if (!(r->bytes ? read_bytes : read_ids)(r, at, stop, error))
      return FALSE;
    if (r->tokens->len == before)
      return fail(r, error, "field %u has no token", n + 1);
    g_array_append_val(r->begin, r->tokens->len);
    n++;
    if (!tab)
      break;
    at = tab;
  }
  if (*n_fields == 0)
    *n_fields = n;
  return n == *n_fields ||
         fail(r, error, "%u fields, expected %u as in the lines before", n,
              *n_fields);
}

static gboolean
read_lines(Reader *r, const char *text, gsize n_bytes, uint32_t *n_fields,
           GError **error)
{
  const char *end = text + n_bytes;

  for (const char *at = text; at < end;) {
    const char *stop = memchr(at, '\n', (gsize)(end - at));

    stop = stop ? stop : end;
    r->line++;
    if (at < stop && *at != '#' && !read_line(r, at, stop, n_fields, error))
      return FALSE;
    at = stop + 1;
  }
  return *n_fields > 0 || fail(r, error, "no line of tokens");
}

RaTextData *
ra_text_data_load(const char *path, gboolean bytes, GError **error)
{
  g_autofree char *text = NULL;
  gsize n_bytes;

  if (!ra_file_read(path, MAX_FILE_BYTES, &text, &n_bytes, error))
    return NULL;
  return ra_text_data_parse(path, text, n_bytes, bytes, error);
}

RaTextData *
ra_text_data_parse(const char *name, const char *text, gsize n_bytes,
                   gboolean bytes, GError **error)
{
  uint32_t zero = 0, n_fields = 0;
  Reader r = {.path = name, .bytes = bytes};
  RaTextData *t = NULL;

  r.begin = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  r.tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g_array_append_val(r.begin, zero);
  if (read_lines(&r, text, n_bytes, &n_fields, error)) {
    t = g_new0(RaTextData, 1);
    t->n_rows = (r.begin->len - 1) / n_fields;
    t->n_fields = n_fields;
    t->bytes = bytes;
    t->n_vocab = r.n_vocab;
  }
  if (t) {
    t->begin = (uint32_t *)(void *)g_array_free(r.begin, FALSE);
    t->tokens = (uint32_t *)(void *)g_array_free(r.tokens, FALSE);
    return t;
  }
  g_array_unref(r.begin);
  g_array_unref(r.tokens);
  return NULL;
}

void
ra_text_data_free(RaTextData *texts)
{
  if (!texts)
    return;
  g_free(texts->begin);
  g_free(texts->tokens);
  g_free(texts);
}

uint32_t
ra_text_data_row(const RaTextData *texts, uint32_t iteration,
                 uint32_t n_prompts, uint32_t prompt)
{
  return (uint32_t)(((uint64_t)iteration * n_prompts + prompt) % texts->n_rows);
}

const uint32_t *
ra_text_data_field(const RaTextData *texts, uint32_t row, uint32_t field,
                   uint32_t *out_n)
{
  gsize at = (gsize)row * texts->n_fields + field;

  g_return_val_if_fail(row < texts->n_rows && field < texts->n_fields, NULL);
  *out_n = texts->begin[at + 1] - texts->begin[at];
  return texts->tokens + texts->begin[at];
}
