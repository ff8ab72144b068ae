/* A message between two processes, the sender of which computes:
 *     mpi-nudge FILE [still]
 * Process 1 makes FILE when it has the message; process 0, which has sent it,
 * meanwhile calls MPI through the nudge of its world alone, or not at all with
 * `still`, and prints whether FILE came.  tests/mpi/mpi.sh runs it.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exec/comm/world.h"

/* Too long for any eager limit, and more than one turn of MPI moves. */
#define N_BYTES ((gsize)32 << 20)
#define NUDGED_S 60.0 /* at most */
#define STILL_S 1.0

static void
say(const char *line)
{
  fprintf(stderr, "%s\n", line);
}

static void
end(int status)
{
  _exit(status);
}

static gboolean
came(RaWorld *world, const char *path, gboolean nudges)
{
  gint64 end_us =
      g_get_monotonic_time() + (gint64)(1e6 * (nudges ? NUDGED_S : STILL_S));

  while (g_access(path, F_OK) != 0) {
    if (g_get_monotonic_time() > end_us)
      return FALSE;
    if (nudges)
      world->table->nudge(world);
    g_usleep(1000); /* an op */
  }
  return TRUE;
}

int
main(int argc, char **argv)
{
  const RaWorldHooks hooks = {.say = say, .end = end, .silent_s = 60.0};
  const uint32_t process_of[] = {0, 1};
  RaWorld *world = argc > 1 ? ra_world_open(&hooks, NULL) : NULL;
  g_autofree char *data = g_malloc(N_BYTES);
  RaWorldGroup *group;
  RaComm *comm;

  if (!world || world->n_processes != 2)
    return 1;
  group = world->table->group_new(world, 2, process_of);
  comm = world->table->comm_new(group, world->process);
  memset(data, 'a' + (int)world->process, N_BYTES);
  if (world->process == 0) {
    comm->table->send(comm, 1, data, N_BYTES);
    puts(came(world, argv[1], argc == 2) ? "came" : "did not come");
  } else {
    comm->table->recv(comm, 0, data, N_BYTES);
    g_file_set_contents(argv[1], "", 0, NULL);
    g_assert_cmpint(data[0], ==, 'a');
    g_assert_cmpint(data[N_BYTES - 1], ==, 'a');
  }
  ra_comm_free(comm);
  world->table->group_free(group);
  ra_world_close(world, NULL);
  return 0;
}
