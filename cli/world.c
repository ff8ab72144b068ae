/* World of a command: the processes that mpirun or srun started. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/backend.h"
#include "cli/helper.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/world.h"
#include "exec/accelerator.h"

/* Forty of the beats that a process promises (exec/comm/failure_detector.c): a
 * machine with more threads than cores may hold some of them up. */
#define SILENT_S 10

static RaWorld *world;

/* Commands that processes run together. */
static gboolean
is_shared(const char *command)
{
  static const char *const shared[] = {"run", "calibrate", "study", "search"};

  for (guint i = 0; i < G_N_ELEMENTS(shared); i++)
    if (strcmp(command, shared[i]) == 0)
      return TRUE;
  return FALSE;
}

/* Open MPI's mpirun; srun and others that speak PMIx or PMI. */
static gboolean
is_launched(void)
{
  static const char *const signs[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
                                      "PMI_RANK"};

  for (guint i = 0; i < G_N_ELEMENTS(signs); i++)
    if (g_getenv(signs[i]))
      return TRUE;
  return FALSE;
}

/* TRUE if mpirun or srun has started this process alone. */
static gboolean
is_alone(void)
{
  static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE",
                                      "SLURM_STEP_NUM_TASKS", "PMI_SIZE"};

  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
    if (g_getenv(sizes[i]))
      return g_str_equal(g_getenv(sizes[i]), "1");
  return FALSE;
}

/* A program without MPI among processes that mpirun or srun has started. */
static gboolean
take_over(char **argv, GError **error)
{
  if (!ra_accelerator_backend())
    return ra_helper_run("reallot-mpi", argv,
                         "which processes of mpirun or srun need",
                         RA_ERROR_INPUT, error);
  if (is_alone())
    return TRUE;
  if (ra_cli_backend_wants_nccl(argv))
    return ra_helper_run("reallot-cuda-mpi", argv,
                         "which processes with GPUs of their own need",
                         RA_ERROR_INPUT, error);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "the %s back end runs in one process, whose ranks share the "
              "device, expected no mpirun or srun of several processes, or "
              "--communicator=" RA_COMMUNICATOR_NCCL,
              ra_accelerator_backend());
  return FALSE;
}

static void
say_line(const char *line)
{
  g_autoptr(GError) error = g_error_new_literal(RA_ERROR, 0, line);

  ra_output_error(error);
  fflush(NULL);
}

static void
end_now(int status)
{
  fflush(NULL);
  _exit(status);
}

gboolean
ra_cli_world_begin(const char *command, char **argv, GError **error)
{
  const RaWorldHooks hooks = {.say = say_line,
                              .end = end_now,
                              .silent_s = SILENT_S,
                              .stops = ra_interrupt_note};
  GError *fault = NULL;
  int nothing;

  if (!is_shared(command) || !is_launched())
    return TRUE;
  if (!ra_world_is_linked() ||
      (ra_accelerator_backend() && !ra_cli_backend_wants_nccl(argv)))
    return take_over(argv, error);
  world = ra_world_open(&hooks, &fault);
  if (fault) {
    g_propagate_error(error, fault);
    return FALSE;
  }
  if (world && world->process > 0) {
    nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) {
      dup2(nothing, STDOUT_FILENO);
      close(nothing);
    }
  }
  return TRUE;
}

RaWorld *
ra_cli_world_current(void)
{
  return world;
}

void
ra_cli_world_fail(const char *line, uint64_t order)
{
  if (world)
    world->table->fail(world, 4, order, line);
  say_line(line);
  end_now(4);
}

void
ra_cli_world_end(const GError *error)
{
  ra_world_close(g_steal_pointer(&world), error);
}
