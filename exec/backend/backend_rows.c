/* Kernels with independent rows, parallelised over the threads of a rank. */
#include "config.h"

#include <string.h>

#include "exec/backend/backend_impl.h"
#include "kernels/cpu/cpu_norm.h"
#include "kernels/cpu/cpu_pointwise.h"

/* Parts of @n_rows of @width elements each, by the threads. */
static uint32_t
row_parts(gsize n_rows, gsize width)
{
  gsize most = MIN(n_rows, n_rows * width / RA_PART_ELEMENTS);

  return (uint32_t)CLAMP(most, 1, ra_team_n_threads());
}

/* Arguments of a loop over rows; each function uses its own subset. */
typedef struct {
  uint32_t n_parts;
  gsize n_rows, n;
  const float *a, *b, *c;
  float *x, *y;
  const uint32_t *words;
  gsize stride, out_stride;
  uint32_t first, n_words, n_heads, kind;
  int direction;
  float eps;
} Rows;

/* First row of @part, and how many. */
static gsize
rows_of(const Rows *r, uint32_t part, gsize *out_n)
{
  gsize first = ra_part_bound(r->n_rows, part, r->n_parts, 1);

  *out_n = ra_part_bound(r->n_rows, part + 1, r->n_parts, 1) - first;
  return first;
}

/* --- rows --- */

static void
copy_rect_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  gsize n, first = rows_of(r, part, &n);

  ra_cpu_copy_rect(n, r->n, r->a + first * r->stride, r->stride,
                   r->y + first * r->out_stride, r->out_stride);
}

void
ra_host_copy_rect(size_t n_rows, size_t n_cols, const float *in,
                  size_t in_stride, float *out, size_t out_stride)
{
  Rows r = {.n_parts = row_parts(n_rows, n_cols),
            .n_rows = n_rows,
            .n = n_cols,
            .a = in,
            .y = out,
            .stride = in_stride,
            .out_stride = out_stride};

  ra_team_for(r.n_parts, copy_rect_part, &r);
}

static void
add_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  gsize n, first = rows_of(r, part, &n);

  ra_cpu_add(n, r->a + first, r->y + first);
}

void
ra_host_add(size_t n, const float *x, float *y)
{
  Rows r = {.n_parts = row_parts(n, 1), .n_rows = n, .a = x, .y = y};

  ra_team_for(r.n_parts, add_part, &r);
}

static void
norm_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  gsize n, first = rows_of(r, part, &n);

  ra_cpu_norm(n, r->n, r->eps, r->a + first * r->n, r->b, r->y + first * r->n,
              r->x + first);
}

void
ra_host_norm(size_t n_rows, size_t n, float eps, const float *x,
             const float *weight, float *out, float *out_inv)
{
  Rows r = {.n_parts = row_parts(n_rows, n),
            .n_rows = n_rows,
            .n = n,
            .a = x,
            .b = weight,
            .x = out_inv,
            .y = out,
            .eps = eps};

  ra_team_for(r.n_parts, norm_part, &r);
}

static void
layer_norm_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  gsize n, first = rows_of(r, part, &n);

  ra_cpu_layer_norm(n, r->n, r->eps, r->a + first * r->n, r->b, r->c,
                    r->y + first * r->n, r->x + 2 * first);
}

void
ra_host_layer_norm(size_t n_rows, size_t n, float eps, const float *x,
                   const float *weight, const float *bias, float *out,
                   float *out_stats)
{
  Rows r = {.n_parts = row_parts(n_rows, n),
            .n_rows = n_rows,
            .n = n,
            .a = x,
            .b = weight,
            .c = bias,
            .x = out_stats,
            .y = out,
            .eps = eps};

  ra_team_for(r.n_parts, layer_norm_part, &r);
}

/* --- positions, activations, tables --- */

static void
rope_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  gsize n, first = rows_of(r, part, &n);

  ra_cpu_rope(n, r->n_heads, r->n, r->words + first, r->a, r->direction,
              r->y + first * r->stride, r->stride);
}

void
ra_host_rope(size_t n_tokens, size_t n_heads, size_t head_dim,
             const uint32_t *positions, const float *cos_sin, int direction,
             float *x, size_t stride)
{
  Rows r = {.n_parts = row_parts(n_tokens, n_heads * head_dim),
            .n_rows = n_tokens,
            .n = head_dim,
            .a = cos_sin,
            .y = x,
            .words = positions,
            .stride = stride,
            .n_heads = (uint32_t)n_heads,
            .direction = direction};

  ra_team_for(r.n_parts, rope_part, &r);
}

static void
swiglu_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  gsize n, first = rows_of(r, part, &n);

  (r->kind ? ra_cpu_clamped_swiglu : ra_cpu_swiglu)(
      n, r->n, r->a + first * 2 * r->n, r->y + first * r->n);
}

void
ra_host_swiglu(size_t n_tokens, size_t width, gboolean clamped,
               const float *gate_up, float *out)
{
  Rows r = {.n_parts = row_parts(n_tokens, width),
            .n_rows = n_tokens,
            .n = width,
            .a = gate_up,
            .y = out,
            .kind = clamped};

  ra_team_for(r.n_parts, swiglu_part, &r);
}

static void
swiglu_backward_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  gsize n, first = rows_of(r, part, &n);

  (r->kind ? ra_cpu_clamped_swiglu_backward : ra_cpu_swiglu_backward)(
      n, r->n, r->a + first * 2 * r->n, r->b + first * r->n,
      r->y + first * 2 * r->n);
}

void
ra_host_swiglu_backward(size_t n_tokens, size_t width, gboolean clamped,
                        const float *gate_up, const float *d_out,
                        float *d_gate_up)
{
  Rows r = {.n_parts = row_parts(n_tokens, width),
            .n_rows = n_tokens,
            .n = width,
            .a = gate_up,
            .b = d_out,
            .y = d_gate_up,
            .kind = clamped};

  ra_team_for(r.n_parts, swiglu_backward_part, &r);
}

static void
activation_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  RaActivation kind = (RaActivation)r->kind;
  gsize n, first = rows_of(r, part, &n);

  if (r->b)
    ra_cpu_activation_backward(kind, n, r->a + first, r->b + first,
                               r->y + first);
  else
    ra_cpu_activation(kind, n, r->a + first, r->y + first);
}

void
ra_host_activation(RaActivation kind, size_t n, const float *x, float *out)
{
  ra_host_activation_backward(kind, n, x, NULL, out);
}

/* Without @d_out forward. */
void
ra_host_activation_backward(RaActivation kind, size_t n, const float *x,
                            const float *d_out, float *d_x)
{
  Rows r = {.n_parts = row_parts(n, 1),
            .n_rows = n,
            .a = x,
            .b = d_out,
            .y = d_x,
            .kind = (uint32_t)kind};

  ra_team_for(r.n_parts, activation_part, &r);
}

static void
embedding_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  gsize n, first = rows_of(r, part, &n);

  ra_cpu_embedding(n, r->n, r->first, r->n_words, r->words + first, r->a,
                   r->y + first * r->n);
}

void
ra_host_embedding(size_t n_tokens, size_t width, uint32_t first,
                  uint32_t n_rows, const uint32_t *tokens, const float *table,
                  float *out)
{
  Rows r = {.n_parts = row_parts(n_tokens, width),
            .n_rows = n_tokens,
            .n = width,
            .a = table,
            .y = out,
            .words = tokens,
            .first = first,
            .n_words = n_rows};

  ra_team_for(r.n_parts, embedding_part, &r);
}

static void
cache_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  gsize n, first = rows_of(r, part, &n);

  for (gsize i = first; i < first + n; i++) {
    memcpy(r->x + r->words[i] * r->n, r->a + i * r->stride,
           r->n * sizeof *r->x);
    memcpy(r->y + r->words[i] * r->n, r->a + i * r->stride + r->n,
           r->n * sizeof *r->y);
  }
}

void
ra_host_cache_rows(size_t n, size_t width, const uint32_t *rows,
                   const float *in, size_t stride, float *k, float *v)
{
  Rows r = {.n_parts = row_parts(n, 2 * width),
            .n_rows = n,
            .n = width,
            .a = in,
            .x = k,
            .y = v,
            .words = rows,
            .stride = stride};

  ra_team_for(r.n_parts, cache_part, &r);
}

/* --- attention over two sets of keys --- */

typedef struct {
  Rows rows;
  float *lse;
} Merge;

static void
merge_part(uint32_t part, gpointer data)
{
  const Merge *m = data;
  const Rows *r = &m->rows;
  gsize n, first = rows_of(r, part, &n), heads = first * r->n_heads;

  ra_cpu_attention_merge(n, r->n_heads, r->n, r->a + heads * r->n, r->b + heads,
                         r->y + heads * r->n, m->lse + heads);
}

void
ra_host_attention_merge(size_t n_tokens, size_t n_heads, size_t head_dim,
                        const float *part, const float *part_lse, float *out,
                        float *lse)
{
  Merge m = {.rows = {.n_parts = row_parts(n_tokens, n_heads * head_dim),
                      .n_rows = n_tokens,
                      .n = head_dim,
                      .n_heads = (uint32_t)n_heads,
                      .a = part,
                      .b = part_lse,
                      .y = out},
             .lse = lse};

  ra_team_for(m.rows.n_parts, merge_part, &m);
}

/* --- the next token --- */

typedef struct {
  Rows rows;
  const RaCpuSampling *how;
  const double *uniforms;
  RaCpuSample *out;
} Draw;

static void
draw_part(uint32_t part, gpointer data)
{
  const Draw *d = data;
  const Rows *r = &d->rows;
  gsize n, first = rows_of(r, part, &n);

  for (gsize i = first; i < first + n; i++)
    d->out[i] = ra_cpu_sample((uint32_t)r->n, r->a + i * r->n, d->how,
                              d->uniforms[i], r->x + 2 * (gsize)part * r->n);
}

void
ra_host_sample(size_t n_rows, uint32_t n, const float *logits,
               const RaCpuSampling *how, const double *uniforms,
               RaCpuSample *out)
{
  uint32_t n_parts = row_parts(n_rows, n);
  g_autofree float *workspace = g_new(float, 2 * (gsize)n * n_parts + 1);
  Draw d = {.rows = {.n_parts = n_parts,
                     .n_rows = n_rows,
                     .n = n,
                     .a = logits,
                     .x = workspace},
            .how = how,
            .uniforms = uniforms,
            .out = out};

  ra_team_for(n_parts, draw_part, &d);
}

/* --- log-probabilities --- */

typedef struct {
  Rows rows;
  RaCpuLogSum *out;
} LogSum;

static void
log_sum_part(uint32_t part, gpointer data)
{
  const LogSum *l = data;
  const Rows *r = &l->rows;
  gsize n, first = rows_of(r, part, &n);

  ra_cpu_log_sum(n, r->first, (uint32_t)r->n, r->stride,
                 r->a + first * r->stride, r->words + first, l->out + first);
}

void
ra_host_log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                const float *logits, const uint32_t *targets, RaCpuLogSum *out)
{
  LogSum l = {.rows = {.n_parts = row_parts(n_rows, n),
                       .n_rows = n_rows,
                       .n = n,
                       .stride = stride,
                       .a = logits,
                       .words = targets,
                       .first = first},
              .out = out};

  ra_team_for(l.rows.n_parts, log_sum_part, &l);
}

static void
log_prob_backward_part(uint32_t part, gpointer data)
{
  const Rows *r = data;
  gsize n, first = rows_of(r, part, &n);

  ra_cpu_log_prob_backward(n, r->first, (uint32_t)r->n, r->stride,
                           r->words + first, r->a + first, r->b + first,
                           r->y + first * r->stride);
}

void
ra_host_log_prob_backward(size_t n_rows, uint32_t first, uint32_t n,
                          size_t stride, const uint32_t *targets,
                          const float *lse, const float *d_log_prob,
                          float *logits)
{
  Rows r = {.n_parts = row_parts(n_rows, n),
            .n_rows = n_rows,
            .n = n,
            .stride = stride,
            .a = lse,
            .b = d_log_prob,
            .y = logits,
            .words = targets,
            .first = first};

  ra_team_for(r.n_parts, log_prob_backward_part, &r);
}

/* --- optimizer --- */

typedef struct {
  Rows rows;
  const RaCpuAdamw *adamw;
  uint64_t step;
  float clip;
  float *weight, *first, *second;
} Adamw;

static void
adamw_part(uint32_t part, gpointer data)
{
  const Adamw *a = data;
  gsize n, first = rows_of(&a->rows, part, &n);

  ra_cpu_adamw(n, a->adamw, a->step, a->clip, a->rows.a + first,
               a->weight + first, a->first + first, a->second + first);
}

void
ra_host_adamw(size_t n, const RaCpuAdamw *constants, uint64_t step, float clip,
              const float *grad, float *weight, float *first, float *second)
{
  Adamw a = {
      .rows = {.n_parts = row_parts(n, 1), .n_rows = n, .a = grad},
      .adamw = constants,
      .step = step,
      .clip = clip,
      .weight = weight,
      .first = first,
      .second = second,
  };

  ra_team_for(a.rows.n_parts, adamw_part, &a);
}
