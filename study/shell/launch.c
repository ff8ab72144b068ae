/* Launch: commands unwrapped to the program of Python that they start. */
#include "config.h"

#include <string.h>

#include "study/shell/launch.h"

/* Command lines of trainers, whose first argument names the trainer. */
static const char *const trainers[] = {"trl", "swift", "llamafactory-cli",
                                       "axolotl", NULL};

/* Programs that start others; how their own flags are gone behind. */
typedef enum {
  NO_WRAPPER,
  PREFIX,   /* words up to the next that starts something */
  LAUNCHER, /* PREFIX, and its flags say how many GPUs there are */
  SPREADER, /* flags, then a script or -m MODULE: torchrun */
  PYTHON
} Kind;

static const struct {
  const char *name;
  Kind kind;
  const char *second; /* nullable: must be among its words */
} programs[] = {
    /* clang-format off */
    {"env", PREFIX, NULL},       {"nohup", PREFIX, NULL},
    {"exec", PREFIX, NULL},      {"time", PREFIX, NULL},
    {"sudo", PREFIX, NULL},      {"stdbuf", PREFIX, NULL},
    {"numactl", PREFIX, NULL},   {"nice", PREFIX, NULL},
    {"ionice", PREFIX, NULL},    {"timeout", PREFIX, NULL},
    {"setsid", PREFIX, NULL},    {"taskset", PREFIX, NULL},
    {"unbuffer", PREFIX, NULL},  {"nsys", PREFIX, "profile"},
    {"uv", PREFIX, "run"},       {"poetry", PREFIX, "run"},
    {"conda", PREFIX, "run"},    {"pdm", PREFIX, "run"},
    {"pixi", PREFIX, "run"},     {"ray", PREFIX, "submit"},
    {"docker", PREFIX, NULL},    {"podman", PREFIX, NULL},
    {"singularity", PREFIX, NULL}, {"apptainer", PREFIX, NULL},
    {"ssh", PREFIX, NULL},       {"pdsh", PREFIX, NULL},
    {"srun", LAUNCHER, NULL},    {"mpirun", LAUNCHER, NULL},
    {"mpiexec", LAUNCHER, NULL}, {"horovodrun", LAUNCHER, NULL},
    {"sbatch", LAUNCHER, NULL},
    {"torchrun", SPREADER, NULL}, {"deepspeed", SPREADER, NULL},
    {"accelerate", SPREADER, "launch"},
    {"bash", PREFIX, NULL},      {"sh", PREFIX, NULL},
    {"zsh", PREFIX, NULL},
    /* clang-format on */
};

/* Modules of Python that are no training. */
static const char *const other_modules[] = {
    "pip", "venv", "ensurepip",      "http.server", "build",
    "ray", "site", "trl vllm-serve", NULL};

typedef struct {
  const RaShellWord *words;
  guint at, n;
  RaLaunch *launch; /* nullable: flags are not kept */
} Unwrap;

static const char *
base_of(const char *word)
{
  const char *slash = strrchr(word, '/');

  return slash ? slash + 1 : word;
}

static gboolean
is_python(const char *word)
{
  const char *base = base_of(word);

  return g_str_has_prefix(base, "python") &&
         strspn(base + 6, "0123456789.") == strlen(base + 6);
}

static gboolean
is_script(const char *word)
{
  return g_str_has_suffix(word, ".py") && !strpbrk(word, " \n=");
}

/* `$PYTHON x.py`, `/isaac/python.sh -m a.b`: named otherwise. */
static gboolean
is_other_python(const char *word, const RaShellWord *next, guint n)
{
  if (*word == RA_SHELL_BEGIN && is_script(next->text))
    return TRUE;
  return g_str_equal(next->text, "-m") && n > 1 && *word != '-' &&
         strchr(next[1].text, '.') && !strpbrk(next[1].text, " =/") &&
         !g_str_equal(base_of(word), "run");
}

static Kind
kind_of(const Unwrap *u, guint at)
{
  const char *word = u->words[at].text, *base = base_of(word);

  if (is_python(word))
    return PYTHON;
  if (at + 1 < u->n && is_other_python(word, u->words + at + 1, u->n - at - 1))
    return PYTHON;
  for (guint i = 0; i < G_N_ELEMENTS(programs); i++) {
    if (!g_str_equal(base, programs[i].name))
      continue;
    for (guint k = at + 1; programs[i].second && k < u->n; k++) {
      if (g_str_equal(u->words[k].text, programs[i].second))
        return programs[i].kind;
    }
    return programs[i].second ? NO_WRAPPER : programs[i].kind;
  }
  return NO_WRAPPER;
}

/* ---- Flags of launchers -------------------------------------------------- */

static void
keep_flag(Unwrap *u, const char *name, gsize n, const RaShellWord *word,
          const char *value)
{
  RaLaunchFlag flag = {NULL, *word, g_strdup(value)};

  if (u->launch) {
    flag.key = g_strndup(name, n);
    flag.word.text = flag.text;
    g_strdelimit(flag.key, "-", '_');
    g_array_append_val(u->launch->flags, flag);
  } else {
    g_free(flag.text);
  }
}

static gboolean
is_flag(const Unwrap *u, guint at)
{
  return at < u->n && *u->words[at].text == '-';
}

/* The flag at u->at, with its value. */
static void
take_flag(Unwrap *u)
{
  const RaShellWord *word = &u->words[u->at++];
  const char *name = word->text + 1, *equals = strchr(word->text, '=');
  const char *value = u->at < u->n ? u->words[u->at].text : "-";

  name += *name == '-';
  if (!*name)
    return;
  if (equals) {
    keep_flag(u, name, (gsize)(equals - name), word, equals + 1);
  } else if (*value == '-' || is_script(value) ||
             kind_of(u, u->at) != NO_WRAPPER) {
    keep_flag(u, name, strlen(name), word, "true");
  } else {
    keep_flag(u, name, strlen(name), word, value);
    u->at++;
  }
}

/* ---- Unwrapping ---------------------------------------------------------- */

/* Goes to the next word that starts something; FALSE: there is none. */
static gboolean
skip_prefix(Unwrap *u, gboolean keeps)
{
  gboolean is_uv = g_str_equal(base_of(u->words[u->at].text), "uv");

  u->at++;
  while (u->at < u->n) {
    const char *word = u->words[u->at].text;

    if (is_script(word) || kind_of(u, u->at) != NO_WRAPPER ||
        g_strv_contains(trainers, word) ||
        (is_uv && (g_str_equal(word, "-m") || g_str_equal(word, "--module"))))
      return TRUE;
    if (keeps && is_flag(u, u->at))
      take_flag(u);
    else
      u->at++;
  }
  return FALSE;
}

/* The entry behind the flags of torchrun and its like. */
static gboolean
skip_spreader(Unwrap *u)
{
  gboolean is_accelerate =
      g_str_equal(base_of(u->words[u->at].text), "accelerate");

  u->at++;
  if (is_accelerate && u->at < u->n &&
      g_str_equal(u->words[u->at].text, "launch"))
    u->at++;
  while (is_flag(u, u->at)) {
    const char *word = u->words[u->at].text;

    if (g_str_equal(word, "-m") || g_str_equal(word, "--module") ||
        g_str_equal(word, "--standalone") || g_str_equal(word, "--no_python") ||
        g_str_equal(word, "--no-python") || g_str_equal(word, "--multi_gpu") ||
        g_str_equal(word, "--use_deepspeed"))
      u->at++;
    else
      take_flag(u);
  }
  return u->at < u->n;
}

/* Behind `python`: its script or module; FALSE: it has none. */
static gboolean
skip_python(Unwrap *u)
{
  u->at++;
  while (is_flag(u, u->at)) {
    const char *word = u->words[u->at].text;

    if (g_str_equal(word, "-c") || !word[1])
      return FALSE;
    u->at++;
    if (g_str_equal(word, "-m"))
      break;
    if (g_str_has_prefix(word, "-m")) {
      u->at--;
      break;
    }
    if (g_str_equal(word, "-X") || g_str_equal(word, "-W"))
      u->at++;
  }
  return u->at < u->n;
}

/* Goes to the entry; FALSE: it starts no program of Python. */
static gboolean
unwrap(Unwrap *u)
{
  for (guint i = 0; i < 16 && u->at < u->n; i++) {
    const char *word = u->words[u->at].text;
    Kind kind = kind_of(u, u->at);

    if (is_script(word))
      return TRUE;
    if (g_str_equal(word, "-m") || g_str_equal(word, "--module")) {
      u->at++;
      return u->at < u->n;
    }
    if (kind == NO_WRAPPER)
      return g_strv_contains(trainers, base_of(word));
    if (kind == LAUNCHER || kind == SPREADER)
      keep_flag(u, "program", 7, &u->words[u->at], base_of(word));
    if (kind == SPREADER)
      return skip_spreader(u);
    if (kind == PYTHON) {
      if (!skip_python(u))
        return FALSE;
      word = u->words[u->at].text;
      if (!g_str_equal(word, "torch.distributed.run") &&
          !g_str_equal(word, "torch.distributed.launch") &&
          !g_str_equal(word, "accelerate.commands.launch"))
        return TRUE;
      keep_flag(u, "program", 7, &u->words[u->at], word);
      return skip_spreader(u);
    }
    if (!skip_prefix(u, kind == LAUNCHER))
      return FALSE;
  }
  return FALSE;
}

guint
ra_launch_shell(const RaShellWord *words, guint n)
{
  Unwrap u = {words, 0, n, NULL};

  for (guint i = 0; i < 16 && u.at < n; i++) {
    Kind kind = kind_of(&u, u.at);
    const char *base = base_of(words[u.at].text);
    gboolean is_shell = g_str_equal(base, "bash") || g_str_equal(base, "sh") ||
                        g_str_equal(base, "zsh");

    if (is_shell || g_str_equal(base, "sbatch")) {
      guint at = u.at + 1;

      while (at < n && *words[at].text == '-') {
        gboolean is_text =
            is_shell && words[at].text[1] != '-' && strchr(words[at].text, 'c');

        at++;
        if (is_text)
          return at;
      }
      return at;
    }
    if (g_str_has_suffix(base, ".sh") && kind != PYTHON)
      return u.at;
    if (g_str_equal(base, "ssh") && n > 2)
      return strchr(words[n - 1].text, ' ') ? n - 1 : n;
    if (kind != PREFIX && kind != LAUNCHER)
      return n;
    if (!skip_prefix(&u, FALSE))
      return n;
  }
  return n;
}

/* ---- Arguments ----------------------------------------------------------- */

gboolean
ra_launch_override(const char *text, char **out_key, const char **out_value)
{
  const char *begin = text, *end;
  gboolean is_deletion = *text == '~';

  while (*begin == '+' || *begin == '~')
    begin++;
  if (!g_ascii_isalpha(*begin) && *begin != '_')
    return FALSE;
  for (end = begin; g_ascii_isalnum(*end) || (*end && strchr("_.-/@", *end));)
    end++;
  if (*end != '=' && !(is_deletion && !*end))
    return FALSE;
  *out_key = g_strndup(begin, (gsize)(end - begin));
  *out_value = is_deletion ? NULL : end + 1;
  return TRUE;
}

static guint
count_settings(const RaLaunch *launch, gboolean dotted)
{
  guint n = 0;

  for (guint i = 0; i < launch->n_words; i++) {
    const char *text = launch->words[i].text, *value;
    g_autofree char *key = NULL;

    if (g_str_has_prefix(text, "--"))
      n += !dotted && text[2] != '\0';
    else if (ra_launch_override(text, &key, &value))
      n += !dotted || strchr(key, '.') != NULL;
  }
  return n;
}

static void
free_flag(gpointer data)
{
  RaLaunchFlag *flag = data;

  g_free(flag->key);
  g_free(flag->text);
}

void
ra_launch_free(RaLaunch *launch)
{
  if (!launch)
    return;
  g_free(launch->entry);
  g_array_unref(launch->flags);
  g_free(launch);
}

/* TRUE if the word at @at is letters, underscores and dashes inside alone. */
static gboolean
is_plain_word(const Unwrap *u, guint at)
{
  const char *text = u->words[at].text;

  return g_ascii_isalpha(*text) &&
         strspn(text, "abcdefghijklmnopqrstuvwxyz_-") == strlen(text);
}

static RaLaunch *
launch_of(const RaShellCommand *command)
{
  g_autoptr(RaLaunch) launch = g_new0(RaLaunch, 1);
  Unwrap u = {command->words, 0, command->n_words, launch};
  gboolean is_program;

  launch->flags = g_array_new(FALSE, FALSE, sizeof(RaLaunchFlag));
  g_array_set_clear_func(launch->flags, free_flag);
  launch->file = command->file;
  launch->line = command->line;
  launch->is_program = is_program = unwrap(&u);
  if (!is_program)
    u.at = 0;
  launch->entry = ra_shell_plain(command->words[u.at].text);
  if (is_program && g_str_has_prefix(launch->entry, "-m")) {
    char *module = g_strdup(launch->entry + 2);

    g_free(launch->entry);
    launch->entry = module;
  }
  if (is_program && g_strv_contains(other_modules, launch->entry))
    return NULL;
  /* `trl grpo`, `realhf.apps.quickstart ppo`: a word of letters names what the
   * program does. */
  if (is_program && u.at + 1 < u.n && is_plain_word(&u, u.at + 1)) {
    g_autofree char *program = launch->entry;
    g_autofree char *name = ra_shell_plain(command->words[++u.at].text);

    launch->entry = g_strdup_printf("%s %s", base_of(program), name);
    if (g_strv_contains(other_modules, launch->entry))
      return NULL;
  }
  launch->words = command->words + u.at + 1;
  launch->n_words = command->n_words - u.at - 1;
  launch->n_settings = count_settings(launch, FALSE);
  if (!is_program &&
      (count_settings(launch, TRUE) == 0 || kind_of(&u, 0) != NO_WRAPPER))
    return NULL;
  return g_steal_pointer(&launch);
}

/* One line: the launches that are not taken. */
static void
tell_others(const RaShellRun *run, const RaLaunch *taken, GPtrArray *notes)
{
  g_autoptr(GString) others = g_string_new(NULL);
  guint n_here = 0, n_others = 0;

  for (guint i = 0; i < run->commands->len; i++) {
    const RaShellCommand *command = run->commands->pdata[i];
    g_autoptr(RaLaunch) launch = launch_of(command);

    if (!launch)
      continue;
    if (launch->line == taken->line && g_str_equal(launch->file, taken->file)) {
      n_here++;
      continue;
    }
    if (!launch->is_program && strchr(launch->entry, '=')) {
      g_ptr_array_add(
          notes, g_strdup_printf("%s:%u: '%s' begins a command of its "
                                 "own, as no '\\' ends the line before; "
                                 "not read",
                                 launch->file, launch->line, launch->entry));
      continue;
    }
    if (launch->n_settings > 0 && ++n_others <= 5)
      g_string_append_printf(others, "%s'%s' (line %u)",
                             others->len ? ", " : "", launch->entry,
                             launch->line);
  }
  if (n_here > 1)
    g_ptr_array_add(
        notes, g_strdup_printf("%s:%u: '%s' is started %u times here; "
                               "one of them is taken",
                               taken->file, taken->line, taken->entry, n_here));
  if (n_others > 0)
    g_ptr_array_add(
        notes, g_strdup_printf("%s:%u: '%s' is taken; the script starts %s%s, "
                               "too",
                               taken->file, taken->line, taken->entry,
                               others->str, n_others > 5 ? " and others" : ""));
}

RaLaunch *
ra_launch_find(const RaShellRun *run, GPtrArray *notes)
{
  g_autoptr(RaLaunch) best = NULL;

  for (guint i = 0; i < run->commands->len; i++) {
    g_autoptr(RaLaunch) launch = launch_of(run->commands->pdata[i]);

    if (launch && (!best || launch->is_program > best->is_program ||
                   (launch->is_program == best->is_program &&
                    launch->n_settings >= best->n_settings))) {
      ra_launch_free(best);
      best = g_steal_pointer(&launch);
    }
  }
  if (best && notes)
    tell_others(run, best, notes);
  return g_steal_pointer(&best);
}
