/* A probe over several processes: their clocks and times. */
#include "config.h"

#include <math.h>
#include <time.h>

#include "exec/measure/probe_impl.h"

/* Offset of the clock of rank @rank from rank 0's: half of the fastest of some
 * round trips. */
static double
clock_ahead(RaComm *comm, uint32_t rank)
{
  double best_s = (double)INFINITY, ahead_s = 0;

  for (guint i = 0; i < 100; i++) {
    struct timespec t;
    double begin_s = 0, there_s = 0, end_s;

    clock_gettime(CLOCK_MONOTONIC, &t);
    begin_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (comm->rank == 0) {
      comm->table->send(comm, rank, &begin_s, sizeof begin_s);
      comm->table->recv(comm, rank, &there_s, sizeof there_s);
    } else {
      comm->table->recv(comm, 0, &there_s, sizeof there_s);
      clock_gettime(CLOCK_MONOTONIC, &t);
      begin_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
      comm->table->send(comm, 0, &begin_s, sizeof begin_s);
    }
    clock_gettime(CLOCK_MONOTONIC, &t);
    end_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (comm->rank > 0 || end_s - begin_s >= best_s)
      continue;
    best_s = end_s - begin_s;
    ahead_s = there_s - (begin_s + end_s) / 2;
  }
  return ahead_s;
}

/* Machines start their clocks when they please. */
static void
compare_clocks(RaProbe *probe)
{
  RaWorld *w = probe->options.world;
  RaComm *comm = probe->ranks[w->process].comm;

  for (uint32_t p = 1; p < w->n_processes && w->n_here < w->n_processes; p++) {
    double ahead_s = 0;

    if (w->process == 0)
      ahead_s = clock_ahead(comm, p);
    else if (w->process == p)
      clock_ahead(comm, p);
    if (w->process == 0)
      comm->table->send(comm, p, &ahead_s, sizeof ahead_s);
    else if (w->process == p)
      comm->table->recv(comm, 0, &probe->ahead_s, sizeof ahead_s);
  }
}

void
ra_probe_meet_world(RaProbe *probe)
{
  RaWorld *w = probe->options.world;
  g_autofree uint32_t *processes = g_new(uint32_t, w->n_processes);

  for (uint32_t i = 0; i < w->n_processes; i++)
    processes[i] = i;
  probe->apart = w->table->group_new(w, w->n_processes, processes);
  probe->ranks[w->process].comm = w->table->comm_new(probe->apart, w->process);
  compare_clocks(probe);
}

void
ra_probe_gather_times(RaProbe *probe)
{
  RaWorld *w = probe->options.world;
  RaProbeRank *r = &probe->ranks[w->process];
  g_autofree double *mine = g_new(double, 2 * (gsize)r->n + 1);
  g_autoptr(GPtrArray) all = NULL;

  for (guint i = 0; i < r->n; i++) {
    mine[2 * i] = r->begins[i] - probe->ahead_s;
    mine[2 * i + 1] = r->ends[i] - probe->ahead_s;
  }
  all = w->table->gather(w, mine, 2 * (gsize)r->n * sizeof *mine);
  for (uint32_t p = 1; all && p < w->n_processes; p++) {
    gsize n;
    const double *times = g_bytes_get_data(all->pdata[p], &n);

    probe->ranks[p].n = (guint)(n / sizeof *times / 2);
    for (guint i = 0; i < probe->ranks[p].n; i++) {
      probe->ranks[p].begins[i] = times[2 * i];
      probe->ranks[p].ends[i] = times[2 * i + 1];
    }
  }
}
