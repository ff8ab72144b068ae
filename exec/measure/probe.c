/* A probe: its ranks, repeats and statistics. */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exec/measure/probe_impl.h"
#include "kernels/cpu/cpu_gemm.h"

void
ra_probe_options_init(RaProbeOptions *options)
{
  *options = (RaProbeOptions){
      .n_ranks = 1, .sample_s = 0.01, .n_least = 5, .n_most = 200};
}

static gboolean
is_here(const RaProbe *probe, uint32_t rank)
{
  return !probe->options.world || probe->options.world->process == rank;
}

/* All ranks come, and then all go. */
static void
meet(RaProbeRank *r)
{
  if (r->probe->apart)
    ra_comm_barrier(r->comm);
  else
    pthread_barrier_wait(&r->probe->barrier);
}

static gboolean
find_machine(const RaProbeOptions *options, RaProbeMachine *out, GError **error)
{
  const RaBackend *backend;

  if (options->machine) {
    *out = *options->machine;
    return TRUE;
  }
  backend = ra_backend_host(error);
  *out = (RaProbeMachine){.backend = backend,
                          .dtype = RA_DTYPE_FP32,
                          .pool_bytes = RA_PROBE_POOL_BYTES,
                          .lap_bytes = RA_PROBE_LAP_BYTES,
                          .most_lap_bytes = RA_PROBE_MOST_LAP_BYTES};
  return backend != NULL;
}

static void
rank_init(RaProbe *probe, uint32_t rank)
{
  RaProbeRank *r = &probe->ranks[rank];
  guint n_most = probe->options.n_most;

  *r = (RaProbeRank){.probe = probe,
                     .machine = &probe->machine,
                     .backend = probe->machine.backend,
                     .rank = rank,
                     .begins = g_new(double, n_most + 1),
                     .ends = g_new(double, n_most + 1)};
  if (is_here(probe, rank))
    ra_probe_fill(r);
  if (probe->machine.timer_new)
    r->timer = probe->machine.timer_new();
}

RaProbe *
ra_probe_new(const RaProbeOptions *options, GError **error)
{
  RaProbeMachine machine;
  RaProbe *probe;

  g_return_val_if_fail(options->n_ranks >= 1 && options->n_least >= 1, NULL);
  if (!find_machine(options, &machine, error))
    return NULL;
  g_return_val_if_fail(
      !machine.timer_new || (options->n_ranks == 1 && !options->world), NULL);
  probe = g_new0(RaProbe, 1);
  probe->options = *options;
  probe->machine = machine;
  probe->ranks = g_new0(RaProbeRank, options->n_ranks);
  pthread_barrier_init(&probe->barrier, NULL, options->n_ranks);
  for (uint32_t i = 0; i < options->n_ranks; i++)
    rank_init(probe, i);
  if (options->world)
    ra_probe_meet_world(probe);
  return probe;
}

static void
rank_clear(RaProbeRank *r)
{
  if (r->timer)
    r->machine->timer_free(r->timer);
  r->backend->free(r->pool);
  r->backend->free(r->sink);
  r->backend->free(r->scratch);
  if (r->host)
    r->backend->free_host(r->host);
  g_free(r->numbers);
  g_free(r->begins);
  g_free(r->ends);
}

void
ra_probe_free(RaProbe *probe)
{
  if (!probe)
    return;
  for (uint32_t i = 0; i < probe->options.n_ranks; i++)
    rank_clear(&probe->ranks[i]);
  if (probe->apart) {
    ra_comm_free(probe->ranks[probe->options.world->process].comm);
    probe->options.world->table->group_free(probe->apart);
  }
  pthread_barrier_destroy(&probe->barrier);
  g_free(probe->ranks);
  g_free(probe);
}

static gboolean
is_together(const RaOp *op)
{
  RaOpClass class = ra_op_class((RaOpKind)op->kind);

  return class == RA_OP_CLASS_COMM;
}

/* Now, by the clock that @rank's op is timed by. */
static double
now_s(const RaProbeRank *rank)
{
  const RaProbeOptions *o = &rank->probe->options;
  struct timespec t;

  if (o->clock)
    return o->clock(o->clock_data);
  clock_gettime(is_together(&rank->point->op) ? CLOCK_MONOTONIC
                                              : CLOCK_THREAD_CPUTIME_ID,
                &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Wall time now; 0: not needed. */
static double
wall_s(const RaProbeRank *rank)
{
  const RaProbeOptions *o = &rank->probe->options;
  struct timespec t;

  if (is_together(&rank->point->op))
    return 0;
  if (o->clock)
    return o->wall ? o->wall(o->clock_data) : 0;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void
ra_probe_start(RaProbeRank *rank)
{
  if (rank->by_host) {
    rank->backend->wait();
    rank->begin_s = rank->machine->host_s();
    return;
  }
  if (rank->timer) {
    rank->machine->timer_start(rank->timer, &rank->point->op);
    return;
  }
  rank->begin_wall_s = wall_s(rank);
  rank->begin_s = now_s(rank);
}

void
ra_probe_stop(RaProbeRank *rank)
{
  if (rank->by_host) {
    rank->end_s = rank->machine->host_s();
    return;
  }
  if (rank->timer) {
    rank->begin_s = rank->end_s;
    rank->end_s += rank->machine->timer_stop_s(rank->timer);
    return;
  }
  rank->end_s = now_s(rank);
  rank->end_wall_s = wall_s(rank);
}

static void
repeat(RaProbeRank *r)
{
  r->scratch_at = 0;
  if (is_together(&r->point->op))
    ra_probe_communicate(r);
  else
    ra_probe_compute(r);
}

static void
keep(RaProbeRank *r)
{
  r->begins[r->n] = r->begin_s;
  r->ends[r->n++] = r->end_s;
  if (!(r->end_wall_s > r->begin_wall_s))
    return;
  r->cpu_s += r->end_s - r->begin_s;
  r->wall_s += r->end_wall_s - r->begin_wall_s;
}

/* Each rank for itself, until it has been at it for long enough. */
static void
repeat_alone(RaProbeRank *r)
{
  const RaProbeOptions *o = &r->probe->options;
  double spent_s = 0;

  while (r->n < o->n_least || (r->n < o->n_most && spent_s < o->sample_s)) {
    repeat(r);
    keep(r);
    spent_s += r->end_s - r->begin_s;
  }
}

/* All ranks as often: the first says how often, from its first repeat. */
static void
repeat_together(RaProbeRank *r)
{
  const RaProbeOptions *o = &r->probe->options;
  double wanted = o->sample_s / fmax(r->end_s - r->begin_s, 1e-9);

  if (r->rank == 0)
    r->probe->n_repeats = (guint)fmin(fmax(wanted, o->n_least), o->n_most);
  if (r->probe->apart && r->comm->n_ranks > 1)
    r->comm->table->broadcast(r->comm, 0, &r->probe->n_repeats,
                              sizeof r->probe->n_repeats);
  meet(r);
  while (r->n < r->probe->n_repeats) {
    meet(r);
    repeat(r);
    keep(r);
  }
}

static gboolean
says_reuse(const RaOp *op)
{
  return op->kind == RA_OP_GEMM && op->dim[RA_OP_REUSE_DIM] > 0;
}

static void *
run_rank(void *data)
{
  RaProbeRank *r = data;

  if (says_reuse(&r->point->op))
    ra_probe_read_lap(r);
  repeat(r);
  meet(r);
  repeat(r);
  meet(r);
  if (is_together(&r->point->op))
    repeat_together(r);
  else
    repeat_alone(r);
  return NULL;
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Time of a collective or a message.  A collective takes, as an op of a run
 * does, the mean over ranks from the start of each to its end: early ranks wait
 * for late ones.  A message takes from the last start to the last end. */
static double
together_s(const RaProbe *probe, const RaProbePoint *point, guint i)
{
  const RaProbeRank *r = probe->ranks;
  double begin_s = r[0].begins[i], end_s = r[0].ends[i], sum_s = 0;

  for (uint32_t k = 0; k < probe->options.n_ranks; k++) {
    begin_s = fmax(begin_s, r[k].begins[i]);
    end_s = fmax(end_s, r[k].ends[i]);
    sum_s += r[k].ends[i] - r[k].begins[i];
  }
  if (point->op.kind == RA_OP_SEND || point->op.kind == RA_OP_REALLOC)
    return end_s - begin_s;
  return sum_s / probe->options.n_ranks;
}

static void
collect(const RaProbe *probe, const RaProbePoint *point, GArray *times)
{
  const RaProbeRank *r = probe->ranks;

  for (guint i = 0; is_together(&point->op) && i < r[0].n; i++) {
    double s = together_s(probe, point, i);

    g_array_append_val(times, s);
  }
  for (uint32_t k = 0; !is_together(&point->op) && k < probe->options.n_ranks;
       k++)
    for (guint i = 0; i < r[k].n; i++) {
      double s = r[k].ends[i] - r[k].begins[i];

      g_array_append_val(times, s);
    }
  g_array_sort(times, compare_doubles);
}

/* Lap of a rank: its part of the reuse. */
static gsize
lap_bytes(const RaProbe *probe, const RaOp *op)
{
  const RaProbeMachine *m = &probe->machine;
  gsize most = MAX(m->pool_bytes, m->most_lap_bytes);

  return says_reuse(op) ? MIN(op->dim[RA_OP_REUSE_DIM] * RA_OP_REUSE_UNIT /
                                  probe->options.n_ranks,
                              most)
                        : m->lap_bytes;
}

static void
run_all(RaProbe *probe, const RaProbePoint *point)
{
  uint32_t n_ranks = probe->options.n_ranks;
  g_autofree pthread_t *threads = g_new(pthread_t, n_ranks);
  gboolean is_alone = n_ranks == 1; /* runs on this thread, which keeps its
                                       stream and buffers */

  if (!ra_cpu_gemm_has_room(n_ranks))
    g_error("no address space for %u ranks, 192 MiB each", n_ranks);
  for (uint32_t i = 0; i < n_ranks; i++) {
    RaProbeRank *r = &probe->ranks[i];

    r->point = point;
    r->lap_bytes = lap_bytes(probe, &point->op);
    r->n = 0;
    r->cpu_s = r->wall_s = 0;
    r->end_s = 0;
    r->made = NULL;
    r->n_made = 0;
    r->n_numbers = 0;
    g_clear_pointer(&r->numbers, g_free);
    if (!is_here(probe, i))
      continue;
    ra_probe_make_room(r, &point->op);
    if (!probe->apart)
      r->comm = ra_local_comm_new(probe->group, i);
    if (is_alone)
      run_rank(r);
    else if (pthread_create(&threads[i], NULL, run_rank, r) != 0)
      g_error("cannot start a thread for rank %u", i);
  }
  for (uint32_t i = 0; i < n_ranks; i++)
    if (is_here(probe, i) && !is_alone)
      pthread_join(threads[i], NULL);
  for (uint32_t i = 0; i < n_ranks && !probe->apart; i++)
    g_clear_pointer(&probe->ranks[i].comm, ra_comm_free);
}

static guint
n_odd(const RaProbeRank *r)
{
  const RaBackend *b = r->backend;
  gboolean ok;

  if (b->is_host)
    return (guint)ra_probe_n_odd(r->n_made, r->made);
  if (r->n_made == 0)
    return 0;
  ok = r->made_f32 ? b->is_finite_f32(r->n_made, r->made)
                   : b->is_finite(r->n_made, r->made);
  b->wait(); /* a device may report a failure only at the next call */
  ok &= r->made_f32 ? b->is_finite_f32(0, r->made) : b->is_finite(0, r->made);
  return !ok;
}

void
ra_probe_run(RaProbe *probe, const RaProbePoint *point,
             RaProbeSample *out_sample)
{
  uint32_t n_ranks = probe->options.n_ranks;
  g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(double));
  const double *s;

  g_return_if_fail(
      ra_probe_has((RaOpKind)point->op.kind, probe->machine.backend->is_host));
  probe->group = ra_local_group_new(
      n_ranks, n_ranks <= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
  run_all(probe, point);
  g_clear_pointer(&probe->group, ra_local_group_free);
  if (probe->apart)
    ra_probe_gather_times(probe);
  if (!is_here(probe, 0)) {
    probe->options.world->table->share(probe->options.world, out_sample,
                                       sizeof *out_sample);
    return;
  }
  collect(probe, point, times);
  s = (const double *)(gpointer)times->data;
  *out_sample = (RaProbeSample){.low_s = s[times->len / 4],
                                .median_s = s[times->len / 2],
                                .high_s = s[times->len * 3 / 4],
                                .n = times->len};
  for (uint32_t i = 0; i < n_ranks; i++) {
    const RaProbeRank *r = &probe->ranks[i];

    out_sample->n_odd += n_odd(r);
    out_sample->cpu_s += r->cpu_s;
    out_sample->wall_s += r->wall_s;
  }
  if (out_sample->median_s > 0)
    out_sample->spread_frac =
        (out_sample->high_s - out_sample->low_s) / out_sample->median_s;
  if (probe->apart)
    probe->options.world->table->share(probe->options.world, out_sample,
                                       sizeof *out_sample);
}

double
ra_probe_begun_s(RaProbe *probe, const RaProbePoint *point)
{
  RaProbeRank *r = &probe->ranks[0];
  RaProbeSample sample;

  g_return_val_if_fail(r->timer, 0);
  r->by_host = TRUE;
  ra_probe_run(probe, point, &sample);
  r->by_host = FALSE;
  return sample.median_s;
}

/* Bandwidth of device memory, by the device's timer. */
static double
device_bytes_per_s(RaProbe *probe)
{
  RaProbeRank *r = &probe->ranks[0];
  const RaProbeMachine *m = &probe->machine;
  /* The op that is nearest to a copy, for a simulated timer. */
  const RaOp copy = {.kind = RA_OP_ADD,
                     .dtype = m->dtype,
                     .count = 1,
                     .dim = {1, m->pool_bytes / m->backend->elem_bytes}};
  double best_s = (double)INFINITY;

  for (guint i = 0; i < 5; i++) {
    m->timer_start(r->timer, &copy);
    m->backend->copy(r->sink, r->pool, m->pool_bytes);
    best_s = fmin(best_s, m->timer_stop_s(r->timer));
  }
  return 2 * (double)m->pool_bytes / best_s;
}

double
ra_probe_bytes_per_s(RaProbe *probe)
{
  const gsize n = RA_PROBE_POOL_BYTES;
  RaProbePoint point = {.op = {.kind = RA_OP_OFFLOAD,
                               .dtype = RA_DTYPE_FP32,
                               .count = 1,
                               .dim = {n}}};
  double best_s = (double)INFINITY;

  if (probe->machine.timer_new)
    return device_bytes_per_s(probe);
  for (guint i = 0; i < 3; i++) {
    RaProbeSample sample;

    ra_probe_run(probe, &point, &sample);
    best_s = fmin(best_s, sample.median_s);
  }
  return 2 * (double)n / best_s;
}
