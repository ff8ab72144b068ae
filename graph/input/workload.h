/* Workload: the dataflow graph of one RLHF or post-training iteration.
 *
 * It has models, model function calls on them, and edges derived from the names
 * of inputs and outputs.  It is read from a `.workload` key file:
 *
 *     [workload]
 *     format = 1
 *     algorithm = ppo
 *     dataset = prompts              names of data that no call makes
 *     prompts = 512                  per iteration
 *     samples-per-prompt = 1
 *     prompt-length = fixed(1024)
 *     response-length = lognormal(600, 450, 1024)
 *     response-correlation = 0       between lengths of a prompt's responses
 *     mini-batches = 8               default of the train calls
 *     epochs = 1                     default of the train calls
 *     staleness = 0                  default of the generate calls
 *     data = pairs.ids               prompts and responses
 *     (graph/input/text_data.h);
 *                                    the lengths then give the bounds
 *     data-tokens = ids              ids | bytes
 *     [model actor]
 *     config = llama-3-70b.json
 *     trainable = true               default false
 *     head = lm                      lm | value
 *     dtype = bf16                   bf16 | fp16 | fp32 | fp8
 *     optimizer = adamw              default where trainable, else none
 *     [call actor_generate]
 *     model = actor
 *     kind = generate                generate | inference | train | host
 *     inputs = prompts
 *     outputs = sequences, logprobs
 *     [call ref_inference]
 *     ...
 *     inputs = sequences:chunk(4)    starts on each quarter of the prompts
 *     [call verify]
 *     kind = host                    has no model
 *     host-time = 5 s                per iteration
 *
 * A call may override samples-per-prompt, mini-batches, epochs or staleness.
 *
 * Invariants after ra_workload_load():
 * - names are unique;
 * - every input is in the dataset or made by exactly one call;
 * - the calls are acyclic and `order` lists them topologically (ties by file
 *   order);
 * - a train call's model is trainable;
 * - sequences divide by mini-batches and prompts by parts;
 * - a train call's parts divide its mini-batches: part c of n gates the
 *   mini-batches of the first epoch from c M / n on.
 *
 * Sequence sets: a generate call makes a set of prompts x samples-per-prompt
 * sequences.  An inference, train or host call works on the set of its first
 * input that a call made.  Calls that read only the dataset have a set of their
 * own with lengths sampled from the laws (sft: 1 sequence per prompt; rm, dpo:
 * samples-per-prompt = 2, chosen and rejected).
 *
 * Typical sizes: 4 models, 6 calls, 12 edges.
 */
#ifndef RA_GRAPH_INPUT_WORKLOAD_H
#define RA_GRAPH_INPUT_WORKLOAD_H

#include <glib.h>
#include <stdint.h>

#include "base/keyfile.h"
#include "graph/input/length.h"
#include "graph/input/model.h"
#include "graph/input/text_data.h"

#define RA_NONE UINT32_MAX

/* Bounds far above any real workload, which keep integer products small. */
#define RA_WORKLOAD_CALLS_MAX 1000
#define RA_WORKLOAD_MODELS_MAX 1000
#define RA_WORKLOAD_INPUTS_MAX 100 /* of one call; outputs too */
#define RA_WORKLOAD_CHUNKS_MAX 65536
#define RA_WORKLOAD_SEQUENCES_MAX 10000000
#define RA_NAME_MAX 64 /* bytes of a model's, call's or data's name */

typedef enum {
  RA_CALL_GENERATE,
  RA_CALL_INFERENCE,
  RA_CALL_TRAIN,
  RA_CALL_HOST
} RaCallKind;

typedef enum {
  RA_DTYPE_BF16,
  RA_DTYPE_FP16,
  RA_DTYPE_FP32,
  RA_DTYPE_FP8,
  RA_N_DTYPES
} RaDtype;

/* Bytes of one element: 2, 2, 4, 1. */
guint ra_dtype_bytes(RaDtype dtype);

/* Bytes of a value of 4 bits with its share of a scale: a byte for 32 values,
 * or for 16. */
#define RA_MXFP4_BYTES (17. / 32)
#define RA_NVFP4_BYTES (9. / 16)

/* Type of activations between the GEMMs of a model of @dtype: bf16 for an fp8
 * model, @dtype otherwise.  Only GEMMs compute in fp8, and only the key/value
 * cache is stored in it (Transformer Engine's user guide, "Using FP8";
 * torchao's float8 linears; vLLM's and TensorRT-LLM's fp8 layers with an fp8
 * cache). */
RaDtype ra_activation_dtype(RaDtype dtype);

typedef enum { RA_OPTIMIZER_NONE, RA_OPTIMIZER_ADAMW } RaOptimizer;

/* A model as the workload uses it. */
typedef struct {
  const char *name;    /* "actor"; borrowed from the workload's file */
  const char *config;  /* as written */
  RaModel *model;      /* shape, owned; its head set from `head` */
  int head;            /* RaModelHead of graph/input/model.h */
  int dtype;           /* RaDtype of parameters; see ra_op_dtype() */
  int optimizer;       /* RaOptimizer; NONE where not trainable */
  gboolean trainable;  /* some call trains it */
  RaModel *base;       /* @model without its adapters (graph/input/lora.h),
                          owned; NULL: it has no adapters */
  RaModel *adapters;   /* the adapters alone, owned; NULL: it has none */
  int lora_sync;       /* RaLoraSync: weights of calls that do not train */
  const char *base_of; /* model whose frozen weights this one is; NULL: none */
  guint group;         /* in the key file, for messages */
} RaWorkloadModel;

/* One input of a call: an edge, or a piece of the dataset. */
typedef struct {
  const char *data;  /* name; borrowed from the workload */
  uint32_t producer; /* call index, or RA_NONE: from the dataset */
  uint32_t n_chunks; /* 1: whole; n: the consumer starts on each of n chunks */
} RaInput;

/* How the tokens that a pass of generation verifies are guessed. */
typedef enum {
  RA_DRAFTS_LAYER, /* by one more layer of the model (MTP, EAGLE) */
  RA_DRAFTS_LOOKUP /* found in what is there already (n-grams, suffixes) */
} RaDraftsKind;

/* Speculative decoding: a pass verifies guessed tokens and makes one more. */
typedef struct {
  uint32_t n_tokens;    /* guessed before each pass; 0: it decodes one by one */
  int kind;             /* RaDraftsKind */
  double accepted_frac; /* share of them that stands, [0, 1] */
} RaDrafts;

/* A model function call. */
typedef struct {
  const char *name;            /* "actor_generate" */
  int kind;                    /* RaCallKind */
  uint32_t model;              /* index into models; RA_NONE for host */
  RaInput *inputs;             /* (n_inputs) owned */
  guint n_inputs;              /* >= 1 */
  const char *const *outputs;  /* NULL-terminated names, borrowed */
  guint n_outputs;             /* may be 0 */
  uint32_t samples_per_prompt; /* of its sequence set */
  uint32_t set;                /* call that made or owns its sequence set; its
                                  own index: generate, or dataset only */
  uint32_t n_sequences;        /* of that set, per iteration; per trip if the
                                  call runs in each trip */
  uint32_t n_mini_batches;     /* train: optimizer steps per epoch; else 1 */
  uint32_t n_epochs;           /* train: >= 1; else 1 */
  uint32_t staleness;          /* versions that its parameters may lag:
                                  iteration k uses what training wrote in
                                  k - 1 - staleness */
  uint32_t n_parts;            /* pieces that it runs in: least common multiple
                                  of the chunk counts of its edges in and out */
  double host_s;               /* host: seconds per iteration, or per trip if it
                                  runs in each trip; else 0 */
  gboolean each_trip;          /* runs in each trip of graph/input/trips.h */
  RaDrafts drafts;             /* generate: those of its passes */
  guint group;                 /* in the key file, for messages */
} RaCall;

/* Law of the latency of tools: graph/input/turns.h. */
typedef enum {
  RA_LATENCY_CONSTANT,
  RA_LATENCY_EXPONENTIAL,
  RA_LATENCY_LOGNORMAL
} RaLatencyKind;

typedef struct {
  RaLatencyKind kind;
  double mean_s, sd_s; /* sd_s: LOGNORMAL */
} RaLatency;

typedef struct _RaTurns RaTurns;
typedef struct _RaTurnKeys RaTurnKeys;

typedef struct {
  RaKeyFile *file;          /* kept for names and messages; owned reference */
  GStringChunk *texts;      /* owns the names of inputs */
  const char *algorithm;    /* "ppo": a label, except that reallot run
                               distinguishes rloo from grpo by it */
  uint32_t n_prompts;       /* per iteration */
  RaLength prompt_length;   /* tokens of a prompt, shared by its samples */
  RaLength response_length; /* tokens of a response, or of one turn of it;
                               sampled per sequence */
  double response_correlation; /* of two responses to one prompt, in [0, 1] */
  uint32_t n_trip_prompts;     /* generated per trip; 0: there are no trips */
  double pass_rate;            /* of a prompt's group, in (0, 1] */
  uint32_t max_trips;          /* per iteration, >= 1 */
  uint32_t n_images;           /* of a prompt, >= 1 if image_tokens > 0 */
  uint32_t image_tokens;       /* of a prompt: tokens of its images together */
  RaTextData *data;        /* real prompts and responses, owned; NULL: lengths
                                  are sampled */
  RaLength turns;          /* per sequence: graph/input/turns.h */
  RaLength tool_tokens;    /* tokens of a tool's answer between turns */
  RaLatency tool_latency;  /* seconds of a tool between turns */
  uint32_t n_sandboxes;    /* tools that run at once; 0: as many as called */
  RaWorkloadModel *models; /* (n_models) file order */
  guint n_models;          /* >= 1 unless all calls are host calls */
  RaCall *calls;           /* (n_calls) file order */
  guint n_calls;           /* >= 1 */
  uint32_t *order;         /* (n_calls) topological */
} RaWorkload;

/* TRUE if all sequences of all iterations have equal lengths: the laws are
 * fixed and there is no data. */
static inline gboolean
ra_workload_is_even(const RaWorkload *workload)
{
  return !workload->data && workload->prompt_length.kind == RA_LENGTH_FIXED &&
         workload->response_length.kind == RA_LENGTH_FIXED;
}

/**
 * ra_workload_load:
 * @file: (transfer none): referenced; a caller may have ra_key_file_set() it
 * @error: %RA_ERROR_INPUT `file:line: ...` for every fault of the file: see
 *   tests/graph/check_workload.c for the list, or of a model's config
 *
 * Model configs are found by ra_share_find("models", ...) relative to the file.
 *
 * Returns: (transfer full): ra_workload_free() it
 */
RaWorkload *ra_workload_load(RaKeyFile *file, GError **error);

/* (array length=out_n) (nullable): the keys that `[noun]` of a workload may
 * have, static; %NULL if a workload has no group `[noun]`. */
const RaKeySpec *ra_workload_key_specs(const char *noun, gsize *out_n);

/* ra_key_file_hash() of its file; equal for equal workloads. */
uint64_t ra_workload_hash(const RaWorkload *workload);

void ra_workload_free(RaWorkload *workload);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaWorkload, ra_workload_free)

/* Index of the call or model named @name, or RA_NONE. */
uint32_t ra_workload_find_call(const RaWorkload *workload, const char *name);
uint32_t ra_workload_find_model(const RaWorkload *workload, const char *name);

/* Position of @call in the topological order. */
guint ra_workload_place(const RaWorkload *workload, uint32_t call);

/* The last train call (in topological order) of @model, or RA_NONE. */
uint32_t ra_workload_trainer(const RaWorkload *workload, uint32_t model);

#endif
