/* Settings of a shell script: the words of its commands. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/convert/setting_impl.h"

#define IS_BLANK(c) ((c) == ' ' || (c) == '\t' || (c) == '\r')

/* A script on its way into settings. */
typedef struct {
  RaSettings *settings;
  const char *at, *end;
  guint line;
  GHashTable *variables; /* name -> value, owned */
  gboolean in_command;   /* a word that is no assignment has come */
  gboolean in_array;     /* NAME=( ... */
  char *flag;            /* owned, nullable: waits for its value */
  guint flag_line;
} Script;

static gboolean
is_identifier(const char *text, gsize n)
{
  for (gsize i = 0; i < n; i++) {
    if (!g_ascii_isalnum(text[i]) && text[i] != '_')
      return FALSE;
  }
  return n > 0 && !g_ascii_isdigit(*text);
}

/* Keys of settings: dotted identifiers, with what hydra puts before them. */
static gboolean
is_key(const char *text, gsize n)
{
  for (gsize i = 0; i < n; i++) {
    if (!g_ascii_isalnum(text[i]) && !strchr("_.-/@", text[i]))
      return FALSE;
  }
  return n > 0 && (g_ascii_isalpha(*text) || *text == '_');
}

/* Appends what the `$` at script->at stands for, and goes behind it. */
static void
take_variable(Script *script, GString *word)
{
  const char *p = script->at + 1, *begin, *fallback = NULL;
  gboolean braces = p < script->end && *p == '{';
  g_autofree char *name = NULL, *rest = NULL;
  const char *value;
  gsize n = 0;

  if (p < script->end && *p == '(') { /* $(...) says nothing that we know */
    g_string_append_c(word, *script->at++);
    return;
  }
  begin = braces ? p + 1 : p;
  while (begin + n < script->end &&
         (g_ascii_isalnum(begin[n]) || begin[n] == '_'))
    n++;
  name = g_strndup(begin, n);
  p = begin + n;
  if (braces) {
    const char *close = memchr(p, '}', (gsize)(script->end - p));

    if (!close) {
      g_string_append_c(word, *script->at++);
      return;
    }
    rest = g_strndup(p, (gsize)(close - p));
    if (g_str_has_prefix(rest, ":-") || g_str_has_prefix(rest, ":="))
      fallback = rest + 2;
    p = close + 1;
  } else if (n == 0 && p < script->end) {
    p++; /* $@, $1 ... */
  }
  value = g_hash_table_lookup(script->variables, name);
  if (value || fallback)
    g_string_append(word, value ? value : fallback);
  else if (n > 0 && !(rest && *rest)) /* of the environment: as it stands */
    g_string_append_printf(word, "${%s}", name);
  script->at = p;
}

/* One word into @word; FALSE: an open quote. */
static gboolean
take_word(Script *script, GString *word, GError **error)
{
  char quote = '\0';
  guint line = script->line;

  for (; script->at < script->end; script->at++) {
    char c = *script->at;

    if (c == '\n')
      script->line++;
    if (!quote && (IS_BLANK(c) || c == '\n' || strchr(";&|()", c))) {
      if (c == '\n')
        script->line--;
      return TRUE;
    }
    if (c == '\\' && quote != '\'' && script->at + 1 < script->end) {
      if (*++script->at == '\n') {
        script->line++;
        if (!quote) { /* the end of a line is the end of a word here */
          script->at++;
          return TRUE;
        }
        continue;
      }
      if (*script->at != '\'' && *script->at != '"') /* hydra's own quotes */
        g_string_append_c(word, *script->at);
    } else if (quote ? c == quote : c == '\'' || c == '"') {
      quote = quote ? '\0' : c;
    } else if (c == '$' && quote != '\'') {
      take_variable(script, word);
      script->at--;
    } else {
      g_string_append_c(word, c);
    }
  }
  if (!quote)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%u: a quote is not closed",
              script->settings->name, line);
  return FALSE;
}

/* The flag that waits for a value takes @value, or is a switch. */
static gboolean
end_flag(Script *script, const char *value, GError **error)
{
  g_autofree char *flag = g_steal_pointer(&script->flag);

  return !flag ||
         ra_settings_add(script->settings, flag, value ? value : "true",
                         script->flag_line, error);
}

/* A word that begins with two dashes. */
static gboolean
put_flag(Script *script, const char *word, guint line, GError **error)
{
  const char *equals = strchr(word, '=');
  g_autofree char *key = NULL;

  if (!end_flag(script, NULL, error))
    return FALSE;
  if (word[2] == '\0')
    return TRUE;
  if (!equals) {
    script->flag = g_strdup(word + 2);
    script->flag_line = line;
    return TRUE;
  }
  key = g_strndup(word + 2, (gsize)(equals - word) - 2);
  return ra_settings_add(script->settings, key, equals + 1, line, error);
}

static gboolean
put_word(Script *script, const char *word, guint line, GError **error)
{
  const char *equals = strchr(word, '='), *key = word;
  gboolean before = !script->in_command && !script->in_array;

  g_string_append_printf(script->settings->words, "%s ", word);
  if (before && equals && is_identifier(word, (gsize)(equals - word))) {
    g_hash_table_replace(script->variables,
                         g_strndup(word, (gsize)(equals - word)),
                         g_strdup(equals + 1));
    return TRUE;
  }
  if (before && (g_str_equal(word, "export") || g_str_equal(word, "declare")))
    return TRUE; /* what follows is an assignment, too */
  script->in_command = TRUE;
  if (g_str_has_prefix(word, "--"))
    return put_flag(script, word, line, error);
  while (*key == '+' || *key == '~')
    key++;
  if (equals > key && is_key(key, (gsize)(equals - key))) {
    g_autofree char *name = g_strndup(key, (gsize)(equals - key));

    return end_flag(script, NULL, error) &&
           ra_settings_add(script->settings, name, equals + 1, line, error);
  }
  return end_flag(script, word, error);
}

/* Blanks, comments, and what ends a command. */
static gboolean
skip(Script *script, GError **error)
{
  for (; script->at < script->end; script->at++) {
    char c = *script->at;

    if (c == '#') {
      while (script->at + 1 < script->end && script->at[1] != '\n')
        script->at++;
    } else if (c == '\\' && script->at + 1 < script->end &&
               script->at[1] == '\n') {
      script->line++;
      script->at++;
    } else if (c == '\n' || strchr(";&|", c)) {
      if (c == '\n')
        script->line++;
      if (!script->in_array) {
        script->in_command = FALSE;
        if (!end_flag(script, NULL, error))
          return FALSE;
      }
    } else if (c == '(' || c == ')') {
      script->in_array = c == '(';
      if (!end_flag(script, NULL, error))
        return FALSE;
    } else if (!IS_BLANK(c)) {
      break;
    }
  }
  return TRUE;
}

gboolean
ra_settings_read_script(RaSettings *settings, const char *text, gsize n_bytes,
                        GError **error)
{
  g_autoptr(GHashTable) variables =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr(GString) word = g_string_new(NULL);
  Script script = {settings, text,  text + n_bytes, 1, variables,
                   FALSE,    FALSE, NULL,           0};
  gboolean ok = g_utf8_validate(text, (gssize)n_bytes, NULL);

  if (!ok)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: neither YAML nor a script in UTF-8", settings->name);
  while (ok && (ok = skip(&script, error)) && script.at < script.end) {
    guint line = script.line;

    g_string_truncate(word, 0);
    ok = take_word(&script, word, error) &&
         (word->len == 0 || put_word(&script, word->str, line, error));
  }
  ok = ok && end_flag(&script, NULL, error);
  g_free(script.flag);
  return ok;
}
