/* reallot: finds the subcommand and turns errors into exit statuses. */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/backend.h"
#include "cli/commands.h"
#include "cli/fatal.h"
#include "cli/output.h"
#include "cli/world.h"

#define STACK_BYTES_MIN (2 << 20) /* a quarter of what Linux gives */

static const RaCommand *const commands[] = {
    &ra_command_simulate,   &ra_command_inspect, &ra_command_graph,
    &ra_command_plan,       &ra_command_search,  &ra_command_study,
    &ra_command_plot,       &ra_command_trace,   &ra_command_calibrate,
    &ra_command_validate,   &ra_command_run,     &ra_command_compare,
    &ra_command_import,     &ra_command_export,  &ra_command_report,
    &ra_command_new,        &ra_command_list,    &ra_command_keys,
    &ra_command_import_log, &ra_command_tune,    &ra_command_diff,
};

static const char examples[] =
    "Examples:\n"
    "  reallot simulate ppo-llama3-70b-128.plan\n"
    "  reallot plot ppo-llama3-70b-128.plan -o ppo.svg\n\n"
    "Exit status: 0 success, 1 negative answer (the plan does not fit), 2 "
    "wrong input,\n"
    "3 no device or driver, 4 device failure.\n\n"
    "'reallot help COMMAND' describes a command, 'man reallot-COMMAND' in "
    "detail, and\n"
    "'man reallot-files' the files.\n";

static const RaCommand *
find_command(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
    if (g_str_equal(commands[i]->name, name))
      return commands[i];
  }
  return NULL;
}

static gboolean
print_help(GError **error)
{
  g_autoptr(GString) out =
      g_string_new("Usage:\n"
                   "  reallot COMMAND [OPTION...] FILE...\n"
                   "\n"
                   "Simulates RLHF and RL post-training on GPU clusters.\n"
                   "\n"
                   "Commands:\n");

  for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
    g_string_append_printf(out, "  %-12s%s\n", commands[i]->name,
                           commands[i]->summary);
  g_string_append_printf(out, "  %-12s%s\n", "help",
                         "Describe a command and its options");
  g_string_append(out, "\n"
                       "Options:\n"
                       "  -h, --help  Show this help\n"
                       "  --version   Show the version\n"
                       "\n");
  g_string_append(out, examples);
  return ra_output_print(out->str, out->len, error);
}

static gboolean
print_version(GError **error)
{
  const char *libraries = ra_accelerator_libraries();
  g_autofree char *version = g_strdup_printf(
      PACKAGE_NAME " " PACKAGE_VERSION "%s%s%s\n", libraries ? " (" : "",
      libraries ? libraries : "", libraries ? ")" : "");

  return ra_output_print(version, strlen(version), error);
}

static void
fail_unknown(const char *word, GError **error)
{
  const char *names[G_N_ELEMENTS(commands) + 4];
  guint n = 0;
  const char *near;

  for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
    names[n++] = commands[i]->name;
  names[n++] = "help";
  names[n++] = "--help";
  names[n++] = "--version";
  names[n] = NULL;
  near = ra_text_nearest(word, names);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "unknown %s '%s'%s%s%s",
              *word == '-' ? "option" : "command", word,
              near ? ", did you mean '" : ", try 'reallot --help'",
              near ? near : "", near ? "'?" : "");
}

/* `reallot-cuda --selftest [--seed=N]`: whether a machine is fit. */
static gboolean
selftest(char **argv, GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);
  uint64_t seed = 0;

  if (argv[1] && (argv[2] || !g_str_has_prefix(argv[1], "--seed="))) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "unexpected argument '%s', expected --selftest [--seed=N]",
                argv[2] ? argv[2] : argv[1]);
    return FALSE;
  }
  return ra_option_uint64("--seed", argv[1] ? strchr(argv[1], '=') + 1 : NULL,
                          0, UINT32_MAX, &seed, error) &&
         ra_accelerator_selftest((guint32)seed, out, error) &&
         ra_output_print(out->str, out->len, error);
}

/* The status of a subcommand whose name is argv[0]. */
static int
run(int argc, char **argv, GError **error)
{
  const RaCommand *command = find_command(argv[0]);

  if (!command) {
    fail_unknown(argv[0], error);
    return 0;
  }
  return command->run(argc, argv, error);
}

static int
help(int argc, char **argv, GError **error)
{
  char *words[] = {NULL, (char *)"--help", NULL};

  if (argc > 2) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "unexpected argument '%s', expected 'reallot help COMMAND'",
                argv[2]);
    return 0;
  }
  if (argc < 2 || g_str_equal(argv[1], "help") ||
      g_str_equal(argv[1], "--help") || g_str_equal(argv[1], "-h")) {
    print_help(error);
    return 0;
  }
  words[0] = argv[1];
  return run(2, words, error);
}

/* A file that is opened gets the least free number: where a standard one is
 * closed, that would be taken for input or printed on.  /dev/null is put there,
 * for reading, so that what is printed is an error as before. */
static void
fill_standard(void)
{
  int fd;

  do
    fd = open("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0)
    close(fd);
}

/* Threads get the user's limit of a stack, on which ours may not find room. */
static void
raise_stacks(void)
{
#ifdef __GLIBC__
  pthread_attr_t attributes;
  size_t n_bytes;

  if (pthread_getattr_default_np(&attributes) != 0)
    return;
  if (pthread_attr_getstacksize(&attributes, &n_bytes) == 0 &&
      n_bytes < STACK_BYTES_MIN &&
      pthread_attr_setstacksize(&attributes, STACK_BYTES_MIN) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
#endif
}

int
main(int argc, char **argv)
{
  GError *error = NULL;
  const char *word = argc > 1 ? argv[1] : NULL;
  int status = 0;

  fill_standard();
  raise_stacks();
  ra_fatal_watch();
  /* A reader that has gone is an error like a full disk, but for that of
   * standard output (cli/output.c); so is a file that the user's limits forbid.
   */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  if (!word)
    g_set_error(&error, RA_ERROR, RA_ERROR_INPUT,
                "expected a command, try 'reallot --help'");
  else if (g_str_equal(word, "--help") || g_str_equal(word, "-h"))
    print_help(&error);
  else if (g_str_equal(word, "--version"))
    print_version(&error);
  else if (g_str_equal(word, "help"))
    status = help(argc - 1, argv + 1, &error);
  else if (g_str_equal(word, "--selftest") && ra_accelerator_backend())
    selftest(argv + 1, &error);
  else if (ra_cli_backend_begin(argv, &error) &&
           ra_cli_world_begin(word, argv, &error))
    status = run(argc - 1, argv + 1, &error);
  ra_cli_world_end(error);
  if (error) {
    status = ra_error_exit_status(error);
    ra_output_error(error);
    g_error_free(error);
  }
  return status;
}
