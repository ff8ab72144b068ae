/* References in values, as OmegaConf resolves them: ${a.b}, ${.b} and ${..b}
 * relative to the value's parent, ${oc.select:a.b,else}, ${mul:2,3} ... */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/convert/setting_impl.h"

#define DEPTH_MAX 64          /* references within references */
#define STEPS_MAX 10000       /* references of one value */
#define LENGTH_MAX (1u << 16) /* of what a value stands for, bytes */
#define ALL_STEPS_MAX 300000  /* references of all values */
#define ARGUMENTS_MAX 16      /* of a function */
#define PARENTHESES_MAX 32    /* of ${eval:...} */

/* ---- Numbers ---------------------------------------------------------- */

static char *
number_text(double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  return isfinite(value)
             ? g_strdup(g_ascii_formatd(text, sizeof(text), "%.15g", value))
             : NULL;
}

/* The expression of ${eval:...} on its way to a number. */
typedef struct {
  const char *at;
  guint depth;
  gboolean failed;
} Expression;

static double read_sum(Expression *e);

static gboolean
skip(Expression *e, const char *word)
{
  while (*e->at == ' ')
    e->at++;
  if (!g_str_has_prefix(e->at, word))
    return FALSE;
  e->at += strlen(word);
  return TRUE;
}

/* int(x), max(x, y), min(x, y), (x). */
static double
read_call(Expression *e, const char *name)
{
  double x = 0, y;

  if (!skip(e, "(") || ++e->depth > PARENTHESES_MAX) {
    e->failed = TRUE;
    return 0;
  }
  x = read_sum(e);
  while (skip(e, ",")) {
    y = read_sum(e);
    if (g_str_equal(name, "max"))
      x = MAX(x, y);
    else if (g_str_equal(name, "min"))
      x = MIN(x, y);
    else
      e->failed = TRUE;
  }
  e->failed |= !skip(e, ")");
  e->depth--;
  if (g_str_equal(name, "int"))
    x = trunc(x);
  else
    e->failed |= *name && !g_str_equal(name, "max") &&
                 !g_str_equal(name, "min") && !g_str_equal(name, "float");
  return x;
}

static double
read_value(Expression *e)
{
  gboolean minus = skip(e, "-");
  gsize n = 0;
  double x;

  while (g_ascii_isalnum(e->at[n]) || e->at[n] == '.' || e->at[n] == '_')
    n++;
  g_autofree char *word = g_strndup(e->at, n);

  e->at += n;
  if (n == 0 || g_ascii_isalpha(*word))
    x = read_call(e, word);
  else if (!ra_text_double(word, &x))
    e->failed = TRUE;
  return minus ? -x : x;
}

static double
read_product(Expression *e)
{
  double x = read_value(e);

  while (!e->failed) {
    gboolean whole = skip(e, "//"), over = whole || skip(e, "/");
    gboolean rest = !over && skip(e, "%");
    double y;

    if (!over && !rest && !skip(e, "*"))
      break;
    y = read_value(e);
    if ((over || rest) && y == 0)
      e->failed = TRUE;
    else
      x = whole  ? floor(x / y)
          : over ? x / y
          : rest ? x - y * floor(x / y)
                 : x * y;
  }
  return x;
}

static double
read_sum(Expression *e)
{
  double x = read_product(e);

  while (!e->failed) {
    if (skip(e, "+"))
      x += read_product(e);
    else if (skip(e, "-"))
      x -= read_product(e);
    else
      break;
  }
  return x;
}

static char *
evaluate(const char *text)
{
  Expression e = {text, 0, FALSE};
  double value = read_sum(&e);

  skip(&e, "");
  return e.failed || *e.at ? NULL : number_text(value);
}

/* ---- References ------------------------------------------------------- */

typedef struct {
  const RaSettings *settings;
  guint steps, steps_max;
  gboolean endless; /* a value refers to itself, or to too much */
} Resolver;

static char *resolve(Resolver *resolver, const char *key, const char *text,
                     guint depth);

/* (transfer full): absolute key of @path as a value of @key means it: one dot
 * in front is the mapping that has @key, each further one its parent.
 * [x] is .x. */
static char *
absolute_key(const char *key, const char *path)
{
  GString *out = g_string_new(NULL);
  gsize n_dots = strspn(path, ".");

  if (n_dots > 0) {
    g_string_assign(out, key);
    for (gsize i = 0; i < n_dots; i++) {
      const char *dot = strrchr(out->str, '.');

      g_string_truncate(out, dot ? (gsize)(dot - out->str) : 0);
    }
  }
  for (const char *p = path + n_dots; *p; p++) {
    if (*p == ']' || *p == '\'' || *p == '"')
      continue;
    if (out->len > 0 && (p == path + n_dots || *p == '['))
      g_string_append_c(out, '.');
    if (*p != '[')
      g_string_append_c(out, *p);
  }
  return g_string_free(out, FALSE);
}

/* Value of the setting that @path refers to from @key; NULL: there is none. */
static char *
look_up(Resolver *resolver, const char *key, const char *path, guint depth)
{
  g_autofree char *full = absolute_key(key, path);
  const RaSetting *setting =
      g_hash_table_lookup(resolver->settings->last, full);

  if (!setting || g_str_equal(setting->value, "???"))
    return NULL;
  return resolve(resolver, full, setting->value, depth + 1);
}

/* Splits @text at the commas that are in no brackets and no quotes; what is
 * quoted loses its quotes.  (transfer full) */
static GPtrArray *
split_arguments(const char *text)
{
  GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
  const char *begin = text;
  guint open = 0;
  char quote = '\0';

  for (const char *p = text;; p++) {
    if (*p && (quote ? *p == quote : *p == '\'' || *p == '"'))
      quote = quote ? '\0' : *p;
    else if (*p && !quote && strchr("([{", *p))
      open++;
    else if (*p && !quote && strchr(")]}", *p) && open > 0)
      open--;
    if (*p && (*p != ',' || open > 0 || quote || out->len == ARGUMENTS_MAX))
      continue;
    char *item = g_strstrip(g_strndup(begin, (gsize)(p - begin)));
    gsize n = strlen(item);

    if (n >= 2 && item[0] == item[n - 1] && strchr("'\"", item[0])) {
      item[n - 1] = '\0';
      memmove(item, item + 1, n - 1);
    }
    g_ptr_array_add(out, item);
    if (!*p)
      return out;
    begin = p + 1;
  }
}

/* The numbers' sum, product ...: functions that recipes register. */
static char *
calculate(const char *function, GPtrArray *arguments)
{
  double result = 0;

  for (guint i = 0; i < arguments->len; i++) {
    double x;

    if (!ra_text_double(arguments->pdata[i], &x))
      return NULL;
    if (i == 0)
      result = x;
    else if (g_str_equal(function, "add"))
      result += x;
    else if (g_str_equal(function, "sub"))
      result -= x;
    else if (g_str_equal(function, "mul"))
      result *= x;
    else if (g_str_equal(function, "div") && x != 0)
      result /= x;
    else if (g_str_equal(function, "max"))
      result = MAX(result, x);
    else if (g_str_equal(function, "min"))
      result = MIN(result, x);
    else
      return NULL;
  }
  return number_text(result);
}

/* Value of `${name:arguments}`; NULL: unknown. */
static char *
call(Resolver *resolver, const char *key, const char *name, const char *rest,
     guint depth)
{
  g_autoptr(GPtrArray) arguments = split_arguments(rest);
  const char *first = arguments->pdata[0];
  const char *otherwise = arguments->len > 1 ? arguments->pdata[1] : NULL;

  if (g_str_equal(name, "oc.select")) {
    char *value = look_up(resolver, key, first, depth);

    return value ? value : g_strdup(otherwise ? otherwise : "null");
  }
  if (g_str_equal(name, "oc.env")) /* this machine's environment is another */
    return g_strdup(otherwise);
  if (g_str_equal(name, "oc.decode") || g_str_equal(name, "oc.create"))
    return g_strdup(first);
  if (g_str_equal(name, "oc.deprecated"))
    return look_up(resolver, key, first, depth);
  if (g_str_equal(name, "eval"))
    return evaluate(first);
  return arguments->len > 1 ? calculate(name, arguments) : NULL;
}

/* The end of the `${` at @begin: behind its brace; NULL: it has none. */
static const char *
end_of(const char *begin)
{
  guint open = 0;

  for (const char *p = begin; *p; p++) {
    if (*p == '{')
      open++;
    else if (*p == '}' && --open == 0)
      return p + 1;
  }
  return NULL;
}

GPtrArray *
ra_settings_references(const char *key, const char *value)
{
  GPtrArray *out = g_ptr_array_new_with_free_func(g_free);

  for (gboolean is_select = TRUE; is_select && out->len < DEPTH_MAX;) {
    const char *end = g_str_has_prefix(value, "${") ? end_of(value) : NULL;
    g_autofree char *path = NULL;
    gsize n;

    if (!end || end[strspn(end, " }")])
      break;
    value += 2;
    is_select = g_str_has_prefix(value, "oc.select:");
    if (is_select)
      value += strlen("oc.select:");
    n = strcspn(value, ",}");
    path = g_strndup(value, n);
    if (strpbrk(path, ":${"))
      break;
    g_ptr_array_add(out, absolute_key(key, g_strstrip(path)));
    value += n + 1;
    value += strspn(value, " ");
  }
  return out;
}

/* Value of `${@raw}`; NULL: unknown. */
static char *
resolve_inside(Resolver *resolver, const char *key, const char *raw,
               guint depth)
{
  g_autofree char *inside = g_strstrip(resolve(resolver, key, raw, depth + 1));
  const char *colon = strchr(inside, ':');
  g_autofree char *name = NULL;

  if (!colon)
    return look_up(resolver, key, inside, depth);
  name = g_strndup(inside, (gsize)(colon - inside));
  return call(resolver, key, name, colon + 1, depth);
}

/* (transfer full): @text with what its ${...} stand for, where that is known.
 */
static char *
resolve(Resolver *resolver, const char *key, const char *text, guint depth)
{
  GString *out = g_string_new(NULL);

  while (*text) {
    const char *begin = strstr(text, "${"), *end;
    g_autofree char *raw = NULL, *value = NULL;

    if (!begin) {
      g_string_append(out, text);
      break;
    }
    if (depth >= DEPTH_MAX || ++resolver->steps > resolver->steps_max ||
        out->len > LENGTH_MAX)
      resolver->endless = TRUE;
    end = resolver->endless ? NULL : end_of(begin);
    if (!end) {
      g_string_append(out, text);
      break;
    }
    g_string_append_len(out, text, begin - text);
    raw = g_strndup(begin + 2, (gsize)(end - begin) - 3);
    value = resolve_inside(resolver, key, raw, depth);
    if (value)
      g_string_append(out, value);
    else
      g_string_append_len(out, begin, end - begin);
    text = end;
  }
  return g_string_free(out, FALSE);
}

char *
ra_settings_resolve(const RaSettings *settings, const char *key,
                    const char *text)
{
  Resolver resolver = {settings, 0, STEPS_MAX, FALSE};

  return resolve(&resolver, key, text, 0);
}

gboolean
ra_settings_check_references(const RaSettings *settings, GError **error)
{
  Resolver resolver = {settings, 0, ALL_STEPS_MAX, FALSE};

  for (guint i = 0; i < settings->list->len; i++) {
    const RaSetting *setting = settings->list->pdata[i];

    if (!strstr(setting->value, "${"))
      continue;
    g_free(resolve(&resolver, setting->key, setting->value, 0));
    if (resolver.endless) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s: '%s' refers to itself, or to too many others",
                  setting->place, setting->key);
      return FALSE;
    }
  }
  return TRUE;
}
