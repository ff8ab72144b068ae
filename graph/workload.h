/* The workload: the dataflow graph of one RLHF or post-training iteration.
 *
 * Models, model function calls on them, and edges derived from the names of
 * inputs and outputs.  Read from a `.workload` key file:
 *
 *     [workload]
 *     format = 1
 *     algorithm = ppo
 *     dataset = prompts              names of data that no call makes
 *     prompts = 512                  prompts an iteration
 *     samples-per-prompt = 1
 *     prompt-length = fixed(1024)
 *     response-length = lognormal(600, 450, 1024)
 *     mini-batches = 8               of the train calls
 *     epochs = 1
 *     staleness = 0                  of the generate calls
 *     [model actor]
 *     config = llama-3-70b.json
 *     trainable = true
 *     head = lm
 *     [call actor_generate]
 *     model = actor
 *     kind = generate
 *     inputs = prompts
 *     outputs = sequences, logprobs
 *     [call ref_inference]
 *     ...
 *     inputs = sequences:chunk(4)    starts on each quarter of the samples
 *
 * Invariants after ra_workload_load(): names are unique; every input is in the dataset
 * or made by exactly one call; the calls are acyclic and `order` lists them
 * topologically (ties by file order); a train call's model is trainable; chunk counts
 * are consistent with the batch.
 *
 * Sequence sets: a generate call makes a set of prompts x samples-per-prompt sequences; an inference or train call
 * works on the set of its first input; calls that read only the dataset have a set of their own
 * with lengths drawn from the laws (sft: 1 sequence a prompt; rm, dpo: samples-per-prompt = 2, chosen and rejected).
 *
 * Typical sizes: 4 models, 6 calls, 12 edges.
 */
#ifndef RA_GRAPH_WORKLOAD_H
#define RA_GRAPH_WORKLOAD_H

#include "base/keyfile.h"
#include "graph/length.h"
#include "graph/model.h"

#include <glib.h>
#include <stdint.h>

#define RA_NONE UINT32_MAX

typedef enum {
  RA_CALL_GENERATE,
  RA_CALL_INFERENCE,
  RA_CALL_TRAIN,
  RA_CALL_HOST
} RaCallKind;

typedef enum { RA_DTYPE_BF16, RA_DTYPE_FP16, RA_DTYPE_FP32, RA_DTYPE_FP8, RA_N_DTYPES } RaDtype;

/* Bytes of one element: 2, 2, 4, 1. */
guint ra_dtype_bytes(RaDtype dtype);

typedef enum { RA_OPTIMIZER_NONE, RA_OPTIMIZER_ADAMW } RaOptimizer;

/* A model as the workload uses it. */
typedef struct {
  const char *name;      /* "actor"; borrowed from the workload's file */
  const char *config;    /* as written */
  RaModel *model;        /* shape, owned; its head set from `head` */
  int head;              /* RaHead of graph/model.h */
  int dtype;             /* RaDtype of parameters and activations */
  int optimizer;         /* RaOptimizer; NONE where not trainable */
  gboolean trainable;    /* some call trains it */
  guint group;           /* of the key file, for messages */
} RaWorkloadModel;

/* One input of a call: an edge, or a piece of the dataset. */
typedef struct {
  const char *data;      /* name */
  uint32_t producer;     /* call index, or RA_NONE: from the dataset */
  uint32_t n_chunks;     /* 1: whole; n: the consumer starts on each of n chunks */
} RaInput;

/* A model function call. */
typedef struct {
  const char *name;             /* "actor_generate" */
  int kind;                     /* RaCallKind */
  uint32_t model;               /* index into models; RA_NONE for host */
  RaInput *inputs;              /* (n_inputs) */
  guint n_inputs;
  const char *const *outputs;   /* NULL-terminated names, borrowed */
  guint n_outputs;
  uint32_t samples_per_prompt;  /* of the set it makes, or reads from the dataset */
  uint32_t set;                 /* call that made or owns the sequence set it works on
                                   (its own index: generate, or dataset only) */
  uint32_t n_sequences;         /* of that set, an iteration */
  uint32_t n_mini_batches;      /* train: optimizer steps an epoch, >= 1 */
  uint32_t n_epochs;            /* train: >= 1 */
  uint32_t staleness;           /* versions that its parameters may lag: iteration k uses
                                   what training wrote in k-1-staleness */
  uint32_t n_parts;             /* pieces that it runs in, least common multiple of the
                                   chunk counts of its edges in and out */
  double host_s;                /* host: seconds an iteration */
  guint group;                  /* of the key file, for messages */
} RaCall;

typedef struct {
  RaKeyFile *file;        /* kept for names and messages; owned reference */
  const char *algorithm;  /* "ppo": a label, nothing is derived from it */
  uint32_t n_prompts;     /* an iteration */
  RaLength prompt_length;
  RaLength response_length;
  RaWorkloadModel *models; /* (n_models) file order */
  guint n_models;
  RaCall *calls;           /* (n_calls) file order */
  guint n_calls;
  uint32_t *order;         /* (n_calls) topological */
} RaWorkload;

/**
 * ra_workload_load:
 * @file: (transfer none): referenced; a caller may have ra_key_file_set() it
 * @error: %RA_ERROR_INPUT `file:line: ...` for every fault of the file: see
 *   tests/check_workload.c for the list, or of a model's config
 *
 * Model configs are found by ra_data_find("models", ...) relative to the file.
 *
 * Returns: (transfer full): ra_workload_free() it
 */
RaWorkload *ra_workload_load(RaKeyFile *file, GError **error);

void ra_workload_free(RaWorkload *workload);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaWorkload, ra_workload_free)

/* Index of the call or model named @name, or RA_NONE. */
uint32_t ra_workload_find_call(const RaWorkload *workload, const char *name);
uint32_t ra_workload_find_model(const RaWorkload *workload, const char *name);

/* The last train call (in topological order) of @model, or RA_NONE. */
uint32_t ra_workload_trainer(const RaWorkload *workload, uint32_t model);

#endif
