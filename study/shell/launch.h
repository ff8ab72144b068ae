/* Launch: the training program among the commands of a script.
 *
 * A command is unwrapped from what starts it (`uv run`, `ray job submit --`,
 * `torchrun`, `srun`, `env`, `nohup` ...) to the program of Python and its
 * arguments:
 *
 *     uv run --extra vllm python3 -m verl.trainer.main_ppo trainer.nnodes=2
 *     entry "verl.trainer.main_ppo", arguments trainer.nnodes=2
 *
 * Flags of wrappers are no arguments of the program.  Those of the wrappers
 * that start a process a GPU (torchrun, accelerate, deepspeed, srun, mpirun)
 * are kept apart, as they say how many GPUs there are; `program` is its name.
 */
#ifndef RA_STUDY_SHELL_LAUNCH_H
#define RA_STUDY_SHELL_LAUNCH_H

#include "study/shell/shell.h"

/* `nnodes` = `2` of `torchrun --nnodes=2`. */
typedef struct {
  char *key;        /* with underscores, owned */
  RaShellWord word; /* value; "true" for a switch */
  char *text;       /* owned, nullable: behind word.text */
} RaLaunchFlag;

typedef struct {
  char *entry;              /* "verl.trainer.main_ppo", "a.py", "trl grpo" */
  const RaShellWord *words; /* (array length=n_words) arguments, borrowed */
  guint n_words;
  guint n_settings;    /* of the arguments: overrides and flags */
  gboolean is_program; /* of Python, no other with arguments `a.b=c` */
  GArray *flags;       /* (element-type RaLaunchFlag) of the launcher */
  const char *file;
  guint line;
} RaLaunch;

void ra_launch_free(RaLaunch *launch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaLaunch, ra_launch_free)

/**
 * ra_launch_find:
 * @run: outlives the result
 * @notes: (nullable) (element-type utf8): gets a line if there are several
 *
 * Returns: (transfer full) (nullable): the program of Python (script or module)
 * with the most settings; of several, the last.  Without one, another program
 * with arguments `a.b=c`
 */
RaLaunch *ra_launch_find(const RaShellRun *run, GPtrArray *notes);

/* Index of the word that another shell runs: the text of `bash -c TEXT` and
 * `ssh HOST TEXT`, the file of `bash FILE`; @n: none. */
guint ra_launch_shell(const RaShellWord *words, guint n);

/* TRUE if @text is `a.b=c`, with `+`, `++` or `~` before it; the key is
 * @out_key (transfer full), the value @out_value (NULL: `~a.b`). */
gboolean ra_launch_override(const char *text, char **out_key,
                            const char **out_value);

#endif
