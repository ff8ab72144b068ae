/* Prints the commands that a script would run, as the shell's evaluator sees
 * them: a line each, its words in angle brackets.  --launch: the settings of
 * its launch instead, and the notes.  The helper of shell_bash.sh. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "study/convert/setting.h"
#include "study/shell/shell.h"

static int
fail(GError *error)
{
  fprintf(stderr, "%s\n", error->message);
  g_error_free(error);
  return 2;
}

static int
print_launch(const char *path, const char *const *sets)
{
  GError *error = NULL;
  g_autoptr(RaSettings) s = ra_settings_load_with(path, sets, &error);
  const GPtrArray *notes;

  if (!s)
    return fail(error);
  printf("entry\t%s\n", ra_settings_entry(s));
  for (guint i = 0; i < ra_settings_n(s); i++) {
    const RaSetting *setting = ra_settings_at(s, i);

    if (setting->state != RA_SETTING_REPLACED)
      printf("%s\t%s\t%s%s\n", setting->place, setting->key, setting->value,
             setting->is_unknown ? "\tunknown" : "");
  }
  notes = ra_settings_notes(s);
  for (guint i = 0; i < notes->len; i++)
    printf("note\t%s\n", (const char *)notes->pdata[i]);
  return 0;
}

static int
print_words(const char *path)
{
  GError *error = NULL;
  g_autofree char *text = NULL;
  g_autoptr(RaShell) shell = NULL;
  g_autoptr(RaShellRun) run = NULL;
  gsize n_bytes;

  if (!ra_file_read(path, 4u << 20, &text, &n_bytes, &error))
    return fail(error);
  shell = ra_shell_parse(path, text, n_bytes, &error);
  if (shell)
    run = ra_shell_run(shell, NULL, NULL, &error);
  if (!run)
    return fail(error);
  for (guint i = 0; i < run->commands->len; i++) {
    const RaShellCommand *command = run->commands->pdata[i];

    for (guint k = 1; k < command->n_words; k++) {
      g_autofree char *plain = ra_shell_plain(command->words[k].text);

      printf("<%s>", plain);
    }
    printf("\n");
  }
  return 0;
}

int
main(int argc, char **argv)
{
  if (argc >= 3 && strcmp(argv[1], "--launch") == 0)
    return print_launch(argv[2], (const char *const *)argv + 3);
  if (argc == 2)
    return print_words(argv[1]);
  fprintf(stderr, "usage: shell_words [--launch] FILE [KEY=VALUE ...]\n");
  return 2;
}
