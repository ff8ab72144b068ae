/* No world: replaces exec/comm/world_mpi.c in programs without MPI. */
#include "config.h"

#include "exec/comm/world.h"

RaWorld *
ra_world_open(const RaWorldHooks *hooks, GError **error)
{
  return NULL;
}

gboolean
ra_world_is_linked(void)
{
  return FALSE;
}

void
ra_world_close(RaWorld *world, const GError *error)
{
}
