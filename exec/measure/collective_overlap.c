/* Interference of collectives with computation, in both directions. */
#include "config.h"

#include <math.h>

#include "exec/measure/collective_probe_impl.h"

#define PASSES RA_COLLECTIVE_PASSES

/* A GEMM that is bound by arithmetic and a norm that is bound by memory, each
 * some tenths of a millisecond on a GPU of 1e15 FLOP/s and 3e12 B/s: long
 * compared to a launch. */
enum { GEMM_SIDE = 4096, NORM_ROWS = 16384, NORM_WIDTH = 8192 };
#define NORM_EPS 1e-5f

enum {
  N_COMPUTED = 10,    /* ops of a pass */
  MOST_COMPANY = 4000 /* in a queue */
};
/* Isolated time of the overlapping work, relative to that of the timed work:
 * enough if both take twice their time while they overlap. */
#define OUTLASTS 2.0

typedef enum { TIMED_COLLECTIVE, TIMED_COMPUTATION, N_TIMED } Timed;

struct _RaBesideTime {
  guint n;
  double op_s[PASSES], company_s[PASSES]; /* op_s 0: its company ended first */
};
typedef struct _RaBesideTime Time;

static RaOp
company_op(RaCompany company)
{
  RaOp op = {.kind = RA_OP_NORM, .dtype = RA_DTYPE_BF16, .count = 1};

  op.dim[0] = NORM_ROWS;
  op.dim[1] = NORM_WIDTH;
  if (company == RA_COMPANY_GEMM) {
    op.kind = RA_OP_GEMM;
    op.dim[0] = op.dim[1] = op.dim[2] = GEMM_SIDE;
    op.dim[3] = 1;
  }
  return op;
}

static RaCompany
company_of(const RaCollectivePoint *p)
{
  return p->beside == RA_BESIDE_GEMM ? RA_COMPANY_GEMM : RA_COMPANY_NORM;
}

static const RaBackend *
backend_of(const RaCollectiveWork *w)
{
  return w->probe->backend && w->probe->backend->n_marks > 1 ? w->probe->backend
                                                             : NULL;
}

void
ra_collective_beside_new(RaCollectiveWork *w)
{
  if (!backend_of(w))
    return;
  w->beside = g_new0(Time, (gsize)w->grid->len * N_TIMED * w->n_ranks + 1);
  w->company_s = g_new0(double, (gsize)RA_N_COMPANIES *PASSES * w->n_ranks + 1);
}

void
ra_collective_beside_free(RaCollectiveWork *w)
{
  g_free(w->beside);
  g_free(w->company_s);
}

void
ra_collective_beside_gather(RaCollectiveWork *w)
{
  if (!w->beside)
    return;
  ra_collective_gather(w, w->beside, w->grid->len * N_TIMED * sizeof(Time));
  ra_collective_gather(w, w->company_s,
                       (gsize)RA_N_COMPANIES * PASSES * sizeof(double));
}

static Time *
time_at(const RaCollectiveWork *w, guint point, Timed timed, uint32_t rank)
{
  return w->beside + ((gsize)rank * w->grid->len + point) * N_TIMED + timed;
}

static double *
company_at(const RaCollectiveWork *w, RaCompany company, guint pass,
           uint32_t rank)
{
  return w->company_s + ((gsize)rank * RA_N_COMPANIES + company) * PASSES +
         pass;
}

/* ---- measuring ------------------------------------------------------------*/

/* Begins @n of them between two marks. */
static void
compute(const RaCollectiveRank *r, RaCompany company, guint n)
{
  const RaBackend *b = r->work->probe->backend;
  RaElem *const *x = r->operand;

  b->mark();
  for (guint i = 0; i < n; i++)
    if (company == RA_COMPANY_GEMM)
      b->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, GEMM_SIDE, GEMM_SIDE, GEMM_SIDE,
              x[0], GEMM_SIDE, x[1], GEMM_SIDE, 0, x[2], GEMM_SIDE);
    else
      b->norm(NORM_ROWS, NORM_WIDTH, NORM_EPS, x[0], x[1], x[2], r->statistics);
  b->mark();
}

static double
computed_s(const RaCollectiveRank *r)
{
  double at_s[2];

  r->work->probe->backend->read_marks(at_s);
  return at_s[1];
}

/* Zeroes: the values do not change how much a norm or a GEMM slows down,
 * relative to its isolated time on the same zeroes. */
void
ra_collective_beside_open(RaCollectiveRank *r)
{
  const RaBackend *b = backend_of(r->work);
  gsize n = MAX((gsize)GEMM_SIDE * GEMM_SIDE, (gsize)NORM_ROWS * NORM_WIDTH);

  if (!b)
    return;
  for (guint i = 0; i < G_N_ELEMENTS(r->operand); i++) {
    r->operand[i] = b->alloc(n * b->elem_bytes);
    b->zero(r->operand[i], n * b->elem_bytes);
  }
  r->statistics = b->alloc(NORM_ROWS * sizeof(float));
  for (guint company = 0; company < RA_N_COMPANIES; company++) {
    compute(r, (RaCompany)company, N_COMPUTED);
    computed_s(r);
    r->all->table->barrier(r->all);
    for (guint pass = 0; pass < PASSES; pass++) {
      compute(r, (RaCompany)company, N_COMPUTED);
      *company_at(r->work, (RaCompany)company, pass, r->rank) =
          computed_s(r) / N_COMPUTED;
    }
  }
}

void
ra_collective_beside_close(RaCollectiveRank *r)
{
  const RaBackend *b = backend_of(r->work);

  if (!b || !r->statistics)
    return;
  for (guint i = 0; i < G_N_ELEMENTS(r->operand); i++)
    b->free(r->operand[i]);
  b->free(r->statistics);
}

/* Isolated time of an operation of the point, on this rank; 0: not measured. */
static double
alone_s(const RaCollectiveRank *r, const RaCollectivePoint *point)
{
  const RaCollectiveWork *w = r->work;

  for (guint i = 0; i < w->grid->len; i++) {
    const RaCollectivePoint *p = &g_array_index(w->grid, RaCollectivePoint, i);
    const double *s = ra_collective_seconds(w, i, r->rank);

    if (p->beside == RA_BESIDE_NOTHING && p->op.kind == point->op.kind &&
        p->n_here == point->n_here && p->n_nodes == point->n_nodes &&
        p->op.dim[0] == point->op.dim[0])
      return sqrt(s[0] * s[1]);
  }
  return 0;
}

/* As many of @each_s as outlast @n of @op_s. */
static float
n_outlasting(guint n, double op_s, double each_s)
{
  return (float)MIN(ceil(OUTLASTS * n * op_s / each_s) + 1, MOST_COMPANY);
}

static void
time_collectives(RaCollectiveRank *r, guint point, RaComm *comm, gsize n_bytes,
                 guint n_company, guint pass)
{
  RaCollectiveWork *w = r->work;
  const RaCollectivePoint *p =
      &g_array_index(w->grid, RaCollectivePoint, point);
  Time *t = time_at(w, point, TIMED_COLLECTIVE, r->rank);
  double first_s = ra_collective_now_s(w), begin_s, op_s, left_s;

  compute(r, company_of(p), n_company);
  begin_s = ra_collective_now_s(w);
  ra_nccl_repeat(comm, (RaOpKind)p->op.kind, r->in, r->out, n_bytes, t->n);
  op_s = ra_collective_now_s(w) - begin_s;
  left_s = computed_s(r) - (begin_s - first_s);
  t->op_s[pass] = left_s >= op_s ? op_s / t->n : 0;
  t->company_s[pass] = left_s;
}

/* An overlapping collective takes at least the @each_s of an isolated one, so
 * the collectives together last at least that long. */
static void
time_computation(RaCollectiveRank *r, guint point, RaComm *comm, gsize n_bytes,
                 guint n_company, double each_s, guint pass)
{
  RaCollectiveWork *w = r->work;
  const RaCollectivePoint *p =
      &g_array_index(w->grid, RaCollectivePoint, point);
  Time *t = time_at(w, point, TIMED_COMPUTATION, r->rank);
  double op_s;

  ra_nccl_repeat_start(comm, (RaOpKind)p->op.kind, r->in, r->out, n_bytes,
                       n_company);
  compute(r, company_of(p), t->n);
  op_s = computed_s(r);
  ra_nccl_repeat_wait(comm);
  t->op_s[pass] = n_company * each_s >= op_s ? op_s / t->n : 0;
  t->company_s[pass] = n_company * each_s;
}

void
ra_collective_beside_measure(RaCollectiveRank *r, guint point, RaComm *comm,
                             gsize n_bytes)
{
  RaCollectiveWork *w = r->work;
  const RaCollectivePoint *p =
      &g_array_index(w->grid, RaCollectivePoint, point);
  Time *of_collective, *of_computation;
  double each_s, company_s;
  float n_company[N_TIMED];

  if (!w->beside)
    return;
  each_s = alone_s(r, p);
  company_s = *company_at(w, company_of(p), 0, r->rank);
  if (!(each_s > 0 && company_s > 0))
    return;
  of_collective = time_at(w, point, TIMED_COLLECTIVE, r->rank);
  of_computation = time_at(w, point, TIMED_COMPUTATION, r->rank);
  of_collective->n = ra_collective_repeats(w, n_bytes);
  of_computation->n = N_COMPUTED;
  n_company[TIMED_COLLECTIVE] =
      n_outlasting(of_collective->n, each_s, company_s);
  n_company[TIMED_COMPUTATION] =
      n_outlasting(of_computation->n, company_s, each_s);
  /* All members begin as many. */
  ra_comm_all_reduce(comm, RA_REDUCE_MAX, n_company, N_TIMED);
  for (guint pass = 0; pass < PASSES; pass++) {
    ra_comm_barrier(comm);
    ra_nccl_repeat(comm, (RaOpKind)p->op.kind, r->in, r->out, n_bytes,
                   w->probe->n_warm);
    time_collectives(r, point, comm, n_bytes,
                     (guint)n_company[TIMED_COLLECTIVE], pass);
    ra_comm_barrier(comm);
    ra_nccl_repeat(comm, (RaOpKind)p->op.kind, r->in, r->out, n_bytes,
                   w->probe->n_warm);
    time_computation(r, point, comm, n_bytes,
                     (guint)n_company[TIMED_COMPUTATION], each_s, pass);
  }
}

/* ---- rows -----------------------------------------------------------------*/

/* FALSE: a member's company ended first, or none has measured it. */
static gboolean
mean_of(const RaCollectiveWork *w, guint point, Timed timed,
        RaCollectiveBeside *out)
{
  guint n = 0;

  for (uint32_t rank = 0; rank < w->n_ranks; rank++) {
    const Time *t = time_at(w, point, timed, rank);

    if (t->n == 0)
      continue;
    n++;
    out->n = t->n;
    for (guint pass = 0; pass < PASSES; pass++) {
      if (!(t->op_s[pass] > 0))
        return FALSE;
      out->op_s[pass] += t->op_s[pass];
      out->company_s[pass] += t->company_s[pass];
    }
  }
  for (guint pass = 0; pass < PASSES && n > 0; pass++) {
    out->op_s[pass] /= n;
    out->company_s[pass] /= n;
  }
  return n > 0;
}

void
ra_collective_beside_add(const RaCollectiveWork *w, guint point, GArray *beside)
{
  const RaCollectivePoint *p =
      &g_array_index(w->grid, RaCollectivePoint, point);

  if (!w->beside || p->beside < RA_BESIDE_GEMM)
    return;
  for (guint timed = 0; timed < N_TIMED; timed++) {
    RaCollectiveBeside b = {.collective = p->op};

    b.collective.dim[0] = ra_collective_bytes(w, p);
    b.op = timed == TIMED_COLLECTIVE ? b.collective : company_op(company_of(p));
    if (mean_of(w, point, (Timed)timed, &b))
      g_array_append_val(beside, b);
  }
}

void
ra_collective_company_add(const RaCollectiveWork *w, GArray *rows)
{
  for (guint company = 0; w->company_s && company < RA_N_COMPANIES; company++) {
    RaMeasured row = {.op = company_op((RaCompany)company),
                      .gpus_per_node = w->probe->gpus_per_node};
    double s[PASSES] = {0};

    for (guint pass = 0; pass < PASSES; pass++)
      for (uint32_t rank = 0; rank < w->n_ranks; rank++)
        s[pass] += *company_at(w, (RaCompany)company, pass, rank) / w->n_ranks;
    row.measured_s = sqrt(s[0] * s[1]);
    row.samples = (RaGridCell){PASSES, 0, fabs(log(s[1] / s[0])) / 2};
    g_array_append_val(rows, row);
  }
}
