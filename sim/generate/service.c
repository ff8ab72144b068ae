/* Rollout service: replicas, admission, refit, batches. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/generate/service.h"
#include "sim/generate/stage_clock.h"

/* A sequence that runs. */
typedef struct {
  uint32_t index;
  uint32_t left; /* tokens to generate */
  uint64_t kv;   /* tokens known */
} Running;

/* State that the micro-batches of a replica share. */
typedef struct {
  RaStageClock clock; /* over stages */
  RaCost cost;        /* the clock's sum */
  double end_s;       /* of the last step */
  uint32_t n_running; /* sequences */
} Engine;

/* A replica, or over stages a micro-batch of one. */
typedef struct {
  double now_s; /* INFINITY: waits for what will not come */
  Running *running;
  uint32_t n_running;
  uint32_t version; /* that it runs on */
  Engine *engine;
  gboolean drains; /* waits until nothing of its engine runs */
} Replica;

/* A complete sequence. */
typedef struct {
  double end_s;
  uint32_t index;
} Complete;

typedef struct {
  const RaServiceSpec *spec;
  const RaServeSource *source;
  const RaServiceVersion *versions;
  uint32_t n_versions;
  uint32_t n_submitted;
  Engine *engines;    /* (n_replicas) */
  Replica *replicas;  /* (n) */
  uint32_t n, places; /* of each */
  RaCost *costs;      /* (n_stages) scratch */
  uint32_t *version;  /* (n) that the first token is of */
  GArray *complete;   /* Complete */
  RaCost cost;
  uint64_t recomputed;
} Service;

/* Versions whose transfer has begun, or with @ended is over. */
static uint32_t
n_versions_by(const Service *s, gboolean ended, double now_s)
{
  uint32_t n = 0;

  while (n < s->n_versions &&
         (ended ? s->versions[n].end_s : s->versions[n].begin_s) <= now_s)
    n++;
  return n;
}

/* When the next transfer begins after @now_s; INFINITY: none that is known. */
static double
next_begin_s(const Service *s, double now_s)
{
  uint32_t n = n_versions_by(s, FALSE, now_s);

  return n < s->n_versions ? s->versions[n].begin_s : (double)INFINITY;
}

static void
spend(Service *s, Replica *r, const RaCost *cost)
{
  r->now_s += cost->total_s;
  s->cost.total_s += cost->total_s;
  s->cost.compute_s += cost->compute_s;
  s->cost.comm_s += cost->comm_s;
  s->cost.host_s += cost->host_s;
}

/* A step of the micro-batch of @n_tokens, whose stages take s->costs. */
static void
pass(Service *s, Replica *r, uint64_t n_tokens)
{
  const RaServePipeSource *pipe = s->spec->pipe;

  r->now_s = ra_stage_clock_lap(&r->engine->clock, r->now_s, s->costs,
                                pipe->send_s(pipe->context, n_tokens), NULL);
  r->engine->end_s = MAX(r->engine->end_s, r->now_s);
}

/* Lets the replicas go on that waited for the engine of @r to be idle. */
static void
drained(Service *s, const Replica *r)
{
  for (uint32_t i = 0; i < s->n; i++) {
    Replica *other = &s->replicas[i];

    if (other->engine != r->engine || !other->drains)
      continue;
    other->drains = FALSE;
    other->now_s = r->now_s;
  }
}

/* Whoever has nothing left goes to the buffer. */
static void
collect(Service *s, Replica *r)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < r->n_running; i++) {
    Complete done = {r->now_s, r->running[i].index};

    if (r->running[i].left > 0)
      r->running[n++] = r->running[i];
    else
      g_array_append_val(s->complete, done);
  }
  r->engine->n_running -= r->n_running - n;
  r->n_running = n;
  if (r->engine->n_running == 0)
    drained(s, r);
}

/* Keys of the sequences from @first on in one step, which gives @n_tokens each
 * of them. */
static void
compute_keys(Service *s, Replica *r, uint32_t first, uint32_t n_tokens)
{
  RaBatchStretch step = {.n_steps = 1, .n_chunks = r->n_running - first};
  RaCost cost = {0};

  step.n_whole = step.n_chunks;
  for (uint32_t i = first; i < r->n_running; i++) {
    uint64_t kv = r->running[i].kv;

    step.chunk_tokens += kv;
    step.chunk_kv_tokens += kv;
    step.chunk_pairs += kv * (kv + 1) / 2;
    r->running[i].kv += n_tokens;
    r->running[i].left -= n_tokens;
  }
  for (uint32_t i = 0; s->spec->pipe && i < s->spec->n_stages; i++)
    s->spec->pipe->mixed(s->spec->pipe->context, i, &step, &s->costs[i]);
  if (s->spec->pipe) {
    pass(s, r, step.chunk_tokens);
    return;
  }
  s->source->mixed(s->source->context, &step, &cost);
  spend(s, r, &cost);
}

/* Loads the version whose transfer has begun; FALSE: must drain first. */
static gboolean
refit(Service *s, Replica *r)
{
  uint32_t n = n_versions_by(s, FALSE, r->now_s);
  const RaServiceVersion *last;

  if (r->version == n)
    return TRUE;
  if (s->spec->refit == RA_SERVICE_DRAIN && r->engine->n_running > 0)
    return FALSE;
  r->version = n;
  last = &s->versions[n - 1];
  r->now_s = MAX(last->end_s, r->now_s + (last->end_s - last->begin_s));
  if (s->spec->refit == RA_SERVICE_INTERRUPT && r->n_running > 0) {
    for (uint32_t i = 0; i < r->n_running; i++)
      s->recomputed += r->running[i].kv;
    /* The prefill of what is known gives the next token. */
    compute_keys(s, r, 0, 1);
    collect(s, r);
  }
  return TRUE;
}

static void
admit(Service *s, Replica *r)
{
  uint64_t limit =
      ((uint64_t)n_versions_by(s, TRUE, r->now_s) + s->spec->staleness + 1) *
      s->spec->sync * s->spec->batch;
  uint32_t first = r->n_running;

  while (r->n_running < s->places && s->n_submitted < MIN(limit, s->spec->n)) {
    uint32_t i = s->n_submitted++;

    s->version[i] = r->version;
    r->running[r->n_running++] =
        (Running){i, s->spec->response[i], s->spec->prompt[i]};
  }
  r->engine->n_running += r->n_running - first;
  if (r->n_running > first) {
    compute_keys(s, r, first, 1);
    collect(s, r);
  }
}

/* Cost of the step of @n sequences at @kv tokens on each stage. */
static void
stage_costs(Service *s, uint32_t n, uint64_t kv)
{
  const RaServePipeSource *pipe = s->spec->pipe;

  for (uint32_t i = 0; i < s->spec->n_stages; i++) {
    RaDecodeLine line;

    pipe->line(pipe->context, i, n, kv, &line);
    s->costs[i] = ra_decode_line_cost(&line, n, kv, 1);
  }
}

/* Steps up to the next end, or the first that ends when a transfer has begun;
 * over stages one. */
static void
step(Service *s, Replica *r)
{
  uint64_t kv = 0, n = r->n_running, left = UINT64_MAX, done = 0;
  double until_s = next_begin_s(s, r->now_s);

  for (uint32_t i = 0; i < r->n_running; i++) {
    kv += r->running[i].kv;
    left = MIN(left, r->running[i].left);
  }
  if (s->spec->pipe) {
    stage_costs(s, (uint32_t)n, kv);
    pass(s, r, n);
    left = done = 1;
  }
  while (done < left && (done == 0 || r->now_s < until_s)) {
    RaDecodeLine line = {.until_tokens = 0};
    uint64_t low = 1, high;
    RaCost cost;

    s->source->line(s->source->context, (uint32_t)n, kv, &line);
    high = MIN(left - done, (line.until_tokens - kv) / n + 1);
    while (low < high) {
      uint64_t m = low + (high - low) / 2;

      if (r->now_s + ra_decode_line_cost(&line, (double)n, kv, m).total_s <
          until_s)
        low = m + 1;
      else
        high = m;
    }
    cost = ra_decode_line_cost(&line, (double)n, kv, low);
    spend(s, r, &cost);
    done += low;
    kv += low * n;
  }
  for (uint32_t i = 0; i < r->n_running; i++) {
    r->running[i].kv += done;
    r->running[i].left -= (uint32_t)done;
  }
  collect(s, r);
}

/* Performs the next action of a replica. */
static void
advance(Service *s, Replica *r)
{
  double before_s = r->now_s;
  gboolean is_fresh = refit(s, r);

  /* A refit that took time may have been overtaken by another. */
  if (r->now_s > before_s)
    return;
  if (is_fresh)
    admit(s, r);
  if (r->now_s > before_s)
    return;
  if (r->n_running > 0)
    step(s, r);
  else if (!is_fresh && r->engine->n_running > 0) {
    r->drains = TRUE;
    r->now_s = (double)INFINITY;
  } else
    r->now_s = next_begin_s(s, r->now_s);
}

static int
compare_complete(const void *a, const void *b)
{
  const Complete *x = a, *y = b;

  if (x->end_s < y->end_s || x->end_s > y->end_s)
    return x->end_s < y->end_s ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static Replica *
earliest(const Service *s)
{
  Replica *first = &s->replicas[0];

  for (uint32_t d = 1; d < s->n; d++)
    if (s->replicas[d].now_s < first->now_s)
      first = &s->replicas[d];
  return first;
}

static void
fill_result(const Service *s, RaServiceResult *out)
{
  const RaServiceSpec *spec = s->spec;

  g_array_sort(s->complete, compare_complete);
  memset(out->staleness, 0, out->n_batches * sizeof *out->staleness);
  for (uint32_t j = 0; j < out->n_batches; j++) {
    gsize end = (gsize)(j + 1) * spec->batch;

    out->ready_s[j] = (double)INFINITY;
    if (end > s->complete->len)
      continue;
    out->ready_s[j] = g_array_index(s->complete, Complete, end - 1).end_s;
    for (gsize i = end - spec->batch; i < end; i++) {
      uint32_t v = spec->sync *
                   s->version[g_array_index(s->complete, Complete, i).index];

      /* eta bounds submission: one that runs long may come later still. */
      out->staleness[j - MIN(v, j)]++;
    }
  }
  out->cost = s->cost;
  out->recomputed_tokens = s->recomputed;
}

static void
begin(Service *s)
{
  const RaServiceSpec *spec = s->spec;
  uint32_t n_groups = spec->pipe ? spec->n_groups : 1;

  s->n = spec->n_replicas * n_groups;
  s->places = spec->max_sequences / n_groups;
  s->engines = g_new0(Engine, spec->n_replicas);
  s->replicas = g_new0(Replica, s->n);
  s->version = g_new0(uint32_t, MAX(spec->n, 1u));
  s->complete = g_array_new(FALSE, FALSE, sizeof(Complete));
  s->costs = spec->pipe ? g_new0(RaCost, spec->n_stages) : NULL;
  for (uint32_t i = 0; i < s->n; i++) {
    s->replicas[i].engine = &s->engines[i / n_groups];
    s->replicas[i].running = g_new(Running, s->places);
  }
  for (uint32_t d = 0; spec->pipe && d < spec->n_replicas; d++) {
    Engine *e = &s->engines[d];

    ra_stage_clock_init(&e->clock, spec->n_stages, &e->end_s, &e->cost);
  }
}

/* Cost of the service: the mean over the engines' stages. */
static void
finish(Service *s)
{
  for (uint32_t d = 0; s->spec->pipe && d < s->spec->n_replicas; d++) {
    ra_stage_clock_close(&s->engines[d].clock, 1);
    s->cost.total_s += s->engines[d].cost.total_s;
    s->cost.compute_s += s->engines[d].cost.compute_s;
    s->cost.comm_s += s->engines[d].cost.comm_s;
    s->cost.host_s += s->engines[d].cost.host_s;
  }
  for (uint32_t i = 0; i < s->n; i++)
    g_free(s->replicas[i].running);
}

void
ra_service_run(const RaServiceSpec *spec, const RaServeSource *source,
               const RaServiceVersion *versions, uint32_t n_versions,
               RaServiceResult *inout_result)
{
  Service s = {.spec = spec,
               .source = source,
               .versions = versions,
               .n_versions = n_versions};
  gsize wanted = (gsize)inout_result->n_batches * spec->batch;

  g_return_if_fail(spec->n_replicas >= 1 && spec->batch >= 1);
  g_return_if_fail(spec->sync >= 1 && (spec->pipe || source));
  begin(&s);
  for (;;) {
    Replica *r = earliest(&s);
    gsize n_before = 0;

    /* As many as are wanted, complete before anything can still happen. */
    for (guint i = 0; s.complete->len >= wanted && i < s.complete->len; i++)
      n_before += g_array_index(s.complete, Complete, i).end_s <= r->now_s;
    if (isinf(r->now_s) || n_before >= wanted)
      break;
    advance(&s, r);
  }
  finish(&s);
  fill_result(&s, inout_result);
  g_free(s.engines);
  g_free(s.replicas);
  g_free(s.costs);
  g_free(s.version);
  g_array_unref(s.complete);
}
