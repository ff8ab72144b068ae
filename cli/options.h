/* Options shared by the subcommands: one parser and one help for all.
 *
 * A subcommand lists its groups of flags and adds flags of its own.  Values are
 * checked strictly, and every error is one line, `--seed: 'x' is no whole
 * number, expected 0 to ...`.
 *
 *     RaOptions options = RA_OPTIONS_INIT;
 *     if (ra_options_parse(&options, command, own, argc, argv, &error) &&
 *         !options.help)
 *       use(options.files[0]);
 *     ra_options_clear(&options);
 */
#ifndef RA_CLI_OPTIONS_H
#define RA_CLI_OPTIONS_H

#include <glib.h>
#include <stdint.h>

#include "base/table.h"
#include "graph/expand/task.h"
#include "study/replay.h"
#include "study/setup.h"

/* Groups of flags. */
enum {
  RA_OPTIONS_FORMAT = 1 << 0,     /* --format */
  RA_OPTIONS_SETUP = 1 << 1,      /* --set --workload --cluster --profile
                                     --system */
  RA_OPTIONS_RUN = 1 << 2,        /* --seed --fidelity --network --estimator */
  RA_OPTIONS_ITERATIONS = 1 << 3, /* --iterations */
  RA_OPTIONS_OUTPUT = 1 << 4      /* --output */
};

/* A subcommand. */
typedef struct {
  const char *name;      /* as typed */
  const char *arguments; /* in its usage line: "PLAN" */
  const char *summary;   /* its purpose in one line */
  const char *details;   /* end of its help: examples */
  guint groups;          /* RA_OPTIONS_... that it has */
  guint n_files;         /* required files */
  guint n_optional;      /* optional files after them */
  guint n_iterations;    /* default of --iterations; 0: 3 */
  int (*run)(int argc, char **argv, GError **error); /* the exit status; a
                                                        set @error tells it
                                                        instead */
} RaCommand;

typedef struct {
  gboolean help;         /* --help was given; nothing else was checked */
  char **files;          /* NULL-terminated, owned; may be NULL for none */
  RaFormat format;       /* text */
  uint64_t seed;         /* 0 */
  RaFidelity fidelity;   /* stage */
  gboolean flows;        /* FALSE: --network=flows */
  gboolean real;         /* FALSE: the estimator is ReaL's */
  uint32_t n_iterations; /* 3 */
  char *output;          /* owned; NULL: standard output */
  char *workload;        /* owned, nullable */
  char *cluster;         /* owned, nullable */
  char *profile;         /* owned, nullable */
  char *system;          /* owned, nullable */
  char **sets;           /* owned, nullable */
  char **outputs;        /* owned, nullable: files that flags say to write */
} RaOptions;

#define RA_OPTIONS_INIT                                                        \
  {                                                                            \
    .fidelity = RA_FIDELITY_STAGE, .n_iterations = 3                           \
  }

/* Upper limit of --iterations: more are not needed, as the steady state
 * repeats. */
#define RA_ITERATIONS_MAX 1000

/**
 * ra_options_parse:
 * @options: (inout): initially RA_OPTIONS_INIT
 * @command: the subcommand
 * @own: (nullable): further flags, NULL-terminated; only texts
 *   (%G_OPTION_ARG_FILENAME) and booleans
 * @argc: number of words in @argv
 * @argv: borrowed; argv[0] is the subcommand
 * @error: %RA_ERROR_INPUT
 *
 * Parses a command line.  With --help it prints the help and sets
 * options->help.
 *
 * Returns: %TRUE on success
 */
gboolean ra_options_parse(RaOptions *options, const RaCommand *command,
                          const GOptionEntry *own, int argc, char **argv,
                          GError **error);
void ra_options_clear(RaOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaOptions, ra_options_clear)

/* Flags for a setup; borrows from @options. */
RaSetupFlags ra_options_setup(const RaOptions *options);

/* The replay that the flags ask for; nothing is recorded. */
RaReplayOptions ra_options_replay(const RaOptions *options);

/* Checks that a command that found a trace was given no flag of a plan. */
gboolean ra_options_trace(const RaOptions *options, GError **error);

/* Parses a whole number within [@min, @max]; @text NULL: untouched.  @flag is
 * the name in messages, such as `--width`. */
gboolean ra_option_uint64(const char *flag, const char *text, uint64_t min,
                          uint64_t max, uint64_t *out_value, GError **error);

#define RA_OPTION_SIZES_MAX 64

/* Parses `2,4,8`, ascending, into @out (RA_OPTION_SIZES_MAX); @text NULL:
 * untouched. */
gboolean ra_option_sizes(const char *flag, const char *text, uint32_t *out,
                         guint *out_n, GError **error);

/* Checks that a file flag is not empty; NULL is accepted. */
gboolean ra_option_file(const char *flag, const char *text, GError **error);

/* Parses a time such as `12.5` (seconds) or `12.5 s`, `800 ms`; >= 0. */
gboolean ra_option_seconds(const char *flag, const char *text,
                           double *out_value_s, GError **error);

/* Finds the index of @text in @words (NULL-terminated); an error suggests the
 * nearest. */
gboolean ra_option_word(const char *flag, const char *text,
                        const char *const *words, int *out_index,
                        GError **error);

#endif
