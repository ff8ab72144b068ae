#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/world.h"

/* Forty of the beats that a process promises (exec/watch.c): a machine with
 * more threads than cores may hold some of them up. */
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

/* Becomes the program beside this one. */
static gboolean
take_over(char **argv, GError **error)
{
  g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *folder = g_path_get_dirname(self ? self : argv[0]);
  g_autofree char *path = g_build_filename(folder, "reallot-mpi", NULL);

  execv(path, argv);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: %s, which processes that mpirun or srun starts need", path,
              g_strerror(errno));
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
ra_world_begin(const char *command, char **argv, GError **error)
{
  const RaWorldHooks hooks = {.say = say_line,
                              .end = end_now,
                              .silent_s = SILENT_S,
                              .stops = ra_interrupt_note};
  GError *fault = NULL;
  int nothing;

  if (!is_shared(command) || !is_launched())
    return TRUE;
  if (!ra_world_is_linked())
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
ra_world_current(void)
{
  return world;
}

void
ra_world_fail(const char *line, uint64_t order)
{
  if (world)
    world->table->fail(world, 4, order, line);
  say_line(line);
  end_now(4);
}

void
ra_world_end(const GError *error)
{
  ra_world_close(g_steal_pointer(&world), error);
}
