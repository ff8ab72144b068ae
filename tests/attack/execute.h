/* An execution of the program under an environment that may be hostile.
 *
 *     RaExecution e = {.argv = argv, .folder = "/tmp/x/case", .cpu_s = 20};
 *     ra_execute(&e);
 *     if (e.signal != 0) ...
 */
#ifndef RA_TESTS_ATTACK_EXECUTE_H
#define RA_TESTS_ATTACK_EXECUTE_H

#include <glib.h>

typedef enum {
  RA_ENVIRONMENT_PLAIN,
  RA_ENVIRONMENT_CLOSED,       /* some of descriptors 0 to 2 are closed */
  RA_ENVIRONMENT_SMALL_STACK,  /* 64 to 256 KiB */
  RA_ENVIRONMENT_SMALL_MEMORY, /* an address space of 32 to 256 MiB */
  RA_ENVIRONMENT_FEW_FILES,    /* 3 to 15 descriptors */
  RA_ENVIRONMENT_FULL,         /* files of at most 0 to 3 KiB */
  RA_ENVIRONMENT_GNUPLOT,      /* that fails, hangs, or prints garbage */
  RA_N_ENVIRONMENTS
} RaEnvironment;

extern const char *const ra_environment_names[]; /* (RA_N_ENVIRONMENTS) */

typedef struct {
  /* Set by the caller. */
  char **argv;         /* NULL-terminated */
  const char *folder;  /* working directory, output is in its `out`, `err` */
  const char *doubles; /* folder of programs named gnuplot; nullable */
  guint cpu_s;         /* limit of CPU time */
  RaEnvironment environment;
  guint degree; /* selects among the values of the environment */
  /* Set by ra_execute(). */
  int status;  /* exit status; -1: ended by @signal */
  int signal;  /* 0: it exited */
  double s;    /* CPU seconds */
  double mib;  /* peak of resident memory */
  char *error; /* (owned) standard error, without NUL bytes */
} RaExecution;

void ra_execute(RaExecution *inout_execution);

#endif
