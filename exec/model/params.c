/* Parameters of a rank: their arrays, seeds, reads and writes. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "exec/model/params.h"
#include "exec/model/shards.h"
#include "kernels/cpu/bf16.h"
#include "kernels/seed.h"

/* Arrays of the optimizer begin at multiples of it, as a device wants them. */
#define STEP_BYTES 256

/* Gate and up are one GEMM: adjacent for each expert. */
static int
product_of(const RaTensor *t)
{
  return t->kind == RA_TENSOR_UP ? RA_TENSOR_GATE : (int)t->kind;
}

/* The order in the array: a layer's matrices before its biases, those of a GEMM
 * together (see RaTensorKind), expert by expert, norms first, then as in the
 * model. */
static int
compare_params(const void *a, const void *b)
{
  const RaParam *x = a, *y = b;

  if (x->tensor.layer != y->tensor.layer)
    return x->tensor.layer < y->tensor.layer ? -1 : 1;
  if (x->tensor.bias != y->tensor.bias)
    return x->tensor.bias ? 1 : -1;
  if (product_of(&x->tensor) != product_of(&y->tensor))
    return product_of(&x->tensor) < product_of(&y->tensor) ? -1 : 1;
  if (x->tensor.expert != y->tensor.expert)
    return x->tensor.expert < y->tensor.expert ? -1 : 1;
  if (x->tensor.kind != y->tensor.kind)
    return x->tensor.kind < y->tensor.kind ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Zeroed. */
static void *
new_array(const RaBackend *backend, gsize n_bytes)
{
  void *array = backend->alloc(n_bytes);

  backend->zero(array, n_bytes);
  return array;
}

RaParams *
ra_params_new(const RaTensorTable *table, const RaCallPlan *plan, uint32_t rank)
{
  return ra_params_new_on(ra_backend_host_memory(), table, plan, rank);
}

RaParams *
ra_params_new_bare(const RaBackend *backend, const RaTensorTable *table,
                   const RaCallPlan *plan, uint32_t rank)
{
  static const RaCut alone = {0, 1};
  uint32_t n_tensors = ra_model_n_tensors(table->model);
  RaParams *p = g_new0(RaParams, 1);

  p->model = table->model;
  p->backend = backend;
  p->params = g_new0(RaParam, n_tensors);
  for (uint32_t i = 0; i < n_tensors; i++) {
    RaParam *param = &p->params[p->n_params];

    if (!ra_layout_rect(table, plan, rank, i, &param->rect))
      continue;
    param->index = i;
    ra_model_tensor(table->model, i, &param->tensor);
    p->n_params++;
  }
  qsort(p->params, p->n_params, sizeof *p->params, compare_params);
  for (uint32_t i = 0; i < p->n_params; i++) {
    p->params[i].offset = p->n;
    p->n += ra_param_n(&p->params[i]);
  }
  ra_params_cut(p, &alone, &alone);
  return p;
}

RaParams *
ra_params_new_on(const RaBackend *backend, const RaTensorTable *table,
                 const RaCallPlan *plan, uint32_t rank)
{
  RaParams *p = ra_params_new_bare(backend, table, plan, rank);

  p->weights = new_array(backend, p->n * backend->elem_bytes);
  return p;
}

void
ra_params_free(RaParams *params)
{
  if (!params)
    return;
  g_free(params->params);
  g_free(params->runs);
  for (int state = 0; state < RA_N_STATES; state++)
    ra_params_place(params, (RaParamsState)state, NULL);
  params->backend->free_host(params->away[RA_STATE_WEIGHTS]);
  params->backend->free_host(params->away[RA_STATE_OPTIMIZER]);
  g_free(params);
}

RaParams *
ra_params_copy(const RaParams *params)
{
  RaParams *p = g_new0(RaParams, 1);

  p->model = params->model;
  p->n_params = params->n_params;
  p->n = params->n;
  p->params = g_memdup2(params->params, params->n_params * sizeof *p->params);
  p->backend = ra_backend_host_memory();
  p->weights = p->backend->alloc(params->n * sizeof(float));
  ra_params_read(params, RA_PARAMS_WEIGHTS, 0, params->n,
                 ra_host_floats(p->weights));
  return p;
}

/* Bytes of an array of moments, and of what lies behind it. */
static gsize
moments_room(const RaParams *p)
{
  return (p->n_moments * sizeof *p->first + STEP_BYTES - 1) / STEP_BYTES *
         STEP_BYTES;
}

gsize
ra_params_state_bytes(const RaParams *params, RaParamsState state)
{
  switch (state) {
  case RA_STATE_WEIGHTS:
    return params->n * params->backend->elem_bytes;
  case RA_STATE_GRADS:
    return params->is_trained ? params->n * sizeof *params->grads : 0;
  default:
    return !params->is_trained ? 0
           : params->backend->elem_bytes == sizeof(float)
               ? 2 * moments_room(params)
               : 3 * moments_room(params);
  }
}

/* Where the arrays of @state begin. */
static void
set_arrays(RaParams *p, RaParamsState state, void *memory)
{
  gsize n = moments_room(p) / sizeof *p->first;

  if (state == RA_STATE_WEIGHTS) {
    p->weights = memory;
  } else if (state == RA_STATE_GRADS) {
    p->grads = memory;
  } else {
    p->first = memory;
    p->second = memory ? p->first + n : NULL;
    p->master = memory && p->backend->elem_bytes != sizeof *p->master
                    ? p->first + 2 * n
                    : NULL;
  }
}

void *
ra_params_where(const RaParams *params, RaParamsState state)
{
  return state == RA_STATE_WEIGHTS ? (void *)params->weights
         : state == RA_STATE_GRADS ? (void *)params->grads
                                   : (void *)params->first;
}

void
ra_params_place(RaParams *params, RaParamsState state, void *memory)
{
  if (!(params->borrowed >> state & 1))
    params->backend->free(ra_params_where(params, state));
  params->borrowed |= (uint8_t)(1u << state);
  set_arrays(params, state, memory);
}

/* Numbers [at, at + n) of fp32 array @which of the optimizer, where they are:
 * on the device or in host memory. */
typedef enum { FIRST, SECOND, MASTER } OptimizerArray;

static void
read_optimizer(const RaParams *p, OptimizerArray which, gsize at, gsize n,
               float *out)
{
  const float *from = p->first ? p->first : p->away[RA_STATE_OPTIMIZER];

  from += which * (moments_room(p) / sizeof *from) + at;
  if (p->first)
    p->backend->read(out, from, n * sizeof *out);
  else
    memcpy(out, from, n * sizeof *out);
}

static void
write_optimizer(RaParams *p, OptimizerArray which, gsize at, gsize n,
                const float *in)
{
  gsize to = which * (moments_room(p) / sizeof *in) + at;
  float *away = p->away[RA_STATE_OPTIMIZER];

  if (p->first)
    p->backend->write(p->first + to, in, n * sizeof *in);
  if (away)
    memcpy(away + to, in, n * sizeof *in);
}

/* Copies the master's part of elements [at, at + n) of the weights to @out or,
 * where @in is not %NULL, from it. */
static void
copy_master(const RaParams *params, gsize at, gsize n, const float *in,
            float *out)
{
  if (!params->is_trained || params->backend->elem_bytes == sizeof(float))
    return;
  for (uint32_t i = 0; i < params->n_runs; i++) {
    const RaParamRun *run = &params->runs[i];
    gsize begin = MAX(run->own.begin, at), end = MIN(run->own.end, at + n);
    gsize master = run->moments + begin - run->own.begin;

    if (begin >= end)
      continue;
    if (in)
      write_optimizer((RaParams *)params, MASTER, master, end - begin,
                      in + begin - at);
    else
      read_optimizer(params, MASTER, master, end - begin, out + begin - at);
  }
}

/* Zeroed, where it is placed. */
static void
begin_state(RaParams *p, RaParamsState state)
{
  gsize n_bytes = ra_params_state_bytes(p, state);

  if (!ra_params_where(p, state))
    set_arrays(p, state, p->backend->alloc(n_bytes));
  p->backend->zero(ra_params_where(p, state), n_bytes);
}

/* The fp32 weights of an optimizer are the elements, widened where they are. */
static void
begin_master(RaParams *p)
{
  g_autofree float *weights = NULL;

  for (uint32_t i = 0; p->backend->widen && i < p->n_runs; i++) {
    const RaParamRun *run = &p->runs[i];

    p->backend->widen(run->own.end - run->own.begin,
                      ra_elem_at(p->backend, p->weights, run->own.begin),
                      p->master + run->moments);
  }
  if (p->backend->widen)
    return;
  weights = g_new(float, p->n + 1);
  p->backend->read_elems(p->n, p->weights, weights);
  copy_master(p, 0, p->n, weights, NULL);
}

void
ra_params_make_trainable(RaParams *params)
{
  if (params->is_trained)
    return;
  params->is_trained = TRUE;
  if (params->grads || !(params->borrowed >> RA_STATE_OPTIMIZER & 1))
    begin_state(params, RA_STATE_GRADS);
  begin_state(params, RA_STATE_OPTIMIZER);
  if (params->master)
    begin_master(params);
}

/* Elements in host memory, as the back end has them. */
static void
host_elems(gsize elem_bytes, gsize n, const void *from, float *to)
{
  const uint16_t *narrow = from;

  if (elem_bytes == sizeof *to)
    memcpy(to, from, n * sizeof *to);
  for (gsize i = 0; i < n && elem_bytes != sizeof *to; i++)
    to[i] = ra_bf16_to_f32(narrow[i]);
}

static void
to_host_elems(gsize elem_bytes, gsize n, const float *from, void *to)
{
  uint16_t *narrow = to;

  if (elem_bytes == sizeof *from)
    memcpy(to, from, n * sizeof *from);
  for (gsize i = 0; i < n && elem_bytes != sizeof *from; i++)
    narrow[i] = ra_bf16_from_f32(from[i]);
}

void
ra_params_read(const RaParams *params, RaParamsArray which, gsize at, gsize n,
               float *out)
{
  const RaBackend *b = params->backend;
  const char *away = params->away[RA_STATE_WEIGHTS];

  if (which != RA_PARAMS_WEIGHTS) {
    read_optimizer(params, which == RA_PARAMS_FIRST ? FIRST : SECOND, at, n,
                   out);
    return;
  }
  if (params->weights)
    b->read_elems(n, ra_elem_at(b, (const RaElem *)params->weights, at), out);
  else
    host_elems(b->elem_bytes, n, away + at * b->elem_bytes, out);
  copy_master(params, at, n, NULL, out);
}

void
ra_params_write(RaParams *params, RaParamsArray which, gsize at, gsize n,
                const float *in)
{
  const RaBackend *b = params->backend;
  char *away = params->away[RA_STATE_WEIGHTS];

  if (which != RA_PARAMS_WEIGHTS) {
    write_optimizer(params, which == RA_PARAMS_FIRST ? FIRST : SECOND, at, n,
                    in);
    return;
  }
  if (params->weights)
    b->write_elems(n, in, ra_elem_at(b, params->weights, at));
  if (away)
    to_host_elems(b->elem_bytes, n, in, away + at * b->elem_bytes);
  copy_master(params, at, n, in, NULL);
}

/* On the host: what the back end does not make itself. */
static void
seed_on_host(RaParams *params, const RaParam *param, const RaSeedRect *rect)
{
  gsize n = ra_param_n(param);
  g_autofree float *made = g_new(float, n + 1);

  for (gsize i = 0; i < n; i++)
    made[i] = param->tensor.bias                     ? 0
              : param->tensor.kind == RA_TENSOR_NORM ? 1
                                                     : ra_seeded(rect, i);
  ra_params_write(params, RA_PARAMS_WEIGHTS, param->offset, n, made);
}

void
ra_params_seed(RaParams *params, uint64_t seed)
{
  const RaBackend *b = params->backend;

  for (uint32_t i = 0; i < params->n_params; i++) {
    const RaParam *param = &params->params[i];
    RaSeedRect rect = {seed, param->index, param->rect.row, param->rect.col,
                       param->rect.n_cols};

    if (b->seed && !param->tensor.bias && param->tensor.kind != RA_TENSOR_NORM)
      b->seed(ra_param_n(param), &rect,
              ra_elem_at(b, params->weights, param->offset));
    else
      seed_on_host(params, param, &rect);
  }
}

/* The first of @kind at or behind @expert. */
static const RaParam *
find_from(const RaParams *params, RaTensorKind kind, gint32 layer,
          gboolean bias, gint32 expert)
{
  RaParam key = {
      .tensor = {.kind = kind, .layer = layer, .bias = bias, .expert = expert}};
  uint32_t low = 0, high = params->n_params;

  while (low < high) {
    uint32_t middle = low + (high - low) / 2;

    if (compare_params(&params->params[middle], &key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == params->n_params || params->params[low].tensor.kind != kind ||
      params->params[low].tensor.layer != layer ||
      params->params[low].tensor.bias != bias ||
      params->params[low].tensor.expert < expert)
    return NULL;
  return &params->params[low];
}

const RaParam *
ra_params_find(const RaParams *params, RaTensorKind kind, gint32 layer,
               gboolean bias)
{
  return find_from(params, kind, layer, bias, RA_TENSOR_NO_EXPERT);
}

const RaParam *
ra_params_find_expert(const RaParams *params, RaTensorKind kind, gint32 layer,
                      gboolean bias)
{
  return find_from(params, kind, layer, bias, 0);
}

const RaParam *
ra_params_at(const RaParams *params, uint32_t index)
{
  RaParam key = {.index = index};
  const RaParam *at;

  ra_model_tensor(params->model, index, &key.tensor);
  at = bsearch(&key, params->params, params->n_params, sizeof key,
               compare_params);
  return at;
}

RaSpan
ra_param_held(const RaParams *params, const RaParam *param, RaParamsArray which,
              gsize *out_at)
{
  gsize end = param->offset + ra_param_n(param);
  const RaParamRun *run = params->runs;
  RaSpan own;

  *out_at = param->offset;
  if (which == RA_PARAMS_WEIGHTS)
    return (RaSpan){0, end - param->offset};
  while (run->all.end < end)
    run++;
  own = (RaSpan){MAX(run->own.begin, param->offset), MIN(run->own.end, end)};
  if (own.begin >= own.end)
    return (RaSpan){0, 0};
  *out_at = run->moments + own.begin - run->own.begin;
  return (RaSpan){own.begin - param->offset, own.end - param->offset};
}

void
ra_params_gather(const RaParams *const *parts, uint32_t n_parts, uint32_t index,
                 RaParamsArray which, float *out)
{
  for (uint32_t p = 0; p < n_parts; p++) {
    const RaParam *param = ra_params_at(parts[p], index);
    RaSpan held;
    gsize at;

    if (!param)
      continue;
    held = ra_param_held(parts[p], param, which, &at);
    for (gsize i = held.begin; i < held.end;) {
      gsize row = i / param->rect.n_cols, col = i % param->rect.n_cols;
      gsize n = MIN(param->rect.n_cols - col, held.end - i);

      ra_params_read(parts[p], which, at + i - held.begin, n,
                     out + (param->rect.row + row) * param->tensor.cols +
                         param->rect.col + col);
      i += n;
    }
  }
}

uint64_t
ra_params_hash(const RaParams *params, const RaParam *param)
{
  g_autofree float *room = NULL;
  const float *at =
      ra_elem_floats(params->backend, ra_param_n(param),
                     ra_elem_at(params->backend,
                                (const RaElem *)params->weights, param->offset),
                     &room);
  uint64_t sum = 0;

  for (uint64_t row = 0; row < param->rect.n_rows; row++)
    for (uint64_t col = 0; col < param->rect.n_cols; col++) {
      uint64_t x = (param->rect.row + row) * 0x9e3779b97f4a7c15u +
                   (param->rect.col + col) * 0xc2b2ae3d27d4eb4fu;
      uint32_t bits;

      memcpy(&bits, at++, sizeof bits);
      x += bits;
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u; /* splitmix64's finalizer */
      x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
      sum += x ^ (x >> 31);
    }
  return sum;
}
