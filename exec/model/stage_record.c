/* Times of ops, by the host's clock or the device's, and checks that results
 * are finite. */
#include "config.h"

#include <time.h>

#include "exec/model/stage_steps.h"
#include "graph/op/op_reuse.h"

static double
now_s(const RaStage *s)
{
  struct timespec t;

  clock_gettime(s->cpu_clock ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double
thread_cpu_s(void)
{
  struct timespec t;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- the device's clock: read when a task ends, so that the host is ahead of
 * the device as it is in a run that records nothing --- */

static gboolean
has_marks(const RaStage *s)
{
  return s->ops && s->backend->n_marks > 0 && !s->cpu_clock;
}

static uint32_t
mark(RaStage *s)
{
  uint32_t number = s->backend->mark();

  s->n_marks = number + 1;
  return number;
}

/* The host's clock is what other ops and tasks have: it is read when the last
 * mark has been waited for, which is that mark's time but for the way back. */
void
ra_stage_time_ops(RaStage *s)
{
  g_autofree double *after_s = NULL;
  double first_s;
  uint32_t last;

  if (s->n_marks == 0)
    return;
  after_s = g_new0(double, (gsize)s->n_marks + 1);
  last = mark(s);
  s->n_marks = s->op_end_mark = 0;
  s->op_begin_s = -1; /* the op in progress has lost its mark */
  s->backend->read_marks(after_s);
  first_s = now_s(s) - after_s[last];
  for (guint i = 0; i < s->ops->len; i++) {
    RaOpRecord *r = &g_array_index(s->ops, RaOpRecord, i);

    if (r->end_mark == 0)
      continue;
    r->begin_s = first_s + after_s[r->begin_mark];
    r->end_s = first_s + after_s[r->end_mark];
    r->begin_mark = r->end_mark = 0;
  }
}

/* Marks the end of the current op before its results are checked, because the
 * check is no part of it.
 */
static void
mark_end(RaStage *s)
{
  if (has_marks(s) && s->n_marks > 0 && s->op_end_mark == 0)
    s->op_end_mark = mark(s);
}

/* TRUE for the ops of a host that tell its load where none is recorded: one of
 * 16, spread evenly however ops repeat, so that clocks take hardly any time. */
static gboolean
is_sample(const RaStage *s)
{
  return s->backend->is_host && (uint32_t)s->n_ops * 0x9e3779b1u >> 28 == 0;
}

/* Both clocks are read in the same order at both ends, so that neither has the
 * time that reading takes. */
double
ra_stage_begin(RaStage *s)
{
  if (s->world)
    s->world->table->nudge(s->world);
  if (!s->ops) {
    if (!is_sample(s))
      return 0;
    s->op_begin_cpu_s = thread_cpu_s();
    return s->op_begin_s = now_s(s);
  }
  if (has_marks(s)) {
    if (s->n_marks + 3 > s->backend->n_marks) /* marks of an op, and the last */
      ra_stage_time_ops(s);
    s->op_begin_mark = mark(s);
    s->op_end_mark = 0;
  }
  s->op_begin_cpu_s = thread_cpu_s();
  s->op_begin_s = now_s(s);
  return s->op_begin_s;
}

/* Ops that wait for no other rank, so that excess wall time is the machine's;
 * ops that contain another op are left out. */
static void
add_pace(RaStage *s, RaOpKind kind, double begin_s, double end_s, double cpu_s)
{
  RaOpClass class = ra_op_class(kind);

  if ((class != RA_OP_CLASS_COMPUTE && class != RA_OP_CLASS_COPY) ||
      begin_s != s->op_begin_s)
    return;
  s->paced.cpu_s += cpu_s - s->op_begin_cpu_s;
  s->paced.wall_s += end_s - begin_s;
}

static void
add_pace_now(RaStage *s, RaOpKind kind, double begin_s)
{
  double cpu_s = thread_cpu_s();

  add_pace(s, kind, begin_s, now_s(s), cpu_s);
}

void
ra_stage_record(RaStage *s, RaOpKind kind, double begin_s, gsize d0, gsize d1,
                gsize d2, gsize d3)
{
  RaOpRecord r;
  double cpu_s;
  uint32_t end_mark = 0;

  s->n_ops++;
  if (!s->ops) {
    if (begin_s > 0)
      add_pace_now(s, kind, begin_s);
    s->place.step++;
    return;
  }
  if (has_marks(s) && begin_s == s->op_begin_s) {
    mark_end(s);
    end_mark = s->op_end_mark;
  } else { /* or another began within it: its marks are gone */
    s->backend->wait();
  }
  cpu_s = thread_cpu_s();
  r = (RaOpRecord){.op = {.kind = (uint8_t)kind,
                          .dtype = (uint8_t)ra_stage_dtype(s),
                          .count = 1,
                          .dim = {d0, d1, d2, d3}},
                   .begin_s = begin_s,
                   .end_s = now_s(s),
                   .begin_mark = end_mark > 0 ? s->op_begin_mark : 0,
                   .end_mark = end_mark,
                   .place = s->place};
  if (kind == RA_OP_GEMM)
    r.op.dim[RA_OP_REUSE_DIM] = s->reuse_mib;
  s->place.step++;
  if (end_mark == 0)
    add_pace(s, kind, begin_s, r.end_s, cpu_s);
  g_array_append_val(s->ops, r);
}

/* --- checks that results are finite --- */

/* A device may answer later: FALSE if an earlier check has found something. */
static gboolean
is_finite(const RaStage *s, gsize n, gconstpointer x, gboolean f32)
{
  return f32 ? s->backend->is_finite_f32(n, x) : s->backend->is_finite(n, x);
}

gboolean
ra_stage_is_finite(const RaStage *s, gsize n, gconstpointer x, gboolean f32)
{
  gboolean ok = is_finite(s, n, x, f32);

  if (!s->backend->odd)
    return ok;
  s->backend->wait();
  return s->backend->odd() == 0 && ok;
}

static RaBadOp
here(const RaStage *s, RaOpKind kind)
{
  return (RaBadOp){TRUE, !s->checks_ops, kind, s->place, s->n_ops};
}

static void
look(RaStage *s, RaOpKind kind, gsize n, gconstpointer made, gboolean f32)
{
  mark_end(s);
  if (s->bad.is_set || !s->checks_ops)
    return;
  if (ra_steps_add_look(s, kind))
    is_finite(s, n, made, f32);
  else if (!ra_stage_is_finite(s, n, made, f32))
    s->bad = here(s, kind);
}

void
ra_stage_look(RaStage *s, RaOpKind kind, gsize n, const RaElem *made)
{
  look(s, kind, n, made, FALSE);
}

void
ra_stage_look_f32(RaStage *s, RaOpKind kind, gsize n, const float *made)
{
  look(s, kind, n, made, TRUE);
}

void
ra_stage_look_last(RaStage *s, RaOpKind kind, gsize n, gconstpointer made,
                   gboolean f32)
{
  mark_end(s);
  if (s->bad.is_set)
    return;
  s->looked = here(s, kind);
  s->looked.is_set = !ra_steps_add_look(s, kind) && s->backend->odd;
  if (!is_finite(s, n, made, f32))
    s->bad = here(s, kind);
}

void
ra_stage_settle(RaStage *s)
{
  if (s->looked.is_set && s->backend->odd() != 0 && !s->bad.is_set)
    s->bad = s->looked;
  s->looked.is_set = FALSE;
}
