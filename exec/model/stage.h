/* A stage: the part of a model that one rank computes.
 *
 * A stage has a back end, the rank's parameters and its end of the
 * tensor-parallel group.  A *pass* takes one micro-batch through one piece of
 * the model (a virtual pipeline stage): forward and, if it keeps the
 * intermediates, backward.  A *cache* has the keys and values of sequences that
 * are being generated.
 *
 *     RaPass *pass = ra_pass_new(stage, &piece, tokens, TRUE);
 *     ra_pass_forward(pass, input);          hidden states, or NULL: tokens
 *     pass->log_prob[t]                      if the piece has the lm head
 *     ra_pass_backward(pass, NULL, d_output);
 *     ra_pass_free(pass);
 *
 * The ops of a pass are those of ra_op_list() for the same shard, piece, phase
 * and batch, op by op and shape by shape (tests/exec/check_exec_ops.c): the
 * simulator costs the op list, the stage runs it.  graph/op/activation.h says
 * what a pass keeps: with full recomputation a layer's input, with selective
 * recomputation all but the core of attention.
 *
 * Supported models:
 *
 *   positions  rotary, learned or ALiBi
 *   norms      RMSNorm or LayerNorm; also of heads and of the embedding
 *   MLP        SwiGLU or without a gate; dense, with experts, routed and
 *              shared
 *   attention  grouped query heads, perhaps within windows, with sinks; latent
 *   biases     with or without
 *   head       lm or value; tied or not
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
#include "kernels/cpu/cpu_rope.h"

/* Numbers that the shape of a model does not determine. */
typedef struct {
  float norm_eps;          /* epsilon of every norm */
  RaCpuRope rope;          /* rotary frequencies */
  double score_scale;      /* of attention; 0: 1 / sqrt(elements of a query
                              head) */
  gboolean rope_pairs;     /* neighbours of a head rotate, not halves */
  gboolean clamped_swiglu; /* of an MLP with a gate: ra_cpu_clamped_swiglu() */
  gboolean raw_top_k;      /* weights of a token's experts are not normalised to
                              1 */
  RaActivation activation; /* for an MLP without a gate */
  uint32_t rotary_dim;     /* first elements of a head that rotate; 0: all, of
                              latent attention its rope_dim */
  /* of routers: see RaCpuRouting */
  gboolean sigmoid_router;
  float router_scale;                  /* 0: 1 */
  uint32_t router_groups, open_groups; /* 0: one group */
  gboolean groups_by_largest;
  const float *router_bias; /* (n_layers, n_experts) borrowed; NULL:
                                          none */
} RaNumerics;

/* Llama 2's: 1e-5 and 10000. */
#define RA_NUMERICS_DEFAULT                                                    \
  ((RaNumerics){.norm_eps = 1e-5f,                                             \
                .rope = {.theta = 10000},                                      \
                .activation = RA_ACTIVATION_FAMILY})

/* Experts of a layer in progress: exec/model/stage_experts.h. */
typedef struct _RaExperts RaExperts;

/* Shared experts of a layer in progress: exec/model/stage_shared.h. */
typedef struct _RaShared RaShared;

/* Captured decode steps: exec/model/stage_steps.h. */
typedef struct _RaSteps RaSteps;

/* Counts of decode steps of stages that capture them. */
typedef struct {
  uint64_t n_plain;    /* run op by op */
  uint64_t n_captured; /* captured while they ran */
  uint64_t n_graphs;   /* launched as graphs */
  uint64_t n_refused;  /* contained an op that cannot be captured */
} RaStepsTally;

/* Wall seconds, and CPU seconds of the thread in them. */
typedef struct {
  double wall_s, cpu_s;
} RaCpuTime;

/* Record of an op that ran. */
typedef struct {
  RaOp op;        /* count 1 */
  double begin_s; /* by the monotonic clock, or by the stage's */
  double end_s;
  uint32_t begin_mark, end_mark; /* marks of the device's clock, if the times
                                    are not read yet; 0: they are */
  RaOpPlace place;               /* position in its task */
} RaOpRecord;

/* An op whose result has a number that is not finite, or a block. */
typedef struct {
  gboolean is_set;
  gboolean is_block; /* the op is unknown, as not every op was checked */
  RaOpKind kind;
  RaOpPlace place;
  uint32_t number; /* index in its task */
} RaBadOp;

/* Request to sample tokens from the logits of the sequences' last rows.  With
 * @slots a decode step leaves them on the device (RaBackend.draw()), and waits
 * for nothing; ra_stage_settle_steps() follows some steps later. */
typedef struct {
  RaCpuSampling how;
  const double *uniforms; /* (n_sequences) in [0, 1) */
  RaCpuSample *out;       /* (n_sequences); with @slots in pinned memory */
  uint32_t n_slots;
  const uint32_t *slots; /* (n_sequences) NULL: wait */
} RaDraw;

typedef struct {
  const RaBackend *backend; /* borrowed */
  const RaModel *model;     /* borrowed */
  RaParams *params;         /* borrowed */
  RaComm *tp;               /* borrowed; NULL: no tensor parallelism */
  RaNumerics numerics;
  uint32_t recompute;                  /* RaRecompute */
  uint32_t q_heads;                    /* query heads of this rank */
  uint32_t kv_heads;                   /* key heads of this rank, >= 1 */
  uint32_t ffn;                        /* MLP width of this rank */
  uint32_t expert_ffn;                 /* width of one expert, of this rank */
  RaComm *ep;                          /* ranks that share experts, borrowed;
                                          NULL: none */
  uint32_t n_ep;                       /* their number, >= 1 */
  RaComm *cp;                          /* ranks that share sequences, borrowed;
                                          NULL: none */
  uint32_t n_tp;                       /* ranks that share the model, >= 1 */
  gboolean sequence_parallel;          /* these ranks also share the rows
                                          between GEMMs */
  uint32_t vocab_pad;                  /* rows of the vocabulary per rank,
                                          padded */
  gsize logits_row;                    /* elements from one row of its logits to
                                          the next */
  uint32_t n_positions;                /* longest sequence */
  float *cos_sin;                      /* (n_positions, rotary_dim) in device
                                          memory, owned */
  RaWorld *world;                      /* world whose messages make progress
                                          between ops, borrowed; nullable */
  uint32_t n_ops;                      /* ops that the current task has run */
  uint32_t n_ahead;                    /* requests for rows of experts, made
                                          before packing */
  RaBadOp bad;                         /* first op of the current task whose
                                          result is not finite */
  gboolean checks_ops;                 /* every op's result is checked; else
                                          what a pass ends with
                                          (ra_stage_look_last()) */
  RaBadOp looked;                      /* the check of the current pass that the
                                          device has not answered yet */
  GArray *ops;                         /* RaOpRecord, owned; NULL: not
                                          recorded */
  RaOpPlace place;                     /* place of the next op; see
                                          ra_stage_enter() */
  gboolean cpu_clock;                  /* ops are timed in CPU seconds of the
                                          process */
  uint64_t reuse_mib;                  /* reuse of the weights of coming GEMMs,
                                          for the record of ops
                                          (graph/op/op_reuse.h); 0: unknown */
  double op_begin_s, op_begin_cpu_s;   /* start of the last op; CPU time of its
                                          thread */
  uint32_t n_marks;                    /* marks of the thread that are not read
                                          yet */
  uint32_t op_begin_mark, op_end_mark; /* marks of the last op; end 0: it
                                          continues */
  RaCpuTime paced;                     /* time in ops that wait for no other
                                          rank */
  const RaDraw *draw;                  /* sampling in coming passes, which then
                                          give no logits; NULL: none */
  RaSlabs *slabs;                      /* memory of passes and caches; a
                                          reference */
  float *slopes;                       /* (q_heads) slopes of ALiBi, owned;
                                          NULL: other positions */
  uint32_t rotary_dim;                 /* of the numerics, > 0 */
  RaSteps *steps;                      /* owned; NULL: ops run one by one */
} RaStage;

/* Intermediates of latent attention: exec/model/stage_latent.h. */
typedef struct {
  RaElem *q_down, *q_normed;   /* (q_rank) latent queries, before their norm and
                                  after; none without */
  float *q_inv;                /* (1) of that norm */
  RaElem *kv_down, *kv_normed; /* (kv_rank) likewise of keys and values */
  float *kv_inv;
  RaElem *q;        /* (q_heads (nope_dim + rope_dim)) after rotation */
  RaElem *k;        /* likewise; of a decode step (rope_dim) */
  RaElem *v;        /* (q_heads value_dim) */
  RaElem *absorbed; /* of a decode step: (q_heads (kv_rank + rope_dim)) */
  RaElem *out;      /* likewise (q_heads kv_rank) */
} RaLatentKept;

/* Intermediates of a layer for its backward pass; each is (tokens, ...).
 * With sequence parallelism, those of (hidden) and their (1) have the rank's
 * rows. */
typedef struct {
  RaElem *normed;      /* (hidden) input of q, k, v */
  float *inv;          /* (1), for LayerNorm (2): see ra_stage_norm_stats() */
  RaElem *qkv;         /* ((q_heads + 2 kv_heads) head_dim) after rotary
                         positions */
  RaElem *heads;       /* ((q_heads + kv_heads) head_dim) q and k before their
                         norms; NULL without these */
  float *heads_inv;    /* (q_heads + kv_heads) likewise */
  RaLatentKept latent; /* instead of qkv and heads: latent attention */
  RaElem *attended;    /* (q_heads head_dim), of latent attention (q_heads
                         value_dim) */
  float *lse;          /* (q_heads) */
  RaElem *middle; /* (hidden) after attention; NULL: the layer keeps nothing
                         and its arrays share memory, by ra_layer_room() */
  RaElem *branch; /* (hidden) without middle: the term added to the rows */
  gboolean adds_later; /* without middle: the next norm adds it */
  const RaElem *lacks; /* the term that the rows still lack; NULL: none */
  RaElem *mlp_normed;  /* (hidden) */
  float *mlp_inv;      /* as inv */
  RaElem *gate_up;     /* (2 ffn); without a gate (ffn) */
  RaElem *active;      /* (ffn) */
  RaExperts *experts;  /* replaces the last two, owned; NULL: dense, or not
                         run */
  RaShared *shared;    /* beside them, owned; NULL: none */
} RaLayerKept;

typedef struct {
  RaStage *stage;         /* borrowed */
  RaPiece piece;          /* piece of the model */
  const RaTokens *tokens; /* borrowed */
  gboolean keep;          /* for a backward pass */
  GPtrArray *slabs;       /* memory, returned to the stage */
  RaElem **inputs;        /* (n_layers + 1) (rows, hidden) each: the input of
                             each layer, and the output of the last */
  RaLayerKept *layers;    /* (n_layers), or one that all layers share */
  RaElem *embedded;       /* (rows, hidden) before the norm of the embedding;
                             NULL: no such norm */
  float *embedded_inv;    /* (rows), for LayerNorm (rows, 2), likewise */
  RaElem *head_normed;    /* (rows, hidden) with the head */
  float *head_inv;        /* (rows), for LayerNorm (rows, 2), likewise */
  RaElem *logits;         /* (tokens, vocabulary of this rank), rows padded */
  float *made;            /* (tokens) in device memory: output of the head; with
                             an lm head followed by lse (tokens) */
  float *lse;             /* (tokens) log-sum-exp of the logits */
  float *numbers;         /* (tokens) made, in host memory */
  const float *log_prob;  /* log-probabilities of the targets, with an lm head;
                             is numbers */
  const float *values;    /* values, with a value head; is numbers */
  RaElem *d;              /* (rows, hidden) gradient, during the backward
                             pass */
} RaPass;

/* TRUE if the executor supports @model; @error: RA_ERROR_INPUT, without
 * "file:line: ". */
gboolean ra_stage_supports(const RaModel *model, GError **error);

/**
 * ra_stage_new:
 * @params: parameters of the rank, borrowed
 * @n_tp: tensor-parallel degree
 * @tp: (nullable): the rank's end of that group, borrowed; %NULL: degree 1
 * @recompute: RaRecompute
 * @n_positions: longest sequence, tokens
 *
 * Returns: (transfer full): free with ra_stage_free()
 */
RaStage *ra_stage_new(const RaBackend *backend, RaParams *params, uint32_t n_tp,
                      RaComm *tp, uint32_t recompute, uint32_t n_positions,
                      const RaNumerics *numerics);
void ra_stage_free(RaStage *stage);
/* Distributes the experts of the model over @ep, borrowed: this rank's end of a
 * group of ranks for which @stage's parameters are laid out. */
void ra_stage_spread_experts(RaStage *stage, RaComm *ep);
/* Shares sequences over @cp, borrowed: the tokens of a pass are then the part
 * of this rank, by ra_ring_cut() (exec/model/ring.h). */
void ra_stage_share_sequences(RaStage *stage, RaComm *cp);
/* With @sequence_parallel, the ranks of @stage's tensor-parallel group, if any,
 * share the rows between GEMMs.  Otherwise every rank has a row per token. */
void ra_stage_share_rows(RaStage *stage, gboolean sequence_parallel);
/* Captures decode steps, if the back end can, and replays them: `launch =
 * graph`. Excluded are steps whose ops are recorded, and experts that are
 * distributed over ranks. */
void ra_stage_capture_steps(RaStage *stage);
/* @sum += @to - @from, for each count. */
void ra_steps_add(RaStepsTally *sum, const RaStepsTally *to,
                  const RaStepsTally *from);
/* Makes @stage, which has no pass in progress, allocate from @slabs; stages
 * that never run concurrently share them. */
void ra_stage_share_slabs(RaStage *stage, RaSlabs *slabs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaStage, ra_stage_free)

/* @tokens is borrowed and must outlive the pass; @keep: a backward pass
 *   follows. */
RaPass *ra_pass_new(RaStage *stage, const RaPiece *piece,
                    const RaTokens *tokens, gboolean keep);
void ra_pass_free(RaPass *pass);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaPass, ra_pass_free)

/**
 * ra_pass_forward:
 * @input: (nullable): (rows, hidden) elements from the previous stage, at an
 *   address that the back end's write() accepts; %NULL with the embedding
 * @cache: (nullable): of a generation, which also stores keys and values
 * @slots: (nullable): (n_sequences) slot of each sequence in @cache, which
 *   reserves pages for their tokens
 *
 * With the lm head, computes log_prob and lse of every token.  With a @cache it
 * computes neither; ra_pass_last_logits() follows.
 *
 * Returns: (transfer none): (rows, hidden) for the next stage
 */
const RaElem *ra_pass_forward(RaPass *pass, const void *input, RaCache *cache,
                              const uint32_t *slots);

/**
 * ra_pass_backward:
 * @part: (nullable): layers of the pass's piece, if the backward pass comes in
 *   parts, last layers first; %NULL: all
 * @d_output: gradient of the output, at an address that write() accepts; (rows,
 *   hidden) elements or, with the head, (tokens) fp32 of log_prob or values;
 *   the first part reads it
 *
 * Adds to the gradients of the parameters.  Only once for a pass, which must
 * keep.
 *
 * Returns: (transfer none): (rows, hidden) gradient of the input of @part
 */
const RaElem *ra_pass_backward(RaPass *pass, const RaPiece *part,
                               const void *d_output);

/* Sets the place of the next ops: block @block of layer @layer.  Step numbers
 * continue if that was the place already. */
void ra_stage_enter(RaStage *stage, RaBlock block, uint32_t layer);

/* Waits for the recorded ops, which then have their times.  If the device has a
 * clock, call it at the end of each task: its marks belong to the thread, so
 * only one stage at a time may have unread marks. */
void ra_stage_time_ops(RaStage *stage);

/* Ends the task or, with @decode > 0, the decode step that was recorded
 * last. */
void ra_stage_leave(RaStage *stage, uint32_t decode, uint32_t group);

/* (n_sequences, vocab): logits of each sequence's last token, over all ranks.
 * @out_logits: (out): dense, in host memory; a device leaves it unchanged if
 *   the stage samples tokens. */
void ra_pass_last_logits(RaPass *pass, float *out_logits);

/**
 * ra_stage_decode:
 * @n: sequences
 * @slots: (n) of the cache
 * @tokens: (n) the newest token of each; may be %NULL without the embedding
 * @positions: (n) of that token, which is the number of cached tokens; the
 *   cache reserves pages for it
 * @input: (nullable): (n, hidden) elements, at an address that the back end's
 *   write() accepts; %NULL with the embedding
 * @out: (n, hidden) elements in the back end's memory; with the head as in
 *   ra_pass_last_logits()
 *
 * Runs one decode step through @piece.
 */
void ra_stage_decode(RaStage *stage, const RaPiece *piece, RaCache *cache,
                     uint32_t n, const uint32_t *slots, const uint32_t *tokens,
                     const uint32_t *positions, const void *input, void *out);

/* Once the host has waited for steps whose tokens stay on the device (RaDraw):
 * reads their checks.  Of a result that is not finite the step is said to be
 * @decode of @group, as in ra_stage_leave(): the first whose tokens say so. */
void ra_stage_settle_steps(RaStage *stage, uint32_t decode, uint32_t group);

/* (transfer full): a cache of @shape, with the stage's width instead of its
 * own. */
RaCache *ra_stage_new_cache(const RaStage *stage, const RaCacheShape *shape);

/* Sums gradients over the ranks of the tensor-parallel group that have a part
 * of each: those of key and value heads that several ranks have (more ranks
 * than heads), of norms of heads and of routers, and with shared rows of all
 * norms.  All ranks of the group call it. */
void ra_stage_sum_shared_grads(RaStage *stage);

/* Parameters that ra_stage_grad_squares() includes. */
typedef struct {
  gboolean dense;     /* all except experts */
  gboolean experts;   /* experts */
  gboolean embedding; /* the embedding; not if another stage counts a tied
                         one */
} RaGradParts;

/* Sum of squares of the gradients of @parts that this rank steps, restricted to
 * those whose first copy in the tensor-parallel group it has. */
double ra_stage_grad_squares(const RaStage *stage, const RaGradParts *parts);

#endif
