/* Strict syntax check of a JSON text, which stores the lines of its keys. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/json_index.h"

/* Entry for one key of one object. */
typedef struct {
  guint object;    /* number of the object that has the key */
  guint line;      /* from 1 */
  guint child;     /* number of the object that is its value, or 0 */
  gsize len;       /* bytes of the key */
  const char *key; /* in the index's own copy of the text */
} Entry;

struct _RaJsonIndex {
  char *text;          /* copy, so that keys outlive the caller's text */
  GHashTable *entries; /* Entry -> itself */
};

/* One open bracket. */
typedef struct {
  char close;   /* '}' or ']' that ends it */
  guint object; /* number of the object; 0 in an array */
  Entry *key;   /* the key whose value is being read, or NULL */
} Frame;

typedef struct {
  const char *name;                   /* in messages */
  const char *p;                      /* next byte */
  const char *end;                    /* one past the last byte */
  guint line;                         /* of p, from 1 */
  guint n_objects;                    /* opened so far */
  guint depth;                        /* open brackets */
  gboolean done;                      /* the root has closed */
  Frame stack[RA_JSON_MAX_DEPTH + 1]; /* [0] is not used */
  RaJsonIndex *index;                 /* being filled */
  GError **error;
} Scan;

static guint
entry_hash(gconstpointer data)
{
  const Entry *entry = data;
  guint h = 2166136261u ^ entry->object; /* FNV-1a */
  for (gsize i = 0; i < entry->len; i++)
    h = (h ^ (guchar)entry->key[i]) * 16777619u;
  return h;
}

static gboolean
entry_equal(gconstpointer a, gconstpointer b)
{
  const Entry *x = a;
  const Entry *y = b;
  return x->object == y->object && x->len == y->len &&
         memcmp(x->key, y->key, x->len) == 0;
}

static gboolean fail(Scan *scan, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean
fail(Scan *scan, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_autofree char *raw = g_strdup_vprintf(format, args);
  va_end(args);
  /* A precision may have cut a character in two. */
  g_autofree char *what = g_utf8_make_valid(raw, -1);
  g_set_error(scan->error, RA_ERROR, RA_ERROR_INPUT, "%s:%u: %s", scan->name,
              scan->line, what);
  return FALSE;
}

/* The bytes of a string between its quotes; scan->p is at the opening one. */
static gboolean
scan_string(Scan *scan, const char **start, gsize *len, gboolean *escaped)
{
  const char *p = scan->p + 1;
  *escaped = FALSE;
  for (*start = p; p < scan->end && *p != '"'; p++) {
    if ((guchar)*p < 0x20)
      return fail(scan, "control character in a string, expected it escaped "
                        "or the string closed");
    if (*p == '\\') {
      *escaped = TRUE;
      if (++p == scan->end)
        break;
      if (!strchr("\"\\/bfnrtu", *p) || *p == '\0')
        return fail(scan, "unknown escape in a string");
      /* Whoever compares texts in C would see the part before it alone. */
      if (scan->end - p >= 5 && strncmp(p, "u0000", 5) == 0)
        return fail(scan, "NUL in a string");
    }
  }
  if (p >= scan->end)
    return fail(scan, "string is not closed");
  *len = (gsize)(p - *start);
  scan->p = p + 1;
  return TRUE;
}

static gboolean
scan_key(Scan *scan, const char *start, gsize len, gboolean escaped)
{
  Frame *top = &scan->stack[scan->depth];
  /* An escaped key could equal a plain one, which json-glib would merge. */
  if (escaped)
    return fail(scan, "key has an escape, expected plain characters");
  if (len == 0)
    return fail(scan, "key is empty");
  Entry *entry = g_new(Entry, 1);
  *entry = (Entry){top->object, scan->line, 0, len, start};
  if (!g_hash_table_add(scan->index->entries, entry)) {
    /* The table freed the old and keeps the new entry: it is as good. */
    return fail(scan, "key '%.*s' is given twice", (int)MIN(len, 64), start);
  }
  top->key = entry;
  return TRUE;
}

/* A string is a key if its object waits for one and a colon follows. */
static gboolean
scan_quoted(Scan *scan)
{
  const char *start = NULL;
  gsize len = 0;
  gboolean escaped = FALSE;
  if (!scan_string(scan, &start, &len, &escaped))
    return FALSE;
  const char *p = scan->p;
  while (p < scan->end && strchr(" \t\r\n", *p))
    p++;
  if (p < scan->end && *p == ':' && scan->stack[scan->depth].object != 0)
    return scan_key(scan, start, len, escaped);
  return TRUE;
}

static const char *
skip_digits(const char *p, const char *end)
{
  while (p < end && g_ascii_isdigit(*p))
    p++;
  return p;
}

/* RFC 8259: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
static gboolean
is_number(const char *p, const char *end)
{
  if (p < end && *p == '-')
    p++;
  const char *digits = p;
  p = skip_digits(p, end);
  if (p == digits || (*digits == '0' && p - digits > 1))
    return FALSE;
  if (p < end && *p == '.') {
    digits = ++p;
    p = skip_digits(p, end);
    if (p == digits)
      return FALSE;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < end && (*p == '+' || *p == '-'))
      p++;
    digits = p;
    p = skip_digits(p, end);
    if (p == digits)
      return FALSE;
  }
  return p == end;
}

/* Python's json module writes these, as in the config.json of Nemotron-H; no
 * parser of JSON reads them.  What stands in their place is as long. */
static gboolean
replace_infinity(RaJsonIndex *index, const char *start, gsize len)
{
  static const char name[] = "Infinity", number[] = "1.0e+308";
  const char *digits = *start == '-' ? start + 1 : start;

  G_STATIC_ASSERT(sizeof name == sizeof number);
  if ((gsize)(start + len - digits) != strlen(name) ||
      memcmp(digits, name, strlen(name)) != 0)
    return FALSE;
  memcpy(index->text + (digits - index->text), number, strlen(number));
  return TRUE;
}

/* A number, true, false or null. */
static gboolean
scan_word(Scan *scan)
{
  static const char *const words[] = {"true", "false", "null"};
  const char *start = scan->p;
  const char *p = start;
  while (p < scan->end && (g_ascii_isalnum(*p) || strchr("+-._", *p)))
    p++;
  gsize len = (gsize)(p - start);
  int shown = (int)MIN(len, 64);
  if (len == 0)
    return fail(scan, "character '%s' does not belong here, expected JSON",
                (guchar)*p < 0x20 || (guchar)*p >= 0x7f ? "?"
                                                        : (char[2]){*p, 0});
  scan->p = p;
  for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
    if (strlen(words[i]) == len && memcmp(words[i], start, len) == 0)
      return TRUE;
  if (replace_infinity(scan->index, start, len))
    return TRUE;
  if (!is_number(start, p))
    return fail(scan,
                "'%.*s' is not JSON, expected a number, a string, "
                "true, false or null",
                shown, start);
  const char *digits = *start == '-' ? start + 1 : start;
  if (skip_digits(digits, p) - digits > 18) /* json-glib wraps around */
    return fail(scan, "number '%.*s' is out of range", shown, start);
  return TRUE;
}

static gboolean
scan_open(Scan *scan)
{
  gboolean is_object = *scan->p == '{';
  if (scan->depth == 0 && !is_object)
    return fail(scan, "the text is not an object, expected '{'");
  if (scan->depth == RA_JSON_MAX_DEPTH)
    return fail(scan, "nested deeper than %d", RA_JSON_MAX_DEPTH);
  guint number = is_object ? ++scan->n_objects : 0;
  Entry *key = scan->stack[scan->depth].key;
  if (key && key->child == 0)
    key->child = number;
  scan->stack[scan->depth].key = NULL;
  scan->stack[++scan->depth] =
      (Frame){(char)(is_object ? '}' : ']'), number, NULL};
  scan->p++;
  return TRUE;
}

static gboolean
scan_close(Scan *scan)
{
  if (scan->depth == 0 || scan->stack[scan->depth].close != *scan->p)
    return fail(scan, "'%c' closes nothing", *scan->p);
  scan->done = --scan->depth == 0;
  scan->p++;
  return TRUE;
}

static gboolean
scan_one(Scan *scan)
{
  char c = *scan->p;
  if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
    scan->line += c == '\n';
    scan->p++;
    return TRUE;
  }
  if (scan->done)
    return fail(scan, "text after the end of the object");
  if (c == '{' || c == '[')
    return scan_open(scan);
  if (scan->depth == 0)
    return fail(scan, "the text is not an object, expected '{'");
  if (c == '}' || c == ']')
    return scan_close(scan);
  if (c == '"')
    return scan_quoted(scan);
  if (c == ',' || c == ':') {
    if (c == ',') /* the value of the last key is over */
      scan->stack[scan->depth].key = NULL;
    scan->p++;
    return TRUE;
  }
  return scan_word(scan);
}

/* json-glib reads up to the first NUL and trusts the rest to be UTF-8. */
static gboolean
check_bytes(Scan *scan, const char *text, gsize len)
{
  const char *bad = memchr(text, '\0', len);
  const char *what = "NUL byte, expected text";
  if (!bad) {
    if (g_utf8_validate(text, (gssize)len, &bad))
      return TRUE;
    what = "broken UTF-8";
  }
  for (const char *p = text; p < bad; p++)
    scan->line += *p == '\n';
  return fail(scan, "%s", what);
}

RaJsonIndex *
ra_json_index_new(const char *name, const char *text, gsize len, GError **error)
{
  g_return_val_if_fail(name && (text || len == 0), NULL);
  g_return_val_if_fail(!error || !*error, NULL);
  Scan scan = {.name = name, .line = 1, .error = error};
  if (len == 0) {
    fail(&scan, "the text is empty, expected '{'");
    return NULL;
  }
  if (!check_bytes(&scan, text, len))
    return NULL;
  g_autoptr(RaJsonIndex) index = g_new0(RaJsonIndex, 1);
  index->text = g_strndup(text, len);
  index->entries = g_hash_table_new_full(entry_hash, entry_equal, g_free, NULL);
  scan.index = index;
  scan.p = index->text;
  scan.end = index->text + len;
  while (scan.p < scan.end)
    if (!scan_one(&scan))
      return NULL;
  if (!scan.done) {
    fail(&scan, "the text ends too early, expected '%c'",
         scan.depth ? scan.stack[scan.depth].close : '{');
    return NULL;
  }
  return g_steal_pointer(&index);
}

void
ra_json_index_free(RaJsonIndex *index)
{
  if (!index)
    return;
  g_hash_table_unref(index->entries);
  g_free(index->text);
  g_free(index);
}

const char *
ra_json_index_text(const RaJsonIndex *index)
{
  g_return_val_if_fail(index, NULL);
  return index->text;
}

static const Entry *
find(const RaJsonIndex *index, guint object, const char *key)
{
  Entry wanted = {object, 0, 0, strlen(key), key};
  return g_hash_table_lookup(index->entries, &wanted);
}

guint
ra_json_index_line(const RaJsonIndex *index, guint object, const char *key)
{
  g_return_val_if_fail(index && key, 1);
  const Entry *entry = find(index, object, key);
  return entry ? entry->line : 1;
}

guint
ra_json_index_child(const RaJsonIndex *index, guint object, const char *key)
{
  g_return_val_if_fail(index && key, 0);
  const Entry *entry = find(index, object, key);
  return entry ? entry->child : 0;
}
