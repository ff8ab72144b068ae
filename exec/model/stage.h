/* A stage: what one rank computes of a model.
 *
 * A stage has a back end, the rank's parameters and its end of the
 * tensor-parallel group.  A *pass* takes one micro-batch through one piece of
 * the model (a virtual pipeline stage), forward and, if it was asked to keep
 * what that needs, backward; a *cache* has the keys and values of sequences
 * that are being generated.
 *
 *     RaPass *pass = ra_pass_new(stage, &piece, tokens, TRUE);
 *     ra_pass_forward(pass, input);          hidden states, or NULL: tokens
 *     pass->log_prob[t]                      where the piece has the lm head
 *     ra_pass_backward(pass, NULL, d_output);
 *     ra_pass_free(pass);
 *
 * The ops of a pass are those of ra_op_list() for the same shard, piece, phase
 * and batch, op by op and shape by shape (tests/exec/check_exec_ops.c): the op
 * list is what is costed, this is what runs.  Kept is what
 * graph/op/activation.h says: with full recomputation a layer's input, with
 * selective all but the core of attention.
 *
 * Models: rotary, learned or ALiBi positions, RMSNorm or LayerNorm, SwiGLU or
 * an MLP without a gate, grouped query heads, with or without biases, norms of
 * heads and of the embedding, tied or not, dense or with experts, lm or value
 * head.
 */
#ifndef RA_EXEC_MODEL_STAGE_H
#define RA_EXEC_MODEL_STAGE_H

#include "exec/backend/backend.h"
#include "exec/comm/comm.h"
#include "exec/comm/world.h"
#include "exec/model/cache.h"
#include "exec/model/params.h"
#include "exec/model/slabs.h"
#include "exec/model/tokens.h"
#include "graph/expand/op_program.h"

/* What the shape of a model leaves open. */
typedef struct {
  float norm_eps;          /* of every norm */
  double rope_theta;       /* base of the rotary frequencies */
  gboolean raw_top_k;      /* weights of a token's experts do not add up to 1 */
  RaActivation activation; /* of an MLP without a gate */
} RaNumerics;

/* Llama 2's: 1e-5 and 10000. */
#define RA_NUMERICS_DEFAULT                                                    \
  ((RaNumerics){1e-5f, 10000, FALSE, RA_ACTIVATION_FAMILY})

/* Experts of a layer under way: exec/model/stage_experts.h. */
typedef struct _RaExperts RaExperts;

/* Steps that were captured: exec/model/stage_steps.h. */
typedef struct _RaSteps RaSteps;

/* Steps of stages that capture theirs. */
typedef struct {
  uint64_t n_plain;    /* begun op by op */
  uint64_t n_captured; /* as they ran */
  uint64_t n_graphs;   /* begun as graphs */
  uint64_t n_refused;  /* in which something could not be captured */
} RaStepsTally;

/* Seconds of the wall, and of the thread's core in them. */
typedef struct {
  double wall_s, cpu_s;
} RaCpuTime;

/* An op that ran. */
typedef struct {
  RaOp op;        /* count 1 */
  double begin_s; /* of the monotonic clock, or of the stage's */
  double end_s;
  uint32_t begin_mark, end_mark; /* of the device's clock, not read yet: the
                                    times are to come; 0: they are there */
  RaOpPlace place;               /* in its task */
} RaOpRecord;

/* An op whose result is not all finite numbers. */
typedef struct {
  gboolean is_set;
  RaOpKind kind;
  RaOpPlace place;
  uint32_t number; /* in its task */
} RaBadOp;

/* Tokens that a pass is to draw from the logits of its sequences' last rows. */
typedef struct {
  RaCpuSampling how;
  const double *uniforms; /* (n_sequences) in [0, 1) */
  RaCpuSample *out;       /* (n_sequences) */
} RaDraw;

typedef struct {
  const RaBackend *backend; /* borrowed */
  const RaModel *model;     /* borrowed */
  RaParams *params;         /* borrowed */
  RaComm *tp;               /* borrowed; NULL: not split */
  RaNumerics numerics;
  uint32_t recompute;  /* RaRecompute */
  uint32_t q_heads;    /* of this rank */
  uint32_t kv_heads;   /* of this rank, >= 1 */
  uint32_t ffn;        /* of this rank */
  uint32_t expert_ffn; /* of one expert, of this rank */
  RaComm *ep;          /* ranks that share experts, borrowed; NULL: not */
  uint32_t n_ep;       /* of them, >= 1 */
  RaComm *cp;          /* ranks that share sequences, borrowed; NULL: not */
  uint32_t n_tp;       /* ranks that share the model, >= 1 */
  gboolean sequence_parallel; /* they share the rows between products too */
  uint32_t vocab_pad;         /* rows of the vocabulary a rank, padded */
  gsize logits_row;     /* elements from a row of its logits to the next */
  uint32_t n_positions; /* longest sequence */
  float *cos_sin;       /* (n_positions, head_dim) of the device, owned */
  RaWorld *world;       /* whose messages go on between ops, borrowed; NULL */
  uint32_t n_ops;       /* that the task at hand has run */
  uint32_t n_ahead;     /* rows of experts asked for before any was packed */
  RaBadOp bad;          /* the first of them that made what is not finite */
  GArray *ops;          /* RaOpRecord, owned; NULL: not recorded */
  RaOpPlace place;      /* of the next; see ra_stage_enter() */
  gboolean cpu_clock;   /* they are timed in CPU seconds of the process */
  uint64_t reuse_mib;   /* of the weights of products to come, for the record of
                         ops (graph/op/op_reuse.h); 0: not said */
  double op_begin_s, op_begin_cpu_s;   /* of the op that began last; of its
                                        thread */
  uint32_t n_marks;                    /* of the thread, not read yet */
  uint32_t op_begin_mark, op_end_mark; /* of the op that began last; end 0: it
                                          goes on */
  RaCpuTime paced;                     /* of the ops that wait for nobody */
  const RaDraw *draw; /* of passes to come, in place of logits; NULL: none */
  RaSlabs *slabs;     /* memory of passes and caches; a reference */
  float *slopes;      /* (q_heads) of ALiBi, owned; NULL: other positions */
  RaSteps *steps;     /* owned; NULL: ops are begun one by one */
} RaStage;

/* What a layer keeps for its backward; (tokens, ...) each, of (hidden) and its
 * (1) with sequence parallelism the rank's rows. */
typedef struct {
  RaElem *normed;     /* (hidden) input of q, k, v */
  float *inv;         /* (1), of LayerNorm (2): see ra_stage_norm_stats() */
  RaElem *qkv;        /* ((q_heads + 2 kv_heads) head_dim) turned */
  RaElem *heads;      /* ((q_heads + kv_heads) head_dim) q and k before their
                        norms; nothing without them */
  float *heads_inv;   /* (q_heads + kv_heads) likewise */
  RaElem *attended;   /* (q_heads head_dim) */
  float *lse;         /* (q_heads) */
  RaElem *middle;     /* (hidden) after attention; NULL: it keeps nothing, and
                         arrays share room, as ra_layer_room() says */
  RaElem *branch;     /* (hidden) without a middle: what is added to the rows */
  RaElem *mlp_normed; /* (hidden) */
  float *mlp_inv;     /* as inv */
  RaElem *gate_up;    /* (2 ffn), without a gate (ffn) */
  RaElem *active;     /* (ffn) */
  RaExperts *experts; /* in place of the last two, owned; NULL: dense, or not
                         run */
} RaLayerKept;

typedef struct {
  RaStage *stage;         /* borrowed */
  RaPiece piece;          /* of the model */
  const RaTokens *tokens; /* borrowed */
  gboolean keep;          /* for a backward */
  GPtrArray *slabs;       /* memory, given back to the stage */
  RaElem **inputs;        /* (n_layers + 1) (rows, hidden) each: what goes
                             into a layer, and out of the last */
  RaLayerKept *layers;    /* (n_layers), or one that all share */
  RaElem *embedded;       /* (rows, hidden) before the norm of an embedding;
                             NULL: there is none */
  float *embedded_inv;    /* (rows) likewise, of LayerNorm (rows, 2) */
  RaElem *head_normed;    /* (rows, hidden) with the head */
  float *head_inv;        /* (rows) likewise, of LayerNorm (rows, 2) */
  RaElem *logits;         /* (tokens, vocabulary of this rank), rows padded */
  float *made;            /* (tokens) of the device: what the head makes, and
                             with an lm head (tokens) */
  float *lse;             /* of their logits */
  float *numbers;         /* (tokens) made, in the host's memory */
  const float *log_prob;  /* of the targets, with an lm head; numbers */
  const float *values;    /* with a value head; numbers */
  RaElem *d;              /* (rows, hidden) gradient, while the backward runs */
} RaPass;

/* Whether the executor runs models like @model; @error: RA_ERROR_INPUT, without
 * "file:line: ". */
gboolean ra_stage_supports(const RaModel *model, GError **error);

/**
 * ra_stage_new:
 * @params: of the rank, borrowed
 * @n_tp: tensor-parallel degree
 * @tp: (nullable): the rank's end of that group, borrowed; %NULL: degree 1
 * @recompute: RaRecompute
 * @n_positions: longest sequence, tokens
 *
 * Returns: (transfer full): ra_stage_free() it
 */
RaStage *ra_stage_new(const RaBackend *backend, RaParams *params, uint32_t n_tp,
                      RaComm *tp, uint32_t recompute, uint32_t n_positions,
                      const RaNumerics *numerics);
void ra_stage_free(RaStage *stage);
/* The experts of the model are spread over @ep, borrowed: this rank's end of a
 * group of the ranks that @stage's parameters are laid out for. */
void ra_stage_spread_experts(RaStage *stage, RaComm *ep);
/* Sequences are shared over @cp, borrowed: passes then are of what
 * exec/model/ring.h has cut for this rank of it. */
void ra_stage_share_sequences(RaStage *stage, RaComm *cp);
/* The ranks of @stage's tensor-parallel group, if it has one, share the rows
 * between products: sequence parallelism.  Rows are tokens without. */
void ra_stage_share_rows(RaStage *stage, gboolean sequence_parallel);
/* Steps of generation are captured, where the back end can, and begun again:
 * `launch = graph`.  Not those whose ops are recorded, nor those of experts
 * that are spread over ranks. */
void ra_stage_capture_steps(RaStage *stage);
/* @sum += @to - @from, of each number. */
void ra_steps_add(RaStepsTally *sum, const RaStepsTally *to,
                  const RaStepsTally *from);
/* From now on @stage, which has no pass under way, takes its memory from
 * @slabs: stages that never run at the same time share it. */
void ra_stage_share_slabs(RaStage *stage, RaSlabs *slabs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaStage, ra_stage_free)

/* @tokens is borrowed and outlives the pass; @keep: a backward follows. */
RaPass *ra_pass_new(RaStage *stage, const RaPiece *piece,
                    const RaTokens *tokens, gboolean keep);
void ra_pass_free(RaPass *pass);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaPass, ra_pass_free)

/**
 * ra_pass_forward:
 * @input: (nullable): (rows, hidden) elements from the stage before, which the
 *   back end's write() takes; %NULL with the embedding
 * @cache: (nullable): of generation: keys and values go there too
 * @slots: (nullable): (n_sequences) slot of each sequence, with a @cache, which
 *   gets room for their tokens
 *
 * With the lm head it ends with log_prob and lse of every token, unless there
 * is a @cache: then with nothing, and ra_pass_last_logits() follows.
 *
 * Returns: (transfer none): (rows, hidden) for the next stage
 */
const RaElem *ra_pass_forward(RaPass *pass, const void *input, RaCache *cache,
                              const uint32_t *slots);

/**
 * ra_pass_backward:
 * @part: (nullable): layers of the pass's piece, of a backward that comes in
 *   parts, last layers first; %NULL: all
 * @d_output: (rows, hidden) gradient of the output, elements; with the head
 *   (tokens) of log_prob or values, fp32; which write() takes, read by the
 *   first part
 *
 * Adds to the gradients of the parameters.  Once a pass that keeps.
 *
 * Returns: (transfer none): (rows, hidden) gradient of what goes into @part
 */
const RaElem *ra_pass_backward(RaPass *pass, const RaPiece *part,
                               const void *d_output);

/* What follows is recorded as block @block's, of layer @layer; steps count on
 * where it was that already. */
void ra_stage_enter(RaStage *stage, RaBlock block, uint32_t layer);

/* Waits for the ops that were recorded, which then have their times.  Where the
 * device has a clock, at the end of each task: its marks are the thread's, so
 * one stage at a time may have some that were not read. */
void ra_stage_time_ops(RaStage *stage);

/* Ends the task, or with @decode > 0 the step, that was recorded last. */
void ra_stage_leave(RaStage *stage, uint32_t decode, uint32_t group);

/* (n_sequences, vocab): logits of each sequence's last token, all ranks'.
 * @out_logits: (out): dense, in the host's memory; of a stage that is to draw
 * tokens a device leaves it as it is. */
void ra_pass_last_logits(RaPass *pass, float *out_logits);

/**
 * ra_stage_decode:
 * @n: sequences
 * @slots: (n) of the cache
 * @tokens: (n) the newest token of each; may be %NULL without the embedding
 * @positions: (n) of that token, for which the cache gets room: as many are
 *   cached
 * @input: (nullable): (n, hidden) elements, which the back end's write() takes;
 *   %NULL with the embedding
 * @out: (n, hidden) elements of the back end's memory, or with the head as
 *   ra_pass_last_logits()
 *
 * One step of generation through @piece.
 */
void ra_stage_decode(RaStage *stage, const RaPiece *piece, RaCache *cache,
                     uint32_t n, const uint32_t *slots, const uint32_t *tokens,
                     const uint32_t *positions, const void *input, void *out);

/* (transfer full): of @shape but its width, which is the stage's. */
RaCache *ra_stage_new_cache(const RaStage *stage, const RaCacheShape *shape);

/* Sums gradients over the ranks of the tensor-parallel group of which each has
 * a part: of key and value heads that several hold (more ranks than heads), of
 * the norms of heads and of routers, with shared rows of all norms.  All ranks
 * of the group call it. */
void ra_stage_sum_shared_grads(RaStage *stage);

/* What ra_stage_grad_squares() adds up. */
typedef struct {
  gboolean dense;     /* all but experts */
  gboolean experts;   /* experts */
  gboolean embedding; /* the table; not where another stage counts a tied one */
} RaGradParts;

/* The sum of squares of the gradients of @parts that this rank steps and of
 * which it has, in the tensor-parallel group, the first copy. */
double ra_stage_grad_squares(const RaStage *stage, const RaGradParts *parts);

#endif
