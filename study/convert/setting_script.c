/* Settings of a shell script: the arguments of the program that it launches. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/convert/setting_impl.h"
#include "study/shell/launch.h"

#define FLIPS_MAX 40      /* decisions that are tried the other way */
#define FLIP_STEPS 400000 /* steps that all of them may take together */
#define DIFFERENCES_MAX 4 /* settings that a note names */
#define SHOWN_MAX 60      /* bytes of a value in a note */

static gboolean
add_word(RaSettings *settings, const char *key, const RaShellWord *word,
         const char *value, gboolean is_override, GError **error)
{
  g_autofree char *plain = ra_shell_plain(value);
  RaSettingSource source = {word->file, word->line, ra_shell_is_unknown(value)};

  return is_override
             ? ra_settings_add_override(settings, key, plain, &source, error)
             : ra_settings_add_from(settings, key, plain, &source, error);
}

/* TRUE if @text can be the value of the flag before it. */
static gboolean
is_value(const char *text)
{
  g_autofree char *key = NULL;
  const char *value;

  if (*text == '-')
    return g_ascii_isdigit(text[1]) || text[1] == '.';
  if (ra_shell_is_words(text))
    return FALSE;
  return !ra_launch_override(text, &key, &value);
}

/* `--a=b`, `--a b c`, `--a` at @at; moves it behind the values. */
static gboolean
add_flag(RaSettings *settings, const RaLaunch *launch, guint *at,
         GError **error)
{
  const RaShellWord *word = &launch->words[*at];
  const char *name = word->text + 2, *equals = strchr(name, '=');
  const RaShellWord *next =
      *at + 1 < launch->n_words ? &launch->words[*at + 1] : NULL;
  g_autofree char *raw =
      equals ? g_strndup(name, (gsize)(equals - name)) : g_strdup(name);
  g_autofree char *key = ra_shell_plain(raw);
  g_autoptr(GString) values = NULL;

  if (!*key)
    return TRUE;
  if (equals)
    return add_word(settings, key, word, equals + 1, FALSE, error);
  if (!next || !is_value(next->text))
    return add_word(settings, key, word, "true", FALSE, error);
  values = g_string_new(next->text);
  for (*at += 1;
       *at + 1 < launch->n_words && is_value(launch->words[*at + 1].text);
       *at += 1)
    g_string_append_printf(values, " %s", launch->words[*at + 1].text);
  return add_word(settings, key, word, values->str, FALSE, error);
}

/* TRUE for `a.b.c` among overrides: hydra refuses it, and a script that ends
 * early has one. */
static gboolean
is_cut(const RaSettings *settings, const char *text)
{
  gsize n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.");
  g_autofree char *group = g_strndup(text, strcspn(text, ".") + 1);

  return g_ascii_islower(*text) && text[n] == '\0' && strchr(text, '.') &&
         ra_settings_has(settings, group);
}

static gboolean
fail_cut(const RaShellWord *word, GError **error)
{
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s:%u: '%s' has no value, expected KEY=VALUE", word->file,
              word->line, word->text);
  return FALSE;
}

static void
note_words(RaSettings *settings, const RaShellWord *word)
{
  g_autofree char *plain = ra_shell_plain(word->text);

  g_ptr_array_add(settings->notes,
                  g_strdup_printf("%s:%u: '%s' is known only when the script "
                                  "runs; taken: no words",
                                  word->file, word->line, plain));
}

static gboolean
add_words(RaSettings *settings, const RaLaunch *launch, GError **error)
{
  for (guint i = 0; i < launch->n_words; i++) {
    const RaShellWord *word = &launch->words[i];
    g_autofree char *key = NULL;
    const char *value;
    gboolean ok = TRUE;

    if (ra_shell_is_words(word->text))
      note_words(settings, word);
    else if (g_str_has_prefix(word->text, "--"))
      ok = add_flag(settings, launch, &i, error);
    else if (ra_launch_override(word->text, &key, &value))
      ok = add_word(settings, key, word, value ? value : "null", TRUE, error);
    else if (is_cut(settings, word->text))
      ok = fail_cut(word, error);
    if (!ok)
      return FALSE;
  }
  return TRUE;
}

/* (transfer full): the program and what it does: its arguments before the first
 * flag or setting, as in `realhf.apps.quickstart ppo`. */
static char *
entry_of(const RaLaunch *launch)
{
  GString *entry = g_string_new(launch->entry);

  for (guint i = 0; i < launch->n_words; i++) {
    g_autofree char *word = ra_shell_plain(launch->words[i].text);

    if (*word == '-' || strchr(word, '='))
      break;
    g_string_append_printf(entry, " %s", word);
  }
  return g_string_free(entry, FALSE);
}

/* The flags of torchrun and its like are told apart by `launcher.`, and are no
 * row of what is not understood. */
static gboolean
add_flags(RaSettings *settings, const RaLaunch *launch, GError **error)
{
  for (guint i = 0; i < launch->flags->len; i++) {
    const RaLaunchFlag *flag = &g_array_index(launch->flags, RaLaunchFlag, i);
    g_autofree char *plain = ra_shell_plain(flag->key);
    g_autofree char *key = g_strconcat("launcher.", plain, NULL);

    if (!add_word(settings, key, &flag->word, flag->text, FALSE, error))
      return FALSE;
    ra_settings_ignore(settings, key);
  }
  return TRUE;
}

/* All that counts of a launch: key -> value, owned. */
static GHashTable *
values_of(const RaShellRun *run)
{
  GHashTable *values =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr(RaLaunch) launch = ra_launch_find(run, NULL);
  g_autoptr(RaSettings) settings = ra_settings_new("");

  if (!launch || !add_words(settings, launch, NULL) ||
      !add_flags(settings, launch, NULL))
    return values;
  g_hash_table_insert(values, g_strdup(""), g_strdup(launch->entry));
  for (guint i = 0; i < settings->list->len; i++) {
    const RaSetting *setting = settings->list->pdata[i];

    if (setting->state != RA_SETTING_REPLACED)
      g_hash_table_replace(values, g_strdup(setting->key),
                           g_strdup(setting->value));
  }
  return values;
}

/* Appends `key=value (here VALUE)` if @other differs from @own. */
static void
compare_key(const char *key, GHashTable *own, GHashTable *other, GString *out,
            guint *n)
{
  const char *here = g_hash_table_lookup(own, key);
  const char *there = g_hash_table_lookup(other, key);

  if (g_strcmp0(here, there) == 0 || ++*n > DIFFERENCES_MAX)
    return;
  there = there ? there : "nothing";
  here = here ? here : "nothing";
  g_string_append_printf(out, "%s%s=%.*s (here %.*s)", out->len ? ", " : "",
                         *key ? key : "program", ra_text_head(there, SHOWN_MAX),
                         there, ra_text_head(here, SHOWN_MAX), here);
}

/* (transfer full) (nullable): what another launch sets otherwise. */
static char *
differences(GHashTable *own, GHashTable *other)
{
  g_autoptr(GString) out = g_string_new(NULL);
  GList *keys = g_list_sort(g_hash_table_get_keys(own), (GCompareFunc)strcmp);
  GList *others =
      g_list_sort(g_hash_table_get_keys(other), (GCompareFunc)strcmp);
  guint n = 0;

  for (const GList *key = keys; key; key = key->next)
    compare_key(key->data, own, other, out, &n);
  for (const GList *key = others; key; key = key->next) {
    if (!g_hash_table_contains(own, key->data))
      compare_key(key->data, own, other, out, &n);
  }
  g_list_free(keys);
  g_list_free(others);
  if (n == 0)
    return NULL;
  if (n > DIFFERENCES_MAX)
    g_string_append_printf(out, " and %u more", n - DIFFERENCES_MAX);
  return g_strdup(out->str);
}

/* Notes what the script would launch if @decision were made otherwise. */
static void
compare_option(RaSettings *settings, const RaShell *shell,
               const char *const *sets, const RaShellDecision *decision,
               guint option, GHashTable *own, guint *n_steps)
{
  const RaShellFlip flip = {decision->key, option};
  g_autoptr(RaShellRun) run = ra_shell_run(shell, sets, &flip, NULL);
  g_autoptr(GHashTable) other = run ? values_of(run) : NULL;
  g_autofree char *text = NULL;

  if (run)
    *n_steps += run->n_steps;
  if (!other || g_hash_table_size(other) == 0)
    return;
  text = differences(own, other);
  for (char *c = text; c && *c; c++)
    *c = g_ascii_iscntrl(*c) ? ' ' : *c;
  if (text)
    g_ptr_array_add(
        settings->notes,
        g_strdup_printf("%s:%u: '%s' is known only when the script runs; "
                        "taken: %s; if %s: %s",
                        decision->file, decision->line, decision->what,
                        decision->options[decision->chosen],
                        decision->options[option], text));
}

static void
compare_decisions(RaSettings *settings, const RaShell *shell,
                  const RaShellRun *run, const char *const *sets)
{
  g_autoptr(GHashTable) own = values_of(run);
  guint n_flips = 0, n_steps = 0;

  for (guint i = 0; i < run->decisions->len; i++) {
    const RaShellDecision *decision = run->decisions->pdata[i];

    for (guint k = 0; k < decision->n_options; k++) {
      if (k == decision->chosen)
        continue;
      if (n_flips++ >= FLIPS_MAX || n_steps + run->n_steps > FLIP_STEPS) {
        g_ptr_array_add(settings->notes,
                        g_strdup_printf("%s:%u: this and later conditions are "
                                        "known only when the script runs; "
                                        "their other branches were not tried",
                                        decision->file, decision->line));
        return;
      }
      compare_option(settings, shell, sets, decision, k, own, &n_steps);
    }
  }
}

/* Overrides of keys that are no variables of the script. */
static gboolean
add_sets(RaSettings *settings, const char *const *sets, const RaShellRun *run,
         GError **error)
{
  for (guint i = 0; sets && sets[i]; i++) {
    g_autofree char *key = NULL;
    const char *value;

    if (ra_launch_override(sets[i], &key, &value) &&
        !g_hash_table_contains(settings->last, key) &&
        g_hash_table_contains(run->used, key))
      continue;
    if (!ra_settings_add_set(settings, sets[i], error))
      return FALSE;
  }
  return TRUE;
}

gboolean
ra_settings_read_script(RaSettings *settings, const char *text, gsize n_bytes,
                        const char *const *sets, GError **error)
{
  g_autoptr(RaShell) shell =
      ra_shell_parse(settings->name, text, n_bytes, error);
  g_autoptr(RaShellRun) run =
      shell ? ra_shell_run(shell, sets, NULL, error) : NULL;
  g_autoptr(RaLaunch) launch = NULL;

  if (!run)
    return FALSE;
  for (guint i = 0; i < run->notes->len; i++)
    ra_settings_note(settings, "%s", (const char *)run->notes->pdata[i]);
  launch = ra_launch_find(run, settings->notes);
  if (!launch) {
    g_autofree char *end =
        run->end_line > 0
            ? g_strdup_printf(" before the script ends in line %u",
                              run->end_line)
            : g_strdup("");

    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no training program is started%s, expected a command "
                "such as 'python3 -m PROGRAM key=value'",
                settings->name, end);
    return FALSE;
  }
  settings->entry = entry_of(launch);
  if (!add_words(settings, launch, error) ||
      !add_flags(settings, launch, error) ||
      !add_sets(settings, sets, run, error))
    return FALSE;
  compare_decisions(settings, shell, run, sets);
  return TRUE;
}
