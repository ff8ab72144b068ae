/* Attention of context-parallel ranks: keys and values move round a ring, one
 * rank's at a time (arXiv 2310.01889), while the next ones are received.  A
 * rank begins with its own.  In the backward pass the gradients of keys and
 * values follow them, one message later, and take one step more: home. */
#include "config.h"

#include "exec/comm/device_message.h"
#include "exec/model/ring.h"
#include "exec/model/stage_impl.h"

/* One way round, on one rank. */
typedef struct {
  RaStage *s;
  const RaTokens *tokens;
  const RaRing *ring;
  gsize q, kv;           /* elements of a token's q; of its k and v */
  gsize block;           /* elements of k and v of a rank, at most */
  RaElem *keys[2];       /* at hand and coming, or gone; slabs */
  double begin_s, end_s; /* times of the message with the current data */
} Way;

/* A message to be: NULL: there is nothing in it. */
typedef struct {
  RaDeviceMessage *message; /* owned */
  double begin_s;
} Coming;

static Way
way_begin(RaStage *s, const RaTokens *tokens)
{
  const RaRing *ring = tokens->ring;
  Way w = {.s = s,
           .tokens = tokens,
           .ring = ring,
           .q = ra_stage_q_width(s),
           .kv = 2 * (gsize)s->kv_heads * s->model->head_dim};

  for (uint32_t k = 0; k < ring->n_ranks; k++)
    w.block = MAX(w.block, ra_ring_n_tokens(ring, k) * w.kv);
  for (guint i = 0; i < 2; i++)
    w.keys[i] = ra_stage_take(s, w.block);
  return w;
}

static void
way_end(Way *w)
{
  for (guint i = 0; i < 2; i++)
    ra_stage_give(w->s, w->keys[i]);
}

/* Whose keys are at hand in step @i. */
static uint32_t
owner(const Way *w, uint32_t i)
{
  return (w->ring->rank + w->ring->n_ranks - i % w->ring->n_ranks) %
         w->ring->n_ranks;
}

/* Elements of what is at hand in step @i. */
static gsize
block_n(const Way *w, uint32_t i)
{
  return ra_ring_n_tokens(w->ring, owner(w, i)) * w->kv;
}

/* Sends the data of step @i on, either keys and values or gradients. */
static void
pass_on(const Way *w, uint32_t i, const RaElem *data)
{
  const RaBackend *backend = w->s->backend;
  RaComm *cp = w->s->cp;

  if (block_n(w, i) > 0)
    ra_device_message_send(backend, cp, (cp->rank + 1) % cp->n_ranks, data,
                           block_n(w, i) * backend->elem_bytes);
}

/* Requests the data of step @i from the previous rank. */
static Coming
ask(const Way *w, uint32_t i, RaElem *data)
{
  const RaBackend *backend = w->s->backend;
  RaComm *cp = w->s->cp;
  gsize n_bytes = block_n(w, i) * backend->elem_bytes;
  Coming c = {.begin_s = ra_stage_begin(w->s)};

  if (n_bytes > 0)
    c.message = ra_device_message_start_recv(
        backend, cp, (cp->rank + cp->n_ranks - 1) % cp->n_ranks, data, n_bytes);
  return c;
}

static void
await(Way *w, Coming coming)
{
  double done_s = coming.begin_s;

  if (coming.message)
    ra_device_message_end_recv(coming.message, &done_s);
  ra_device_message_free(coming.message);
  w->begin_s = coming.begin_s;
  w->end_s = w->s->cpu_clock ? ra_stage_begin(w->s) : done_s;
}

/* Records the message of step @i, after the step's attention, with the times of
 * its request and arrival. */
static void
record_message(const Way *w, uint32_t i, guint n_blocks)
{
  RaStage *s = w->s;
  RaOpRecord *r;

  ra_stage_record(s, RA_OP_SEND, w->begin_s,
                  n_blocks * block_n(w, i) * s->backend->elem_bytes, 0, 1, 0);
  if (!s->ops)
    return;
  r = &g_array_index(s->ops, RaOpRecord, s->ops->len - 1);
  r->end_s = MAX(w->end_s, r->begin_s);
  r->begin_mark = r->end_mark = 0; /* a message is the host's */
}

/* Queries here, keys of step @i, which lie as keys[] have them. */
static RaCpuAttention
step_shape(const Way *w, uint32_t i)
{
  return (RaCpuAttention){.n_sequences = w->tokens->n_sequences,
                          .begin = w->tokens->begin,
                          .q_heads = w->s->q_heads,
                          .kv_heads = w->s->kv_heads,
                          .head_dim = w->s->model->head_dim,
                          .stride = ra_stage_qkv_width(w->s),
                          .kv_begin = ra_ring_begin(w->ring, owner(w, i)),
                          .seen = ra_ring_seen(w->ring, owner(w, i)),
                          .kv_stride = w->kv,
                          .d_q_stride = w->q,
                          .slopes = w->s->slopes,
                          .q_places = ra_ring_places(w->ring, w->ring->rank),
                          .kv_places = ra_ring_places(w->ring, owner(w, i)),
                          .scale = (float)w->s->numerics.score_scale};
}

static void
record_step(const Way *w, RaOpKind kind, double start, uint32_t i)
{
  ra_stage_record_attention(
      w->s, kind, start, w->tokens->n_sequences, w->tokens->n_tokens,
      ra_ring_n_tokens(w->ring, owner(w, i)), w->ring->pairs[owner(w, i)]);
}

/* Own keys and values, dense. */
static void
pack(const Way *w, const RaElem *qkv, RaElem *out)
{
  w->s->backend->copy_rect(w->tokens->n_tokens, w->kv,
                           ra_stage_at(w->s, qkv, w->q),
                           ra_stage_qkv_width(w->s), out, w->kv);
}

/* --- forward --- */

static void
forward_step(const Way *w, uint32_t i, const RaElem *qkv, RaElem *out,
             float *lse)
{
  RaStage *s = w->s;
  RaCpuAttention shape = step_shape(w, i);
  float *workspace = ra_stage_take_bytes(
      s, s->backend->attention_workspace(&shape, FALSE) * sizeof *workspace);
  const RaElem *k = w->keys[i % 2];
  double start = ra_stage_begin(s);

  s->backend->attention(&shape, qkv, k, ra_stage_at(s, k, w->kv / 2), out, lse,
                        workspace);
  ra_stage_give(s, workspace);
  ra_stage_look(s, RA_OP_ATTENTION, w->tokens->n_tokens * w->q, out);
  record_step(w, RA_OP_ATTENTION, start, i);
}

static void
merge(const Way *w, const RaElem *part, const float *part_lse, RaElem *out,
      float *lse)
{
  RaStage *s = w->s;
  double start = ra_stage_begin(s);

  s->backend->attention_merge(w->tokens->n_tokens, s->q_heads,
                              s->model->head_dim, part, part_lse, out, lse);
  ra_stage_record(s, RA_OP_ADD, start, w->tokens->n_tokens, w->q, 0, 0);
}

void
ra_stage_ring_attention(RaStage *s, const RaTokens *tokens, const RaElem *qkv,
                        RaElem *out, float *out_lse)
{
  Way w = way_begin(s, tokens);
  uint32_t n = w.ring->n_ranks;
  RaElem *part = ra_stage_take(s, tokens->n_tokens * w.q);
  float *part_lse = ra_stage_take_bytes(s, (gsize)tokens->n_tokens *
                                               s->q_heads * sizeof *part_lse);
  Coming coming = ask(&w, 1, w.keys[1]);

  pack(&w, qkv, w.keys[0]);
  pass_on(&w, 0, w.keys[0]);
  forward_step(&w, 0, qkv, out, out_lse);
  for (uint32_t i = 1; i < n; i++) {
    await(&w, coming);
    if (i + 1 < n) {
      coming = ask(&w, i + 1, w.keys[(i + 1) % 2]);
      pass_on(&w, i, w.keys[i % 2]);
    }
    forward_step(&w, i, qkv, part, part_lse);
    record_message(&w, i, 1);
    merge(&w, part, part_lse, out, out_lse);
  }
  ra_stage_give(s, part);
  ra_stage_give(s, part_lse);
  way_end(&w);
}

/* --- backward --- */

typedef struct {
  const RaElem *qkv, *out, *d_out;
  const float *lse;
  RaElem *d_q;      /* (tokens, q) of all steps so far; slab */
  RaElem *part_q;   /* (tokens, q) of one; slab */
  RaElem *part;     /* gradients of keys and values of one; slab */
  RaElem *gradient; /* gradients of the current keys and values by the ranks
                       before; slab */
} Backward;

static void
backward_step(const Way *w, uint32_t i, const Backward *b, RaElem *d_q)
{
  RaStage *s = w->s;
  RaCpuAttention shape = step_shape(w, i);
  float *workspace = ra_stage_take_bytes(
      s, s->backend->attention_workspace(&shape, TRUE) * sizeof *workspace);
  const RaElem *k = w->keys[i % 2];
  const RaElem *v = ra_stage_at(s, k, w->kv / 2);
  double start = ra_stage_begin(s);

  s->backend->attention_backward(&shape, b->qkv, k, v, b->out, b->lse, b->d_out,
                                 d_q, b->part,
                                 ra_stage_at(s, b->part, w->kv / 2), workspace);
  ra_stage_give(s, workspace);
  ra_stage_look(s, RA_OP_ATTENTION_BACKWARD, w->tokens->n_tokens * w->q, d_q);
  ra_stage_look(s, RA_OP_ATTENTION_BACKWARD, block_n(w, i), b->part);
  record_step(w, RA_OP_ATTENTION_BACKWARD, start, i);
}

/* Adds step @i to the gradients of its keys and values. */
static void
add_step(const Way *w, uint32_t i, const Backward *b)
{
  RaStage *s = w->s;
  double start = ra_stage_begin(s);

  s->backend->add(w->tokens->n_tokens * w->q, b->part_q, b->d_q);
  s->backend->add(block_n(w, i), b->part, b->gradient);
  ra_stage_record(s, RA_OP_ADD, start, w->tokens->n_tokens, w->q, 0, 0);
}

/* Messages of a step come as they were sent: keys and values, then gradients.
 */
static void
backward_way(Way *w, const Backward *b)
{
  uint32_t n = w->ring->n_ranks;
  Coming keys = ask(w, 1, w->keys[1]), gradient = ask(w, 1, b->gradient);

  pack(w, b->qkv, w->keys[0]);
  pass_on(w, 0, w->keys[0]);
  backward_step(w, 0, b, b->d_q);
  pass_on(w, 0, b->part);
  for (uint32_t i = 1; i < n; i++) {
    double begin_s = keys.begin_s;

    await(w, keys);
    if (i + 1 < n) {
      keys = ask(w, i + 1, w->keys[(i + 1) % 2]);
      pass_on(w, i, w->keys[i % 2]);
    }
    backward_step(w, i, b, b->part_q);
    await(w, gradient);
    w->begin_s = begin_s;
    record_message(w, i, 2);
    add_step(w, i, b);
    pass_on(w, i, b->gradient);
    gradient = ask(w, i + 1, b->gradient);
  }
  await(w, gradient);
  record_message(w, n, 1);
}

void
ra_stage_ring_attention_backward(RaStage *s, const RaTokens *tokens,
                                 const RaElem *qkv, const RaElem *out,
                                 const float *lse, const RaElem *d_out,
                                 RaElem *d_qkv)
{
  Way w = way_begin(s, tokens);
  gsize t = tokens->n_tokens, width = ra_stage_qkv_width(s);
  Backward b = {.qkv = qkv, .out = out, .d_out = d_out, .lse = lse};

  b.d_q = ra_stage_take(s, t * w.q);
  b.part_q = ra_stage_take(s, t * w.q);
  b.part = ra_stage_take(s, w.block);
  b.gradient = ra_stage_take(s, w.block);
  backward_way(&w, &b);
  s->backend->copy_rect(t, w.q, b.d_q, w.q, d_qkv, width);
  s->backend->copy_rect(t, w.kv, b.gradient, w.kv, ra_stage_at(s, d_qkv, w.q),
                        width);
  ra_stage_give(s, b.d_q);
  ra_stage_give(s, b.part_q);
  ra_stage_give(s, b.part);
  ra_stage_give(s, b.gradient);
  way_end(&w);
}
