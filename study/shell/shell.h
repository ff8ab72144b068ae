/* Shell: what a bash script would run, found without running anything.
 *
 * A script is parsed to a tree and the tree is evaluated: assignments, arrays,
 * parameter expansion, arithmetic, tests, conditions, loops, functions,
 * `source` and here-documents.  A command that is no builtin is recorded with
 * its words; no process is started and no file is written.  The only files
 * that are read are those that the script sources or calls, next to it.
 *
 *     g_autoptr(RaShell) shell = ra_shell_parse("run.sh", text, n, &error);
 *     g_autoptr(RaShellRun) run = ra_shell_run(shell, NULL, NULL, &error);
 *     for (guint i = 0; i < run->commands->len; i++)
 *       look_at(run->commands->pdata[i]);
 *
 * Values that only a run could tell are *unknown*: `$1`, `$(nproc)`, variables
 * of the environment.  They stay in the text as regions
 *
 *     RA_SHELL_BEGIN expression [RA_SHELL_GUESS guess] RA_SHELL_END
 *
 * where the guess is the value if the environment has nothing (`$1` is empty,
 * `$#` is 0).  An empty expression, of `${A:-}`, reads as its guess, but a
 * condition on it is still a decision.
 * ra_shell_plain() makes them readable again.
 *
 * A condition on an unknown value is a decision: one branch is followed, and
 * the decision is listed.  ra_shell_run() can be told to decide one of them
 * otherwise, so that a caller can compare.  The branch that is followed is the
 * first of: the one that does not end the script, the one that starts a
 * program of Python, the one of the guess, `then`.
 *
 * Invariant: the same script, overrides and decision give the same run.
 * Debian has no C library that parses bash (mvdan/sh is Go, morbig OCaml).
 * Typical sizes: 50 to 500 lines, 20 to 300 words of the launch, 1 ms.
 */
#ifndef RA_STUDY_SHELL_SHELL_H
#define RA_STUDY_SHELL_SHELL_H

#include <glib.h>

#define RA_SHELL_BEGIN '\001'
#define RA_SHELL_GUESS '\002'
#define RA_SHELL_END '\003'

typedef struct _RaShell RaShell;

/* Word of a command, with the place that it was written at. */
typedef struct {
  const char *text; /* with regions */
  const char *file;
  guint line; /* from 1 */
} RaShellWord;

/* Command that is no builtin. */
typedef struct {
  RaShellWord *words; /* (array length=n_words) after expansion */
  guint n_words;      /* >= 1 */
  const char *file;
  guint line; /* of the command's first word */
} RaShellCommand;

/* Condition that is known only when the script runs. */
typedef struct {
  const char *key;      /* identity in other runs of the script */
  const char *what;     /* source of the condition, shortened */
  const char **options; /* (array length=n_options) "true", "false"; patterns */
  guint n_options;
  guint chosen;
  const char *file;
  guint line;
} RaShellDecision;

/* Result; its texts live as long as it and the shell do. */
typedef struct {
  GPtrArray *commands;  /* (element-type RaShellCommand) in order */
  GPtrArray *decisions; /* (element-type RaShellDecision) in order */
  GPtrArray *notes;     /* (element-type utf8) `file:line: ...`, owned */
  GHashTable *used;     /* names of variables that were read */
  guint n_steps;        /* that it took */
  guint end_line;       /* where it ends early; 0: it does not */
  struct _RaArena *arena;
} RaShellRun;

/* Decision that is made otherwise. */
typedef struct {
  const char *key;
  guint option;
} RaShellFlip;

/**
 * ra_shell_parse:
 * @name: path of the script, for messages, `$0` and what it sources
 * @text: at most 4 MiB of UTF-8; the output of `set -x` is a script, too
 * @error: %RA_ERROR_INPUT `name:line: ...`: no script, or nested deeper than
 *   200
 *
 * Returns: (transfer full): free with ra_shell_free()
 */
RaShell *ra_shell_parse(const char *name, const char *text, gsize n_bytes,
                        GError **error);
void ra_shell_free(RaShell *shell);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaShell, ra_shell_free)

/**
 * ra_shell_run:
 * @shell: must outlive the result
 * @sets: (nullable): NULL-terminated `NAME=VALUE`: variables that the script
 *   cannot change
 * @flip: (nullable): decision to make otherwise
 * @error: %RA_ERROR_INPUT `file:line: ...`: more than 10^6 steps, 64 MiB of
 *   values or 200 calls deep; files that source each other; a division by 0
 *
 * Returns: (transfer full): free with ra_shell_run_free()
 */
RaShellRun *ra_shell_run(const RaShell *shell, const char *const *sets,
                         const RaShellFlip *flip, GError **error);
void ra_shell_run_free(RaShellRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaShellRun, ra_shell_run_free)

/* Expression of an item that is any number of words, of array NAME: what `read
 * -a` splits of a command's output. */
#define RA_SHELL_WORDS "${%s[@]}"

/* TRUE if @text is such an item. */
gboolean ra_shell_is_words(const char *text);

/* TRUE if @text has a region with an expression. */
gboolean ra_shell_is_unknown(const char *text);

/* (transfer full): @text with the expressions of its regions. */
char *ra_shell_plain(const char *text);

#endif
