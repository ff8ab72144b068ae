/* LoRA adapters: keys, checks, sizes and the records of a model. */
#include "config.h"

#include <string.h>

#include "graph/input/lora.h"
#include "graph/input/plan.h"

const char *const ra_lora_sync_words[] = {"adapters", "merged", NULL};

/* Matrices that may have adapters, by the names that PEFT uses. */
static const struct {
  const char *word;
  RaTensorKind kind;
} targets[] = {{"q", RA_TENSOR_Q},           {"k", RA_TENSOR_K},
               {"v", RA_TENSOR_V},           {"o", RA_TENSOR_O},
               {"gate", RA_TENSOR_GATE},     {"up", RA_TENSOR_UP},
               {"down", RA_TENSOR_DOWN},     {"in", RA_TENSOR_LINEAR_IN},
               {"out", RA_TENSOR_LINEAR_OUT}};

static uint64_t
ceil_div(uint64_t a, uint64_t b)
{
  return (a + b - 1) / b;
}

static gboolean
is_mlp(RaTensorKind kind)
{
  return kind == RA_TENSOR_GATE || kind == RA_TENSOR_UP ||
         kind == RA_TENSOR_DOWN;
}

/* TRUE if some layers of @model are gated delta nets. */
static gboolean
has_delta(const RaModel *model)
{
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++)
    if (model->kinds[k].mixer == RA_MIXER_DELTA)
      return TRUE;
  return FALSE;
}

/* TRUE if the matrices of all layers are known one by one: plain attention, or
 * with gated delta nets as in Qwen3-Next and Qwen3.5. */
static gboolean
is_known(const RaModel *model)
{
  if (!has_delta(model))
    return ra_model_is_plain(model);
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++) {
    const RaLayerKind *kind = &model->kinds[k];

    if (kind->ffn == RA_FFN_NONE || kind->window > 0 || kind->one_matrix ||
        (kind->mixer != RA_MIXER_ATTENTION && kind->mixer != RA_MIXER_DELTA))
      return FALSE;
  }
  return model->attention_gate <= 1;
}

/* TRUE if @model can have adapters of @kind. */
static gboolean
can_have(const RaModel *model, RaTensorKind kind)
{
  if (kind == RA_TENSOR_LINEAR_IN || kind == RA_TENSOR_LINEAR_OUT)
    return has_delta(model);
  return !is_mlp(kind) ||
         (model->n_experts == 0 &&
          (kind != RA_TENSOR_GATE || model->mlp == RA_MLP_GATED));
}

static guint32
all_targets(const RaModel *model)
{
  guint32 bits = 0;

  for (guint i = 0; i < G_N_ELEMENTS(targets); i++)
    if (can_have(model, targets[i].kind))
      bits |= 1u << targets[i].kind;
  return bits;
}

/* @bits: by RaTensorKind, not empty. */
static void
set_adapters(RaModel *model, guint32 rank, guint32 bits)
{
  g_return_if_fail(model && rank > 0 && bits != 0);
  model->lora_rank = rank;
  model->lora_targets = bits;
}

static RaModel *
copy_of(const RaModel *model)
{
  RaModel *copy = g_memdup2(model, sizeof *model);

  copy->name = g_strdup(model->name);
  copy->path = NULL;
  copy->notes = NULL;
  copy->layer_kind =
      g_memdup2(model->layer_kind, model->layer_kind ? model->n_layers : 0);
  return copy;
}

/* (transfer full): @model, which has adapters, without them. */
static RaModel *
base_new(const RaModel *model)
{
  RaModel *base = copy_of(model);

  base->lora_rank = 0;
  return base;
}

/* (transfer full): the adapters of @model alone. */
static RaModel *
adapters_new(const RaModel *model)
{
  RaModel *adapters = copy_of(model);

  g_return_val_if_fail(model->lora_rank > 0, adapters);
  adapters->lora_only = TRUE;
  adapters->tied_embeddings = FALSE; /* it has none of them */
  return adapters;
}

gboolean
ra_lora_fuses_gates(const RaModel *model)
{
  return g_str_has_prefix(ra_model_type(model), "qwen3_next");
}

guint
ra_lora_linear_in(const RaModel *m, guint32 tp, uint64_t out[4])
{
  uint64_t heads = ceil_div(m->n_value_heads, tp);
  uint64_t keys = ceil_div(m->n_key_heads, tp) * m->key_dim;
  uint64_t states = heads * m->state_dim;

  if (ra_lora_fuses_gates(m)) {
    out[0] = 2 * (keys + states);
    out[1] = 2 * heads;
    return 2;
  }
  out[0] = 2 * keys + states;
  out[1] = states;
  out[2] = out[3] = heads;
  return 4;
}

/* A matrix, or one of @tp ranks' part of what is cut of it. */
typedef struct {
  RaTensorKind kind;
  uint64_t in, out;
} Matrix;

#define MAX_MATRICES 8 /* of a layer */

/* Matrices of a layer of kind @k that may have adapters. */
static guint
matrices_of(const RaModel *m, guint32 k, guint32 tp, Matrix *out)
{
  const RaLayerKind *kind = &m->kinds[k];
  uint64_t h = m->hidden, ffn = ceil_div(m->ffn, tp), in[4];
  uint64_t dim = ra_model_kind_head_dim(m, k);
  uint64_t q = ceil_div(ra_model_kind_heads(m, k), tp) * dim;
  uint64_t kv = ceil_div(ra_model_kind_kv_heads(m, k), tp) * dim;
  guint n = 0, n_in;

  if (kind->mixer == RA_MIXER_DELTA) {
    n_in = ra_lora_linear_in(m, tp, in);
    for (guint i = 0; i < n_in; i++)
      out[n++] = (Matrix){RA_TENSOR_LINEAR_IN, h, in[i]};
    out[n++] = (Matrix){RA_TENSOR_LINEAR_OUT,
                        ceil_div(m->n_value_heads, tp) * m->state_dim, h};
  } else {
    out[n++] = (Matrix){RA_TENSOR_Q, h, m->attention_gate == 1 ? 2 * q : q};
    out[n++] = (Matrix){RA_TENSOR_K, h, kv};
    out[n++] = (Matrix){RA_TENSOR_V, h, kv};
    out[n++] = (Matrix){RA_TENSOR_O, q, h};
  }
  out[n++] = (Matrix){RA_TENSOR_GATE, h, ffn};
  out[n++] = (Matrix){RA_TENSOR_UP, h, ffn};
  out[n++] = (Matrix){RA_TENSOR_DOWN, ffn, h};
  g_assert(n <= MAX_MATRICES);
  return n;
}

guint64
ra_lora_n_params(const RaModel *model, guint32 first_layer, guint32 n_layers,
                 guint32 tp)
{
  guint32 n_of[RA_MODEL_MAX_KINDS];
  guint64 n = 0;

  if (model->lora_rank == 0)
    return 0;
  ra_model_count_kinds(model, first_layer, n_layers, n_of);
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++) {
    Matrix matrices[MAX_MATRICES];
    guint n_matrices = matrices_of(model, k, tp, matrices);

    for (guint i = 0; i < n_matrices; i++)
      if (ra_lora_has(model, matrices[i].kind))
        n += n_of[k] * model->lora_rank * (matrices[i].in + matrices[i].out);
  }
  return n;
}

const RaModel *
ra_lora_call_model(const RaWorkload *workload, guint32 call)
{
  const RaCall *c = &workload->calls[call];
  const RaWorkloadModel *m = &workload->models[c->model];

  return m->base && m->lora_sync == RA_LORA_SYNC_MERGED &&
                 c->kind != RA_CALL_TRAIN
             ? m->base
             : m->model;
}

const RaModel *
ra_lora_trained_model(const RaWorkloadModel *model)
{
  return model->adapters ? model->adapters : model->model;
}

const RaModel *
ra_lora_moved_model(const RaWorkloadModel *model, int residency)
{
  if (!model->adapters)
    return model->model;
  if (model->lora_sync == RA_LORA_SYNC_MERGED)
    return model->base;
  return residency == RA_RESIDENCY_KEEP ? model->adapters : model->model;
}

/* ---- Reading --------------------------------------------------------------*/

static gboolean
read_target(const RaWorkload *workload, const RaWorkloadModel *model,
            const char *word, guint32 *bits, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS(targets); i++) {
    if (!g_str_equal(word, targets[i].word))
      continue;
    *bits |= 1u << targets[i].kind;
    return can_have(model->model, targets[i].kind) ||
           ra_key_file_fail(workload->file, model->group, "lora-targets", error,
                            "'%s' has no dense matrix '%s' to adapt, expected "
                            "others of q k v o gate up down in out",
                            model->name, word);
  }
  return ra_key_file_fail(workload->file, model->group, "lora-targets", error,
                          "unknown target '%s', expected some of q k v o gate "
                          "up down in out",
                          word);
}

char *
ra_lora_targets_text(const RaModel *model)
{
  g_autoptr(GString) text = g_string_new(NULL);

  g_return_val_if_fail(model->lora_rank > 0, NULL);
  if (model->lora_targets == all_targets(model))
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS(targets); i++)
    if (model->lora_targets & 1u << targets[i].kind)
      g_string_append_printf(text, "%s%s", text->len ? ", " : "",
                             targets[i].word);
  return g_string_free(g_steal_pointer(&text), FALSE);
}

gboolean
ra_lora_is_target(const char *word)
{
  for (guint i = 0; i < G_N_ELEMENTS(targets); i++)
    if (g_str_equal(word, targets[i].word))
      return TRUE;
  return FALSE;
}

gboolean
ra_lora_read(RaWorkload *workload, RaWorkloadModel *model,
             const RaLoraKeys *keys, GError **error)
{
  static const char *const with_rank[] = {"lora-targets", "lora-sync"};
  const RaKeyFile *file = workload->file;
  guint32 bits = 0;

  model->base_of = keys->base_of;
  model->lora_sync = keys->sync;
  for (guint i = 0; keys->rank == 0 && i < G_N_ELEMENTS(with_rank); i++)
    if (ra_key_file_get(file, model->group, with_rank[i]))
      return ra_key_file_fail(
          file, model->group, with_rank[i], error,
          "'%s' of '%s', which has no adapters, expected 'lora-rank' too",
          with_rank[i], model->name);
  if (keys->rank == 0)
    return TRUE;
  if (!model->trainable)
    return ra_key_file_fail(file, model->group, "lora-rank", error,
                            "'lora-rank' of '%s', which nothing trains, "
                            "expected 'trainable = true'",
                            model->name);
  if (!is_known(model->model))
    return ra_key_file_fail(file, model->group, "lora-rank", error,
                            "'lora-rank' of '%s', whose layers are neither "
                            "plain attention nor gated delta nets, expected "
                            "none: adapters of '%s' are not modelled",
                            model->name, ra_model_type(model->model));
  for (guint i = 0; keys->targets && keys->targets[i]; i++)
    if (!read_target(workload, model, keys->targets[i], &bits, error))
      return FALSE;
  set_adapters(model->model, keys->rank,
               bits ? bits : all_targets(model->model));
  model->base = base_new(model->model);
  model->adapters = adapters_new(model->model);
  return TRUE;
}

gboolean
ra_lora_check_bases(const RaWorkload *workload, GError **error)
{
  for (guint i = 0; i < workload->n_models; i++) {
    const RaWorkloadModel *m = &workload->models[i], *of;
    guint32 at;

    if (!m->base_of)
      continue;
    at = ra_workload_find_model(workload, m->base_of);
    of = at == RA_NONE ? NULL : &workload->models[at];
    if (!of || !of->adapters)
      return ra_key_file_fail(workload->file, m->group, "base-of", error,
                              "'base-of' of '%s' is '%s', expected a model "
                              "with 'lora-rank'",
                              m->name, m->base_of);
    if (m->trainable || strcmp(m->config, of->config) != 0 ||
        m->head != of->head || m->dtype != of->dtype)
      return ra_key_file_fail(workload->file, m->group, "base-of", error,
                              "'%s' cannot be the base of '%s', expected "
                              "config, head and dtype of '%s' and 'trainable = "
                              "false'",
                              m->name, of->name, of->name);
  }
  return TRUE;
}
