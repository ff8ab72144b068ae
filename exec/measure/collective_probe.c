/* Times of isolated and concurrent collectives. */
#include "config.h"

#include <math.h>
#include <time.h>

#include "exec/measure/collective_probe_impl.h"

#define PASSES RA_COLLECTIVE_PASSES
#define SMALL_BYTES (UINT64_C(1) << 20) /* from there on fewer repeats */
#define LEAST_REPEATS 5

/* All disjoint groups of one shape. */
typedef struct {
  uint32_t n_here, n_nodes;
  GArray *groups; /* uint32_t: groups of the splits; owned */
} Shape;

typedef RaCollectiveWork Work;
typedef RaCollectiveRank Rank;

static double
monotonic_s(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
fail_hard(const char *line, gpointer data)
{
  g_error("%s", line);
}

void
ra_collective_probe_init(RaCollectiveProbe *probe, const RaNcclApi *api,
                         uint32_t gpus_per_node)
{
  *probe = (RaCollectiveProbe){.api = api,
                               .n_nodes = 1,
                               .gpus_per_node = gpus_per_node,
                               .most_bytes = RA_COLLECTIVE_MOST_BYTES,
                               .n_warm = 5,
                               .n_repeats = 50,
                               .patience_s = 60,
                               .fail = fail_hard};
}

/* ---- groups ---------------------------------------------------------------*/

static void
shape_free(gpointer data)
{
  Shape *s = data;

  g_array_unref(s->groups);
  g_free(s);
}

/* Members first, first + 1 ... of each of its nodes. */
static void
add_group(Work *w, Shape *s, uint32_t first_node, uint32_t first_gpu)
{
  uint32_t per_node = w->probe->gpus_per_node, group, n = 0;
  g_autofree uint32_t *members = g_new(uint32_t, s->n_here * s->n_nodes);

  for (uint32_t node = 0; node < s->n_nodes; node++)
    for (uint32_t i = 0; i < s->n_here; i++)
      members[n++] = (first_node + node) * per_node + first_gpu + i;
  group = ra_comm_groups_add(w->splits, RA_NONE, RA_GROUP_SET, RA_STREAM_TP, n,
                             members);
  g_array_append_val(s->groups, group);
}

static const Shape *
shape_of(Work *w, const RaCollectivePoint *p)
{
  Shape *s;

  for (guint i = 0; i < w->shapes->len; i++) {
    s = w->shapes->pdata[i];
    if (s->n_here == p->n_here && s->n_nodes == p->n_nodes)
      return s;
  }
  s = g_new0(Shape, 1);
  *s = (Shape){p->n_here, p->n_nodes,
               g_array_new(FALSE, FALSE, sizeof(uint32_t))};
  g_ptr_array_add(w->shapes, s);
  for (uint32_t node = 0; node + s->n_nodes <= w->probe->n_nodes;
       node += s->n_nodes)
    for (uint32_t gpu = 0; gpu + s->n_here <= w->probe->gpus_per_node;
         gpu += s->n_here)
      add_group(w, s, node, gpu);
  return s;
}

/* ---- measuring ------------------------------------------------------------*/

gsize
ra_collective_bytes(const Work *w, const RaCollectivePoint *p)
{
  gsize unit = ra_nccl_unit((RaOpKind)p->op.kind, p->n_here * p->n_nodes);

  return p->op.dim[0] > w->probe->most_bytes ? 0 : p->op.dim[0] / unit * unit;
}

double
ra_collective_now_s(const Work *w)
{
  return (w->probe->clock ? w->probe->clock : monotonic_s)();
}

guint
ra_collective_repeats(const Work *w, gsize n_bytes)
{
  guint n = w->probe->n_repeats;

  for (gsize at = SMALL_BYTES; at < n_bytes && n > LEAST_REPEATS; at *= 2)
    n = n * 3 / 4;
  return MIN(MAX(n, LEAST_REPEATS), w->probe->n_repeats);
}

double *
ra_collective_seconds(const Work *w, guint point, uint32_t rank)
{
  return w->seconds + ((gsize)rank * w->grid->len + point) * PASSES;
}

static void
measure(Rank *r, guint point, RaComm *comm, gsize n_bytes)
{
  const RaCollectivePoint *p =
      &g_array_index(r->work->grid, RaCollectivePoint, point);
  const RaCollectiveProbe *probe = r->work->probe;
  double *seconds = ra_collective_seconds(r->work, point, r->rank);
  guint n = ra_collective_repeats(r->work, n_bytes);

  ra_nccl_repeat(comm, (RaOpKind)p->op.kind, r->in, r->out, n_bytes,
                 probe->n_warm);
  for (guint pass = 0; pass < PASSES; pass++) {
    double begin_s = ra_collective_now_s(r->work);

    ra_nccl_repeat(comm, (RaOpKind)p->op.kind, r->in, r->out, n_bytes, n);
    seconds[pass] = (ra_collective_now_s(r->work) - begin_s) / n;
  }
}

/* The groups that go at @point: the first or all. */
static void
run_point(Rank *r, guint point)
{
  const RaCollectivePoint *p =
      &g_array_index(r->work->grid, RaCollectivePoint, point);
  const Shape *s = shape_of(r->work, p);
  gsize n_bytes = ra_collective_bytes(r->work, p);

  if (n_bytes == 0)
    return;
  r->all->table->barrier(r->all);
  for (guint i = 0; i < MIN(p->n_groups, s->groups->len); i++) {
    uint32_t group = g_array_index(s->groups, uint32_t, i);

    if (!r->ends[group])
      continue;
    if (p->beside < RA_BESIDE_GEMM)
      measure(r, point, r->ends[group], n_bytes);
    else
      ra_collective_beside_measure(r, point, r->ends[group], n_bytes);
  }
}

static gboolean
open_rank(Rank *r)
{
  const RaCollectiveProbe *probe = r->work->probe;
  const RaNcclOptions options = {probe->api, probe->patience_s, probe->fail,
                                 probe->fail_data, r->rank - probe->first_rank};
  const RaCommGroups *s = r->work->splits;

  r->ends = g_new0(RaComm *, s->groups->len + 1);
  r->nccl =
      ra_nccl_new(&options, &r->work->id, r->work->n_ranks, r->rank, &r->error);
  if (!r->nccl || !ra_nccl_split(r->nccl, s, NULL, &r->error))
    return FALSE;
  for (uint32_t i = 0; i < s->groups->len; i++)
    if (ra_comm_groups_rank_in(s, i, r->rank) != RA_NONE)
      r->ends[i] = ra_nccl_comm_new(r->nccl, i);
  r->all = ra_nccl_comm_new(r->nccl, RA_NONE);
  if (probe->api->alloc(&r->in, probe->most_bytes) == RA_NCCL_OK &&
      probe->api->alloc(&r->out, probe->most_bytes) == RA_NCCL_OK)
    return TRUE;
  probe->fail("nccl: no memory for collectives", probe->fail_data);
  return FALSE;
}

static void
close_rank(Rank *r)
{
  ra_collective_beside_close(r);
  if (r->in)
    r->work->probe->api->free(r->in);
  if (r->out)
    r->work->probe->api->free(r->out);
  for (guint i = 0; r->ends && i < r->work->splits->groups->len; i++)
    ra_comm_free(r->ends[i]);
  ra_comm_free(r->all);
  ra_nccl_free(r->nccl);
  g_free(r->ends);
}

static void *
run_rank(void *data)
{
  Rank *r = data;
  const RaNcclApi *api = r->work->probe->api;

  api->enter(r->rank - r->work->probe->first_rank);
  if (open_rank(r)) {
    ra_collective_beside_open(r);
    for (guint i = 0; i < r->work->grid->len; i++)
      run_point(r, i);
  }
  close_rank(r);
  api->leave();
  return NULL;
}

/* ---- rows -----------------------------------------------------------------*/

/* The mean over the members, for one pass. */
static double
mean_s(const Work *w, guint point, guint pass)
{
  double sum = 0;
  guint n = 0;

  for (uint32_t i = 0; i < w->n_ranks; i++) {
    double s = ra_collective_seconds(w, point, i)[pass];

    sum += s;
    n += s > 0;
  }
  return n > 0 ? sum / n : 0;
}

static void
add_row(const Work *w, guint point, GArray *rows)
{
  const RaCollectivePoint *p =
      &g_array_index(w->grid, RaCollectivePoint, point);
  double first_s = mean_s(w, point, 0), second_s = mean_s(w, point, 1);
  RaMeasured row = {.op = p->op, .gpus_per_node = w->probe->gpus_per_node};

  if (first_s <= 0 || second_s <= 0)
    return;
  row.op.dim[0] = ra_collective_bytes(w, p);
  row.measured_s = sqrt(first_s * second_s);
  row.samples = (RaGridCell){PASSES, 0, fabs(log(second_s / first_s)) / 2};
  row.line[0] = row.op.dim[0];
  row.line[1] = row.op.kind == RA_OP_SEND ? 0 : row.op.dim[1];
  g_array_append_val(rows, row);
}

static gboolean
run_ranks(Work *w, GError **error)
{
  g_autofree Rank *ranks = g_new0(Rank, w->n_here);
  gboolean is_well = TRUE;

  for (uint32_t i = 0; i < w->n_here; i++) {
    ranks[i].work = w;
    ranks[i].rank = w->first + i;
    if (pthread_create(&ranks[i].thread, NULL, run_rank, &ranks[i]) != 0)
      g_error("cannot start a thread for rank %u", ranks[i].rank);
  }
  for (uint32_t i = 0; i < w->n_here; i++) {
    pthread_join(ranks[i].thread, NULL);
    if (ranks[i].error && is_well)
      g_propagate_error(error, ranks[i].error);
    else
      g_clear_error(&ranks[i].error);
    is_well = is_well && !ranks[i].error;
  }
  return is_well;
}

static void
count_here(Work *w)
{
  RaWorld *world = w->probe->world;

  for (uint32_t i = w->n_ranks; i-- > 0;)
    if (!world || ra_world_process(world, i, w->n_ranks) == world->process) {
      w->first = i;
      w->n_here++;
    }
}

/* Rows of all ranks, by process 0. */
static GArray *
make_rows(const Work *w, GArray *beside)
{
  RaWorld *world = w->probe->world;
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  if (world && world->process > 0)
    return rows;
  for (guint i = 0; i < w->grid->len; i++) {
    add_row(w, i, rows);
    if (beside)
      ra_collective_beside_add(w, i, beside);
  }
  ra_collective_company_add(w, rows);
  return rows;
}

GArray *
ra_collective_probe(const RaCollectiveProbe *probe, GArray *beside,
                    GError **error)
{
  Work w = {.probe = probe, .n_ranks = probe->n_nodes * probe->gpus_per_node};
  GArray *rows = NULL;

  count_here(&w);
  w.grid = ra_collective_grid(probe->n_nodes, probe->gpus_per_node);
  w.splits = ra_comm_groups_new(w.n_ranks);
  w.shapes = g_ptr_array_new_with_free_func(shape_free);
  for (guint i = 0; i < w.grid->len; i++)
    shape_of(&w, &g_array_index(w.grid, RaCollectivePoint, i));
  w.seconds = g_new0(double, (gsize)w.grid->len *PASSES *w.n_ranks + 1);
  ra_collective_beside_new(&w);
  if (ra_collective_share_id(&w, error) && run_ranks(&w, error)) {
    ra_collective_gather(&w, w.seconds,
                         w.grid->len * PASSES * sizeof *w.seconds);
    ra_collective_beside_gather(&w);
    rows = make_rows(&w, beside);
  }
  ra_collective_beside_free(&w);
  g_free(w.seconds);
  g_ptr_array_unref(w.shapes);
  ra_comm_groups_free(w.splits);
  g_array_unref(w.grid);
  return rows;
}
