/* Program of a work: blocks, steps and their names. */
#include "config.h"

#include "graph/expand/op_program.h"

/* The pieces of one block, and whether @piece has it. */
static gboolean
block_piece(const RaShard *shard, const RaPiece *piece, RaBlock block,
            RaPiece *out)
{
  *out = (RaPiece){.first_layer = piece->first_layer};
  switch (block) {
  case RA_BLOCK_EMBEDDING:
    out->has_embedding = piece->has_embedding;
    return piece->has_embedding;
  case RA_BLOCK_HEAD:
    out->has_head = piece->has_head;
    return piece->has_head;
  default:
    if (block - RA_BLOCK_LAYER >= ra_model_n_kinds(shard->model))
      return FALSE;
    out->n_layers = 1;
    for (uint32_t i = 0; i < piece->n_layers; i++) {
      out->first_layer = piece->first_layer + i;
      if (ra_model_layer_kind(shard->model, out->first_layer) ==
          block - RA_BLOCK_LAYER)
        return TRUE;
    }
    return FALSE;
  }
}

void
ra_op_program_blocks(const RaShard *shard, const RaPiece *piece,
                     uint8_t out_has[RA_N_BLOCKS])
{
  RaPiece part;

  for (guint i = 0; i < RA_N_BLOCKS; i++)
    out_has[i] = (uint8_t)block_piece(shard, piece, (RaBlock)i, &part);
}

void
ra_op_program(const RaShard *shard, const RaPiece *piece, RaPhase phase,
              const RaBatch *batch, RaOpProgram *out)
{
  out->n_ops = 0;
  out->model = shard->model;
  out->piece = *piece;
  out->backward = phase == RA_PHASE_BACKWARD;
  out->n_blocks =
      piece->n_layers + (piece->has_embedding != 0) + (piece->has_head != 0);
  /* in the order of the list, so that ops have the same index there */
  for (guint i = 0; i < RA_N_BLOCKS; i++) {
    RaBlock block = (RaBlock)i;
    RaPiece part;

    if (out->backward && i == RA_BLOCK_EMBEDDING)
      block = RA_BLOCK_HEAD;
    else if (out->backward && i == RA_BLOCK_HEAD)
      block = RA_BLOCK_EMBEDDING;
    out->first[block] = out->n_ops;
    out->n[block] = 0;
    if (!block_piece(shard, piece, block, &part))
      continue;
    out->n[block] =
        ra_op_list(shard, &part, phase, batch, out->ops + out->n_ops);
    out->n_ops += out->n[block];
  }
}

void
ra_work_program(const RaTaskGraph *graph, uint32_t work, RaOpProgram *out)
{
  const RaWork *w = &graph->works[work];

  if (w->shard != RA_NONE) {
    ra_op_program(&graph->shards[w->shard], &w->piece, (RaPhase)w->phase,
                  &w->batch, out);
    return;
  }
  *out = (RaOpProgram){.n_ops = 1, .n_blocks = 1};
  out->ops[0] = w->op;
  out->n[RA_BLOCK_HEAD] = 1;
}

uint64_t
ra_op_program_n_steps(const RaOpProgram *program)
{
  uint64_t n = 0, of[RA_N_BLOCKS] = {0};

  for (guint block = 0; block < RA_N_BLOCKS; block++)
    for (guint i = 0; i < program->n[block]; i++)
      of[block] += program->ops[program->first[block] + i].count;
  for (uint32_t i = 0; i < program->n_blocks; i++) {
    uint32_t layer;
    n += of[ra_op_program_block(program, i, &layer)];
  }
  return n;
}

RaBlock
ra_op_program_block(const RaOpProgram *program, uint32_t block,
                    uint32_t *out_layer)
{
  const RaPiece *piece = &program->piece;
  uint32_t ends = program->backward ? piece->has_head : piece->has_embedding;
  uint32_t i = block - (ends != 0);

  *out_layer = RA_NONE;
  if (!program->model)
    return RA_BLOCK_HEAD;
  if (ends && block == 0)
    return program->backward ? RA_BLOCK_HEAD : RA_BLOCK_EMBEDDING;
  if (i >= piece->n_layers)
    return program->backward ? RA_BLOCK_EMBEDDING : RA_BLOCK_HEAD;
  *out_layer =
      piece->first_layer + (program->backward ? piece->n_layers - 1 - i : i);
  return (RaBlock)(RA_BLOCK_LAYER +
                   ra_model_layer_kind(program->model, *out_layer));
}

/* Turns: ops of one count above 1 that follow each other. */
guint
ra_op_program_next(const RaOpProgram *program, guint op, uint32_t *run)
{
  uint32_t count = program->ops[op].count;
  guint first = op;

  if (count == 1)
    return op + 1;
  if (op + 1 < program->n_ops && program->ops[op + 1].count == count)
    return op + 1;
  if (++*run == count) {
    *run = 0;
    return op + 1;
  }
  while (first > 0 && program->ops[first - 1].count == count)
    first--;
  return first;
}

RaOpCursor
ra_op_cursor(const RaOpProgram *program)
{
  return (RaOpCursor){.program = program, .is_new = TRUE};
}

gboolean
ra_op_cursor_next(RaOpCursor *at)
{
  const RaOpProgram *p = at->program;

  if (at->is_new) {
    at->block = 0;
  } else {
    at->op = ra_op_program_next(p, at->op, &at->run);
    at->step++;
    if (at->op < p->first[at->kind] + p->n[at->kind])
      return TRUE;
    at->block++;
  }
  for (; at->block < p->n_blocks; at->block++) {
    at->kind = ra_op_program_block(p, at->block, &at->layer);
    at->op = p->first[at->kind];
    at->run = 0;
    at->step = 0;
    at->is_new = FALSE;
    if (p->n[at->kind] > 0)
      return TRUE;
  }
  return FALSE;
}

void
ra_op_place_name(const RaOpPlace *place, RaOpKind kind, char *out,
                 gsize n_bytes)
{
  const char *op = ra_op_name(kind);
  char decode[32] = "";

  if (place->decode > 0)
    g_snprintf(decode, sizeof decode, "step%u/g%u/", place->decode,
               place->group);
  if (place->block == RA_N_BLOCKS)
    g_snprintf(out, n_bytes, "%ss%u/%s", decode, place->layer, op);
  else if (place->layer == RA_NONE)
    g_snprintf(out, n_bytes, "%s%s/%s.%u", decode,
               place->block == RA_BLOCK_HEAD ? "head" : "embedding", op,
               place->step);
  else
    g_snprintf(out, n_bytes, "%sl%u/%s.%u", decode, place->layer, op,
               place->step);
}

void
ra_op_step_name(const RaOpCursor *at, char *out, gsize n_bytes)
{
  RaOpKind kind = (RaOpKind)at->program->ops[at->op].kind;
  RaOpPlace place = {.block = at->kind, .layer = at->layer, .step = at->step};

  if (at->program->model)
    ra_op_place_name(&place, kind, out, n_bytes);
  else
    g_snprintf(out, n_bytes, "%s", ra_op_name(kind));
}
