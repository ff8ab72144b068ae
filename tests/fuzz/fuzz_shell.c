/* Fuzz entry of launch scripts: parsed and evaluated, nothing is run.  What is
 * evaluated is evaluated the same again, and every text of it is UTF-8 without
 * the marks of regions. */
#include "config.h"

#include "study/shell/launch.h"
#include "study/shell/shell.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static void
check_text(const char *text)
{
  g_autofree char *plain = ra_shell_plain(text);

  g_assert(g_utf8_validate(plain, -1, NULL));
  g_assert(!strchr(plain, RA_SHELL_BEGIN) && !strchr(plain, RA_SHELL_END));
}

static void
check_run(const RaShell *shell, const RaShellRun *run)
{
  g_autoptr(RaShellRun) again = ra_shell_run(shell, NULL, NULL, NULL);
  g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(RaLaunch) launch = ra_launch_find(run, notes);

  g_assert(again && again->n_steps == run->n_steps);
  g_assert(again->commands->len == run->commands->len);
  for (guint i = 0; i < run->commands->len; i++) {
    const RaShellCommand *command = run->commands->pdata[i];

    g_assert(command->n_words > 0 && command->line > 0);
    for (guint k = 0; k < command->n_words; k++)
      check_text(command->words[k].text);
  }
  for (guint i = 0; i < run->decisions->len && i < 4; i++) {
    const RaShellDecision *decision = run->decisions->pdata[i];
    RaShellFlip flip = {decision->key,
                        (decision->chosen + 1) % decision->n_options};
    g_autoptr(RaShellRun) other = ra_shell_run(shell, NULL, &flip, NULL);

    g_assert(decision->chosen < decision->n_options);
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  g_autofree char *text = g_strndup((const char *)data, size);
  GError *error = NULL;
  g_autoptr(RaShell) shell =
      ra_shell_parse("run.sh", text, strlen(text), &error);
  g_autoptr(RaShellRun) run = NULL;

  fuzz_accepted = FALSE;
  if (!fuzz_check_error(shell != NULL, error))
    return 0;
  run = ra_shell_run(shell, NULL, NULL, &error);
  fuzz_accepted = run != NULL;
  if (fuzz_check_error(fuzz_accepted, error))
    check_run(shell, run);
  return 0;
}
