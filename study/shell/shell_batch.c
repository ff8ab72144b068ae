/* The environment that a batch system gives a script: variables that Slurm
 * sets from the `#SBATCH` lines on top (man sbatch, "OUTPUT ENVIRONMENT
 * VARIABLES"). */
#include "config.h"

#include "study/shell/shell_impl.h"

static const struct {
  const char *flag;
  char letter; /* '\0': none */
  const char *name;
} rows[] = {
    /* clang-format off */
    {"nodes",           'N',  "SLURM_JOB_NUM_NODES"},
    {"nodes",           'N',  "SLURM_NNODES"},
    {"ntasks",          'n',  "SLURM_NTASKS"},
    {"ntasks-per-node", '\0', "SLURM_NTASKS_PER_NODE"},
    {"cpus-per-task",   'c',  "SLURM_CPUS_PER_TASK"},
    {"gres",            '\0', "SLURM_GPUS_ON_NODE"},
    {"gpus-per-node",   '\0', "SLURM_GPUS_ON_NODE"},
    {"gpus-per-node",   '\0', "SLURM_GPUS_PER_NODE"},
    /* clang-format on */
};

/* Value of the flag of row @i in the words @text of a line; NULL: it has none.
 */
static const char *
value_of(guint i, const char *text)
{
  gsize n = strlen(rows[i].flag);

  if (g_str_has_prefix(text, "--") && strncmp(text + 2, rows[i].flag, n) == 0 &&
      strchr("= \t", text[2 + n]) && text[2 + n])
    text += 2 + n + 1;
  else if (rows[i].letter && text[0] == '-' && text[1] == rows[i].letter)
    text += 2;
  else
    return NULL;
  while (*text == ' ' || *text == '\t' || *text == '=')
    text++;
  return text;
}

/* One line behind `#SBATCH`; kinds of GPUs (`gpu:h100:8`) are left out, and
 * ranges of nodes (`2-4`) not read. */
static void
take_line(RaShellEval *e, const char *line)
{
  g_autofree char *text = g_strstrip(g_strdup(line));

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const char *value = value_of(i, text);
    const char *colon;
    gsize n = value ? strcspn(value, " \t#,") : 0;
    g_autofree char *word = g_strndup(value ? value : "", n);

    if (g_str_equal(rows[i].flag, "gres") && !g_str_has_prefix(word, "gpu"))
      continue;
    colon = strrchr(word, ':');
    colon = colon ? colon + 1 : word;
    if (*colon && strspn(colon, "0123456789") == strlen(colon))
      ra_shell_set_text(e, rows[i].name, colon);
  }
}

void
ra_shell_batch(RaShellEval *e, const char *text)
{
  static const char mark[] = "#SBATCH";

  while (*text == '#' || g_ascii_isspace(*text)) {
    gsize n = strcspn(text, "\n");
    g_autofree char *line = g_strndup(text, n);

    if (g_str_has_prefix(line, mark))
      take_line(e, line + strlen(mark));
    text += n + (text[n] == '\n');
  }
}
