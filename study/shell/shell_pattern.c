/* Patterns of a shell, and the operators of ${...}. */
#include "config.h"

#include "study/shell/shell_impl.h"

/* Behind the [...] at @pattern; NULL: it is none.  @out_is_in: it has @c. */
static const char *
match_set(const char *pattern, gunichar c, gboolean *out_is_in)
{
  static const struct {
    const char *name;
    gboolean (*is)(gunichar c);
  } classes[] = {
      {"[:alpha:]", g_unichar_isalpha}, {"[:digit:]", g_unichar_isdigit},
      {"[:alnum:]", g_unichar_isalnum}, {"[:space:]", g_unichar_isspace},
      {"[:upper:]", g_unichar_isupper}, {"[:lower:]", g_unichar_islower}};
  const char *p = pattern + 1, *first;
  gboolean is_not = *p == '!' || *p == '^', is_in = FALSE;

  p += is_not;
  first = p;
  while (*p && (*p != ']' || p == first)) {
    gunichar low, high;
    guint i;

    for (i = 0; i < G_N_ELEMENTS(classes); i++) {
      if (g_str_has_prefix(p, classes[i].name))
        break;
    }
    if (i < G_N_ELEMENTS(classes)) {
      is_in |= classes[i].is(c);
      p += strlen(classes[i].name);
      continue;
    }
    if (*p == '\\' && p[1])
      p++;
    low = high = g_utf8_get_char(p);
    p = g_utf8_next_char(p);
    if (*p == '-' && p[1] && p[1] != ']') {
      p++;
      if (*p == '\\' && p[1])
        p++;
      high = g_utf8_get_char(p);
      p = g_utf8_next_char(p);
    }
    is_in |= c >= low && c <= high;
  }
  if (!*p)
    return NULL;
  *out_is_in = is_in != is_not;
  return p + 1;
}

/* One character or region of @text against the beginning of @pattern; NULL: it
 * does not match. */
static const char *
match_one(const char *pattern, const char *text, const char **out_text)
{
  const char *next = *text == RA_SHELL_BEGIN ? ra_shell_region_end(text)
                                             : g_utf8_next_char(text);
  gboolean is_in;

  *out_text = next;
  if (*text == RA_SHELL_BEGIN)
    return strncmp(pattern, text, (gsize)(next - text)) == 0
               ? pattern + (next - text)
               : NULL;
  if (*pattern == '?')
    return pattern + 1;
  if (*pattern == '[') {
    const char *end = match_set(pattern, g_utf8_get_char(text), &is_in);

    if (end)
      return is_in ? end : NULL;
  }
  if (*pattern == '\\' && pattern[1])
    pattern++;
  return *pattern && strncmp(pattern, text, (gsize)(next - text)) == 0
             ? pattern + (next - text)
             : NULL;
}

gboolean
ra_shell_match(RaShellEval *e, const char *pattern, const char *text,
               const char *end)
{
  const char *star = NULL, *star_text = NULL;

  if (!end)
    end = text + strlen(text);
  if (++e->n_matched > RA_SHELL_MATCHED_MAX)
    ra_shell_fail(e, "the patterns of the script take too long");
  while (text < end && !e->error) {
    const char *next_text, *next;

    if (++e->n_matched > RA_SHELL_MATCHED_MAX)
      ra_shell_fail(e, "the patterns of the script take too long");
    if (*pattern == '*') {
      star = ++pattern;
      star_text = text;
      continue;
    }
    next = match_one(pattern, text, &next_text);
    if (next && next_text <= end) {
      pattern = next;
      text = next_text;
    } else if (star) {
      star_text = *star_text == RA_SHELL_BEGIN ? ra_shell_region_end(star_text)
                                               : g_utf8_next_char(star_text);
      pattern = star;
      text = star_text;
    } else {
      return FALSE;
    }
  }
  while (*pattern == '*')
    pattern++;
  return text >= end && !*pattern;
}

/* The whole expression stays unknown. */
static const char *
unknown(RaShellEval *e, const RaShellPart *part)
{
  g_autofree char *text = g_strdup_printf("${%s%s...}", part->text, part->op);

  return ra_shell_unknown(e, text, NULL);
}

static const char *
step(const char *text)
{
  return *text == RA_SHELL_BEGIN ? ra_shell_region_end(text)
                                 : g_utf8_next_char(text);
}

/* ${a#p}, ${a##p}: known where what is left has no region, as the longest
 * could end in it; or where the shortest has none. */
static const char *
cut_front(RaShellEval *e, const RaShellPart *part, const char *value,
          const char *pattern)
{
  gboolean is_long = part->op[1] == '#';
  const char *best = NULL;

  for (const char *end = value;; end = step(end)) {
    if (ra_shell_match(e, pattern, value, end)) {
      best = end;
      if (!is_long)
        break;
    }
    if (!*end || e->error)
      break;
  }
  if (!ra_shell_has_region(value))
    return best ? best : value;
  if (best && is_long && !ra_shell_has_region(best))
    return best;
  if (best && !is_long && !memchr(value, RA_SHELL_BEGIN, (gsize)(best - value)))
    return best;
  return unknown(e, part);
}

/* ${a%p}, ${a%%p} */
static const char *
cut_back(RaShellEval *e, const RaShellPart *part, const char *value,
         const char *pattern)
{
  gboolean is_long = part->op[1] == '%';
  const char *best = NULL;

  for (const char *begin = value;; begin = step(begin)) {
    if (ra_shell_match(e, pattern, begin, NULL)) {
      best = begin;
      if (is_long)
        break;
    }
    if (!*begin || e->error)
      break;
  }
  if (!ra_shell_has_region(value))
    return best ? ra_shell_keep(e, value, (gsize)(best - value)) : value;
  if (best && (is_long ? !memchr(value, RA_SHELL_BEGIN, (gsize)(best - value))
                       : !ra_shell_has_region(best)))
    return ra_shell_keep(e, value, (gsize)(best - value));
  if (!best && !is_long)
    return value; /* nothing to cut that is seen */
  return unknown(e, part);
}

/* ${a/p/r}, ${a//p/r}, ${a/#p/r}, ${a/%p/r} */
static const char *
replace(RaShellEval *e, const RaShellPart *part, const char *value,
        const char *pattern, const char *with)
{
  g_autoptr(GString) out = g_string_new(NULL);
  char kind = part->op[1];
  gboolean done = !*pattern;
  const char *at = value;

  while (*at && !e->error) {
    const char *best = NULL, *next = step(at);
    g_autofree char *one = NULL;

    for (const char *end = next; !done && !e->error; end = step(end)) {
      if (ra_shell_match(e, pattern, at, end) && (kind != '%' || !*end))
        best = end;
      if (!*end)
        break;
    }
    if (best) {
      ra_shell_put(e, out, with);
      done = kind != '/';
      at = best;
    } else {
      one = g_strndup(at, (gsize)(next - at));
      ra_shell_put(e, out, one);
      at = next;
    }
    done |= kind == '#';
  }
  return ra_arena_strdup(e->arena, out->str);
}

/* ${a:offset:length} in characters */
static const char *
substring(RaShellEval *e, const RaShellPart *part, const char *value)
{
  gint64 n = g_utf8_strlen(value, -1), offset, length = n;

  if (!ra_shell_arith(e, ra_shell_expand_one(e, part->first), &offset) ||
      (part->second &&
       !ra_shell_arith(e, ra_shell_expand_one(e, part->second), &length)) ||
      ra_shell_has_region(value))
    return unknown(e, part);
  offset = CLAMP(offset, G_MININT32, G_MAXINT32);
  length = CLAMP(length, G_MININT32, G_MAXINT32);
  if (offset < 0)
    offset += n;
  if (offset < 0 || offset >= n)
    return "";
  length = part->second && length < 0 ? n + length - offset : length;
  length = CLAMP(length, 0, n - offset);
  value = g_utf8_offset_to_pointer(value, offset);
  return ra_shell_keep(
      e, value, (gsize)(g_utf8_offset_to_pointer(value, length) - value));
}

/* ${a^^}, ${a,}; a region stays as it is, as it is no text. */
static const char *
change_case(RaShellEval *e, const RaShellPart *part, const char *value)
{
  g_autoptr(GString) out = g_string_new(NULL);
  gboolean is_upper = *part->op == '^';

  for (const char *at = value; *at; at = step(at)) {
    gunichar c = g_utf8_get_char(at);

    if (*at == RA_SHELL_BEGIN)
      g_string_append_len(out, at, step(at) - at);
    else if (at > value && !part->op[1])
      g_string_append_unichar(out, c);
    else
      g_string_append_unichar(out, is_upper ? g_unichar_toupper(c)
                                            : g_unichar_tolower(c));
  }
  return ra_arena_strdup(e->arena, out->str);
}

const char *
ra_shell_operate(RaShellEval *e, const RaShellPart *part, const char *value)
{
  const char *pattern;

  if (!ra_shell_step(e))
    return "";
  switch (*part->op) {
  case '#':
  case '%':
    pattern = ra_shell_expand_pattern(e, part->first, FALSE);
    return *part->op == '#' ? cut_front(e, part, value, pattern)
                            : cut_back(e, part, value, pattern);
  case '/':
    pattern = ra_shell_expand_pattern(e, part->first, FALSE);
    return replace(e, part, value, pattern,
                   part->second ? ra_shell_expand_one(e, part->second) : "");
  case '^':
  case ',':
    return change_case(e, part, value);
  case ':':
    return substring(e, part, value);
  default:
    return value;
  }
}
