/* Options shared by the subcommands: parsing, checks, help. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/output.h"
#include "study/plot/picture.h"

static const char *const format_words[] = {"text", "tsv", "json", NULL};
static const char *const fidelity_words[] = {"call", "stage", "op", NULL};
static const char *const network_words[] = {"off", "flows", NULL};
static const char *const estimator_words[] = {"reallot", "real", NULL};

/* The flags as they are typed; what is not given is NULL. */
typedef struct {
  char *format, *seed, *fidelity, *iterations, *estimator, *network; /* owned */
} Texts;

static void
texts_clear(Texts *texts)
{
  g_free(texts->format);
  g_free(texts->seed);
  g_free(texts->fidelity);
  g_free(texts->network);
  g_free(texts->iterations);
  g_free(texts->estimator);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

gboolean
ra_option_uint64(const char *flag, const char *text, uint64_t min, uint64_t max,
                 uint64_t *out_value, GError **error)
{
  uint64_t value;

  if (!text)
    return TRUE;
  if (ra_text_uint64(text, &value) && value >= min && value <= max) {
    *out_value = value;
    return TRUE;
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: '%s' is not a whole number from %" G_GUINT64_FORMAT
              " to %" G_GUINT64_FORMAT,
              flag, text, min, max);
  return FALSE;
}

gboolean
ra_option_sizes(const char *flag, const char *text, uint32_t *out, guint *out_n,
                GError **error)
{
  g_auto(GStrv) words = NULL;

  if (!text)
    return TRUE;
  words = g_strsplit(*text ? text : "?", ",", -1); /* of "" it has none */
  for (guint i = 0; words[i]; i++) {
    uint64_t value;

    if (i == RA_OPTION_SIZES_MAX || !ra_text_uint64(words[i], &value) ||
        value < 1 || value > UINT32_MAX || (i > 0 && value <= out[i - 1])) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s: '%s' is not a list of sizes, expected up to %d "
                  "whole numbers in ascending order, such as 2,4,8",
                  flag, text, RA_OPTION_SIZES_MAX);
      return FALSE;
    }
    out[(*out_n)++] = (uint32_t)value;
  }
  return TRUE;
}

gboolean
ra_option_file(const char *flag, const char *text, GError **error)
{
  if (!text || *text)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: expected a file name",
              flag);
  return FALSE;
}

gboolean
ra_option_seconds(const char *flag, const char *text, double *out_value_s,
                  GError **error)
{
  double value_s;

  if (!text)
    return TRUE;
  if ((ra_text_double(text, &value_s) ||
       ra_quantity_parse(text, RA_UNIT_SECONDS, &value_s, NULL)) &&
      value_s >= 0) {
    *out_value_s = value_s;
    return TRUE;
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: '%s' is not a time, expected seconds such as 12.5, or a "
              "number with one of %s",
              flag, text, ra_unit_accepted(RA_UNIT_SECONDS));
  return FALSE;
}

gboolean
ra_option_word(const char *flag, const char *text, const char *const *words,
               int *out_index, GError **error)
{
  g_autofree char *all = NULL;
  const char *near;

  if (!text)
    return TRUE;
  for (int i = 0; words[i]; i++) {
    if (g_str_equal(text, words[i])) {
      *out_index = i;
      return TRUE;
    }
  }
  all = g_strjoinv(", ", (char **)words);
  near = ra_text_nearest(text, words);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: unknown value '%s', expected one of %s%s%s%s", flag, text,
              all, near ? ", did you mean '" : "", near ? near : "",
              near ? "'?" : "");
  return FALSE;
}

static void
add_setup(GOptionGroup *group, RaOptions *options)
{
  const GOptionEntry entries[] = {
      {"set", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->sets,
       "Override a value of a file; repeatable", "GROUP.KEY=VALUE"},
      {"workload", 0, 0, G_OPTION_ARG_FILENAME, &options->workload,
       "Workload instead of the plan's", "FILE"},
      {"cluster", 0, 0, G_OPTION_ARG_FILENAME, &options->cluster,
       "Cluster instead of the plan's", "FILE"},
      {"profile", 0, 0, G_OPTION_ARG_FILENAME, &options->profile,
       "GPU profile instead of the cluster's", "FILE"},
      {"system", 0, 0, G_OPTION_ARG_FILENAME, &options->system,
       "System profile instead of the plan's", "FILE"},
      {.long_name = NULL}};

  g_option_group_add_entries(group, entries);
}

static void
add_groups(GOptionGroup *group, const RaCommand *command, RaOptions *options,
           Texts *texts)
{
  const GOptionEntry help[] = {{"help", 'h', 0, G_OPTION_ARG_NONE,
                                &options->help, "Show this help", NULL},
                               {.long_name = NULL}};
  const GOptionEntry format[] = {
      {"format", 'f', 0, G_OPTION_ARG_FILENAME, &texts->format,
       "Output format: text, tsv or json (default: text)", "FORMAT"},
      {.long_name = NULL}};
  const GOptionEntry run[] = {
      {"seed", 0, 0, G_OPTION_ARG_FILENAME, &texts->seed,
       "Seed of the sampled lengths (default: 0)", "N"},
      {"fidelity", 0, 0, G_OPTION_ARG_FILENAME, &texts->fidelity,
       "Level of detail: call, stage or op (default: stage)", "LEVEL"},
      {"network", 0, 0, G_OPTION_ARG_FILENAME, &texts->network,
       "Contention for links: off or flows (default: off)", "NAME"},
      {"estimator", 0, 0, G_OPTION_ARG_FILENAME, &texts->estimator,
       "Estimator: reallot, or ReaL's own, real, at call fidelity (default: "
       "reallot)",
       "NAME"},
      {.long_name = NULL}};
  const GOptionEntry iterations[] = {
      {"iterations", 'n', 0, G_OPTION_ARG_FILENAME, &texts->iterations,
       command->n_iterations == 2 ? "Number of iterations (default: 2)"
                                  : "Number of iterations (default: 3)",
       "N"},
      {.long_name = NULL}};
  const GOptionEntry output[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
       "Output file (default: standard output)", "FILE"},
      {.long_name = NULL}};

  if (command->groups & RA_OPTIONS_FORMAT)
    g_option_group_add_entries(group, format);
  if (command->groups & RA_OPTIONS_OUTPUT)
    g_option_group_add_entries(group, output);
  if (command->groups & RA_OPTIONS_ITERATIONS)
    g_option_group_add_entries(group, iterations);
  if (command->groups & RA_OPTIONS_RUN)
    g_option_group_add_entries(group, run);
  if (command->groups & RA_OPTIONS_SETUP)
    add_setup(group, options);
  g_option_group_add_entries(group, help);
}

/* GLib says "Unknown option --seeed"; here errors begin in lower case, quote
 * their subject and suggest. */
static void
translate_error(const GOptionEntry *own, const RaCommand *command,
                const GError *cause, GError **error)
{
  static const char *const shared[] = {
      "--help",     "--format",  "--output",   "--iterations", "--seed",
      "--fidelity", "--network", "--set",      "--workload",   "--cluster",
      "--profile",  "--system",  "--estimator"};
  static const guint groups[] = {0,
                                 RA_OPTIONS_FORMAT,
                                 RA_OPTIONS_OUTPUT,
                                 RA_OPTIONS_ITERATIONS,
                                 RA_OPTIONS_RUN,
                                 RA_OPTIONS_RUN,
                                 RA_OPTIONS_RUN,
                                 RA_OPTIONS_SETUP,
                                 RA_OPTIONS_SETUP,
                                 RA_OPTIONS_SETUP,
                                 RA_OPTIONS_SETUP,
                                 RA_OPTIONS_SETUP,
                                 RA_OPTIONS_RUN};
  static const char unknown[] = "Unknown option ";
  g_autoptr(GPtrArray) flags = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *flag = NULL;
  const char *near;

  if (!g_str_has_prefix(cause->message, unknown)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%c%s",
                g_ascii_tolower(cause->message[0]), cause->message + 1);
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS(shared); i++) {
    if (groups[i] == 0 || (groups[i] & command->groups))
      g_ptr_array_add(flags, g_strdup(shared[i]));
  }
  for (; own && own->long_name; own++)
    g_ptr_array_add(flags, g_strconcat("--", own->long_name, NULL));
  g_ptr_array_add(flags, NULL);
  flag = g_strdup(cause->message + strlen(unknown));
  flag[strcspn(flag, "=")] = '\0';
  near = ra_text_nearest(flag, (const char *const *)flags->pdata);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "unknown option '%s'%s%s%s",
              flag, near ? ", did you mean '" : ", try --help",
              near ? near : "", near ? "'?" : "");
}

/* From texts to values. */
static gboolean
read_texts(const Texts *texts, RaOptions *options, GError **error)
{
  int format = options->format, fidelity = options->fidelity;
  int estimator = options->real, network = options->flows;
  uint64_t n_iterations = options->n_iterations;

  if (!ra_option_word("--format", texts->format, format_words, &format,
                      error) ||
      !ra_option_uint64("--seed", texts->seed, 0, UINT64_MAX, &options->seed,
                        error) ||
      !ra_option_word("--fidelity", texts->fidelity, fidelity_words, &fidelity,
                      error) ||
      !ra_option_word("--network", texts->network, network_words, &network,
                      error) ||
      !ra_option_word("--estimator", texts->estimator, estimator_words,
                      &estimator, error) ||
      !ra_option_uint64("--iterations", texts->iterations, 1, RA_ITERATIONS_MAX,
                        &n_iterations, error))
    return FALSE;
  options->format = (RaFormat)format;
  options->fidelity = (RaFidelity)fidelity;
  options->real = estimator == 1;
  options->flows = network == 1;
  options->n_iterations = (uint32_t)n_iterations;
  return TRUE;
}

/* TRUE if a flag names an output file. */
static gboolean
is_output(const GOptionEntry *entry)
{
  static const char *const names[] = {"output", "trace", "data",
                                      "curve",  "plot",  NULL};

  return entry->arg == G_OPTION_ARG_FILENAME &&
         g_strv_contains(names, entry->long_name);
}

static gboolean
check_files(const RaOptions *options, const RaCommand *command, GError **error)
{
  guint n = options->files ? g_strv_length(options->files) : 0;

  if (!ra_option_file("--output", options->output, error) ||
      !ra_option_file("--workload", options->workload, error) ||
      !ra_option_file("--cluster", options->cluster, error) ||
      !ra_option_file("--profile", options->profile, error) ||
      !ra_option_file("--system", options->system, error))
    return FALSE;
  if (n >= command->n_files && n - command->n_files <= command->n_optional)
    return TRUE;
  if (n < command->n_files)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "expected 'reallot %s %s', try 'reallot %s --help'",
                command->name, command->arguments, command->name);
  else
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "unexpected argument '%s', expected 'reallot %s %s'",
                options->files[command->n_files + command->n_optional],
                command->name, command->arguments);
  return FALSE;
}

/* The file of the data beside a picture; NULL: @path is none. */
static char *
data_beside(const char *path)
{
  return ra_picture_terminal(path, 0, NULL, NULL) ? ra_picture_data_path(path)
                                                  : NULL;
}

/* Output files that flags name, and the .dat files of pictures. */
static char **
find_outputs(const RaOptions *options, const GOptionEntry *own)
{
  g_autoptr(GPtrArray) paths = g_ptr_array_new();
  const char *data = NULL;
  guint n;

  if (options->output)
    g_ptr_array_add(paths, g_strdup(options->output));
  for (; own && own->long_name; own++) {
    const char *path = is_output(own) ? *(char **)own->arg_data : NULL;

    if (path)
      g_ptr_array_add(paths, g_strdup(path));
    if (path && g_str_equal(own->long_name, "data"))
      data = path;
  }
  n = data ? 0 : paths->len; /* --data stands for the file beside */
  for (guint i = 0; i < n; i++) {
    char *beside = data_beside(paths->pdata[i]);

    if (beside)
      g_ptr_array_add(paths, beside);
  }
  g_ptr_array_add(paths, NULL);
  return (char **)g_ptr_array_steal(paths, NULL);
}

static gboolean
keep_all(char *const *paths, const RaOptions *options, GError **error)
{
  for (; paths && *paths; paths++)
    if (!ra_file_keep(*paths, (const char *const *)options->outputs, error))
      return FALSE;
  return TRUE;
}

/* No output replaces a file that the command line names as an input; those
 * that a plan names, ra_setup_load() keeps. */
static gboolean
keep_inputs(const RaOptions *options, const GOptionEntry *own, GError **error)
{
  char *const shared[] = {options->workload, options->cluster, options->profile,
                          options->system};

  if (!keep_all(options->files, options, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(shared); i++) {
    char *const one[] = {shared[i], NULL};

    if (!keep_all(one, options, error))
      return FALSE;
  }
  for (; own && own->long_name; own++) {
    char *const one[] = {
        own->arg == G_OPTION_ARG_FILENAME ? *(char **)own->arg_data : NULL,
        NULL};

    if (is_output(own))
      continue;
    if (!keep_all(own->arg == G_OPTION_ARG_FILENAME_ARRAY
                      ? *(char ***)own->arg_data
                      : one,
                  options, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
ra_options_parse(RaOptions *options, const RaCommand *command,
                 const GOptionEntry *own, int argc, char **argv, GError **error)
{
  g_autofree char *name = g_strdup_printf("reallot %s", command->name);
  g_autoptr(GOptionContext) context = g_option_context_new(command->arguments);
  g_auto(GStrv) words = g_new0(char *, (gsize)argc + 1);
  g_auto(Texts) texts = {NULL, NULL, NULL, NULL, NULL, NULL};
  const GOptionEntry rest[] = {{G_OPTION_REMAINING, 0, 0,
                                G_OPTION_ARG_FILENAME_ARRAY, &options->files,
                                NULL, NULL},
                               {.long_name = NULL}};
  GOptionGroup *group = g_option_group_new("main", "", "", NULL, NULL);
  GError *cause = NULL;

  if (command->n_iterations > 0)
    options->n_iterations = command->n_iterations;
  for (int i = 0; i < argc; i++)
    words[i] = g_strdup(i == 0 ? name : argv[i]);
  g_set_prgname(name);
  if (own)
    g_option_group_add_entries(group, own);
  add_groups(group, command, options, &texts);
  g_option_group_add_entries(group, rest);
  g_option_context_set_help_enabled(context, FALSE);
  g_option_context_set_main_group(context, group);
  g_option_context_set_summary(context, command->summary);
  g_option_context_set_description(context, command->details);
  if (!g_option_context_parse_strv(context, &words, &cause)) {
    translate_error(own, command, cause, error);
    g_error_free(cause);
    return FALSE;
  }
  if (options->help) {
    g_autofree char *help = g_option_context_get_help(context, TRUE, NULL);

    return ra_output_help(help, error);
  }
  if (!read_texts(&texts, options, error) ||
      !check_files(options, command, error))
    return FALSE;
  options->outputs = find_outputs(options, own);
  return keep_inputs(options, own, error);
}

void
ra_options_clear(RaOptions *options)
{
  g_strfreev(options->files);
  g_free(options->output);
  g_free(options->workload);
  g_free(options->cluster);
  g_free(options->profile);
  g_free(options->system);
  g_strfreev(options->sets);
  g_strfreev(options->outputs);
}

gboolean
ra_options_trace(const RaOptions *options, GError **error)
{
  const char *flag = options->sets       ? "--set"
                     : options->workload ? "--workload"
                     : options->cluster  ? "--cluster"
                     : options->profile  ? "--profile"
                                         : NULL;

  if (flag)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: expected a plan, found a trace", flag);
  return !flag;
}

RaSetupFlags
ra_options_setup(const RaOptions *options)
{
  return (RaSetupFlags){.workload = options->workload,
                        .cluster = options->cluster,
                        .profile = options->profile,
                        .system = options->system,
                        .real = options->real,
                        .sets = (const char *const *)options->sets,
                        .outputs = (const char *const *)options->outputs};
}

RaReplayOptions
ra_options_replay(const RaOptions *options)
{
  return (RaReplayOptions){.n_iterations = options->n_iterations,
                           .fidelity = options->fidelity,
                           .flows = options->flows,
                           .seed = options->seed};
}
