/* Ops of a vision tower, before the embedding of a text model. */
#include "config.h"

#include "graph/input/model_vision.h"
#include "graph/input/plan.h"
#include "graph/op/op_mixer.h"

static uint64_t
ceil_div(uint64_t a, uint64_t b)
{
  return (a + b - 1) / b;
}

static gboolean
is_back(const RaOpBuilder *b)
{
  return b->phase == RA_PHASE_BACKWARD;
}

/* A row-parallel product ends in a sum over the ranks, and a column-parallel
 * one in that of the gradients of its input. */
static void
add_sum(RaOpBuilder *b, uint64_t rows, uint64_t width)
{
  ra_op_add_tp(b, RA_OP_ALL_REDUCE, rows * width * b->element_bytes);
}

/* Norm, and backward the sum of the gradients of the two ways. */
static void
add_norm(RaOpBuilder *b, uint64_t rows, uint64_t width)
{
  ra_op_add(b, is_back(b) ? RA_OP_NORM_BACKWARD : RA_OP_NORM, rows, width, 0,
            0);
}

/* @rows of @in elements to @inner, cut by the ranks, and to @out. */
static void
add_mlp(RaOpBuilder *b, uint64_t rows, uint64_t in, uint64_t inner,
        uint64_t out, gboolean gated)
{
  uint64_t cut = ceil_div(inner, b->shard->tp);

  if (is_back(b)) {
    ra_op_add_matrix(b, rows, out, cut, 1);
    ra_op_add(b, RA_OP_ACTIVATION_BACKWARD, rows, cut, gated, 0);
    ra_op_add_matrix(b, rows, gated ? 2 * cut : cut, in, 1);
    add_sum(b, rows, in);
    return;
  }
  ra_op_add_matrix(b, rows, gated ? 2 * cut : cut, in, 1);
  ra_op_add(b, RA_OP_ACTIVATION, rows, cut, gated, 0);
  ra_op_add_matrix(b, rows, out, cut, 1);
  add_sum(b, rows, out);
}

/* Scores of @rows patches that see those of their group of @group. */
static void
add_scores(RaOpBuilder *b, uint64_t rows, uint64_t group)
{
  const RaVision *v = &b->model->vision;
  uint64_t heads = ceil_div(v->n_heads, b->shard->tp);
  RaOp *op;

  ra_op_add(b, is_back(b) ? RA_OP_ATTENTION_BACKWARD : RA_OP_ATTENTION,
            ceil_div(rows, group), rows, rows, rows * group);
  op = &b->ops[b->n_ops - 1];
  op->flags |= RA_OP_NONCAUSAL;
  op->dim[4] = op->dim[5] = heads;
  op->dim[6] = v->hidden / v->n_heads;
}

static void
add_attention(RaOpBuilder *b, uint64_t rows, uint64_t group)
{
  const RaVision *v = &b->model->vision;
  uint64_t heads = ceil_div(v->n_heads, b->shard->tp);
  uint64_t dim = v->hidden / v->n_heads, q = heads * dim;

  if (is_back(b)) {
    ra_op_add_matrix(b, rows, v->hidden, q, 1);
    add_scores(b, rows, group);
    ra_op_add(b, RA_OP_ROPE, rows, 2 * heads, dim, 0);
    ra_op_add_matrix(b, rows, 3 * q, v->hidden, 1);
    add_sum(b, rows, v->hidden);
    return;
  }
  ra_op_add_matrix(b, rows, 3 * q, v->hidden, 1);
  ra_op_add(b, RA_OP_ROPE, rows, 2 * heads, dim, 0);
  add_scores(b, rows, group);
  ra_op_add_matrix(b, rows, v->hidden, q, 1);
  add_sum(b, rows, v->hidden);
}

/* @n layers whose patches see groups of @group. */
static void
add_layers(RaOpBuilder *b, uint32_t n, uint64_t rows, uint64_t group)
{
  const RaVision *v = &b->model->vision;
  gboolean gated = v->kind == RA_VISION_QWEN2_5, back = is_back(b);

  if (n == 0)
    return;
  b->count = n;
  for (int part = 0; part < 2; part++) {
    gboolean mlp = part == (back ? 0 : 1);

    if (!back)
      add_norm(b, rows, v->hidden);
    if (mlp)
      add_mlp(b, rows, v->hidden, v->ffn, v->hidden, gated);
    else
      add_attention(b, rows, group);
    if (back)
      add_norm(b, rows, v->hidden);
    ra_op_add(b, RA_OP_ADD, rows, v->hidden, 0, 0);
  }
  b->count = 1;
}

/* The layers of both kinds; they are counted, not interleaved. */
static void
add_blocks(RaOpBuilder *b, uint64_t rows)
{
  const RaVision *v = &b->model->vision;
  uint64_t image = ra_vision_image_patches(b->model);
  uint32_t n_whole = v->window > 0 ? v->n_whole : v->n_layers;

  add_layers(b, v->n_layers - n_whole, rows, MIN(v->window, image));
  add_layers(b, n_whole, rows, image);
}

static void
add_mergers(RaOpBuilder *b, uint64_t rows)
{
  const RaVision *v = &b->model->vision;
  uint64_t patches = (uint64_t)v->merge * v->merge;

  b->count = 1 + v->n_deep;
  if (!is_back(b))
    add_norm(b, rows, v->hidden);
  add_mlp(b, rows / patches, patches * v->hidden, patches * v->hidden,
          b->model->hidden, FALSE);
  if (is_back(b))
    add_norm(b, rows, v->hidden);
  b->count = 1;
}

/* Patches of the prompts, or of the chunks of prompts, of the batch. */
static uint64_t
n_patches(const RaOpBuilder *b)
{
  const RaModel *m = b->model;
  uint64_t all = ra_vision_patches(m, b->mix->n_sequences);

  if (!b->steps || all == 0)
    return all;
  return MIN(all, (uint64_t)((double)ra_vision_patches(m, 1) *
                             (double)b->mix->q_tokens / m->prompt_tokens));
}

void
ra_op_add_tower(RaOpBuilder *b)
{
  const RaVision *v = &b->model->vision;
  uint64_t rows = n_patches(b);
  gboolean again = is_back(b) && b->shard->recompute == RA_RECOMPUTE_FULL;

  if (rows == 0 || b->phase == RA_PHASE_DECODE)
    return;
  if (!is_back(b)) {
    ra_op_add_matrix(b, rows, v->hidden, v->patch_elements, 1);
    add_blocks(b, rows);
    add_mergers(b, rows);
    return;
  }
  add_mergers(b, rows);
  if (again) {
    b->phase = RA_PHASE_FORWARD;
    add_blocks(b, rows);
    b->phase = RA_PHASE_BACKWARD;
  }
  add_blocks(b, rows);
  ra_op_add_matrix(b, rows, v->hidden, v->patch_elements, 1);
}

double
ra_op_tower_flop(const RaModel *model, uint32_t n_prompts)
{
  const RaVision *v = &model->vision;
  double patches = (double)ra_vision_patches(model, n_prompts);
  double image = (double)ra_vision_image_patches(model), h = v->hidden;
  double merged = (double)v->merge * v->merge, wide = merged * h;
  double n_whole = v->window > 0 ? v->n_whole : v->n_layers;
  double matrices = v->kind == RA_VISION_QWEN2_5 ? 3 : 2;
  double keys =
      n_whole * image + (v->n_layers - n_whole) * MIN((double)v->window, image);

  if (patches == 0)
    return 0;
  return 2 * patches *
         (h * v->patch_elements +
          v->n_layers * (4 * h * h + matrices * h * v->ffn) + 2 * h * keys +
          (1 + v->n_deep) * wide * (wide + model->hidden) / merged);
}
