/* The flags that subcommands share, one reader and one help for all.
 *
 * A subcommand says which groups of flags it takes and adds those of its own;
 * values are checked strictly and every fault is one line,
 * `--seed: 'x' is no whole number, expected 0 to ...`.
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
  const char *name;      /* as it is typed */
  const char *arguments; /* of its usage line: "PLAN" */
  const char *summary;   /* one line: what it does */
  const char *details;   /* behind the flags of its help: examples */
  guint groups;          /* RA_OPTIONS_... that it takes */
  guint n_files;         /* files that it expects */
  guint n_optional;      /* files that may follow them */
  guint n_iterations;    /* unless --iterations says otherwise; 0: 3 */
  int (*run)(int argc, char **argv, GError **error); /* the exit status; a set
                            @error tells it instead */
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

/* Iterations beyond need no flag: the steady state repeats. */
#define RA_ITERATIONS_MAX 1000

/**
 * ra_options_parse:
 * @options: (inout): as RA_OPTIONS_INIT
 * @command: whose flags they are
 * @own: (nullable): further flags, NULL-terminated; texts only
 *   (%G_OPTION_ARG_FILENAME) and booleans
 * @argc: words in @argv
 * @argv: borrowed; argv[0] is the subcommand
 * @error: %RA_ERROR_INPUT
 *
 * With --help it prints the help and sets options->help.
 *
 * Returns: %TRUE on success
 */
gboolean ra_options_parse(RaOptions *options, const RaCommand *command,
                          const GOptionEntry *own, int argc, char **argv,
                          GError **error);
void ra_options_clear(RaOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaOptions, ra_options_clear)

/* What a setup needs of the flags; borrows. */
RaSetupFlags ra_options_setup(const RaOptions *options);

/* The value of a whole number flag within [@min, @max]; @text NULL: untouched.
 * @flag is `--width`. */
gboolean ra_option_uint64(const char *flag, const char *text, uint64_t min,
                          uint64_t max, uint64_t *out_value, GError **error);

/* The value of a flag that names a file is no empty text; NULL is fine. */
gboolean ra_option_file(const char *flag, const char *text, GError **error);

/* A time such as `12.5` (seconds) or `12.5 s`, `800 ms`; >= 0. */
gboolean ra_option_seconds(const char *flag, const char *text,
                           double *out_value_s, GError **error);

/* Index of @text in @words (NULL-terminated); nearest suggested. */
gboolean ra_option_word(const char *flag, const char *text,
                        const char *const *words, int *out_index,
                        GError **error);

#endif
