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
} targets[] = {{"q", RA_TENSOR_Q},       {"k", RA_TENSOR_K},
               {"v", RA_TENSOR_V},       {"o", RA_TENSOR_O},
               {"gate", RA_TENSOR_GATE}, {"up", RA_TENSOR_UP},
               {"down", RA_TENSOR_DOWN}};

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

/* TRUE if @model can have adapters of @kind. */
static gboolean
can_have(const RaModel *model, RaTensorKind kind)
{
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

/* Inputs and outputs of a matrix of @kind, and of one of @tp ranks' part of
 * what is cut of them. */
static void
dims_of(const RaModel *m, RaTensorKind kind, uint32_t tp, uint64_t *in,
        uint64_t *out)
{
  uint64_t q = ceil_div(m->n_heads, tp) * m->head_dim;
  uint64_t kv = ceil_div(m->n_kv_heads, tp) * m->head_dim;
  uint64_t ffn = ceil_div(m->ffn, tp);

  *in = kind == RA_TENSOR_O ? q : kind == RA_TENSOR_DOWN ? ffn : m->hidden;
  *out = kind == RA_TENSOR_Q                              ? q
         : kind == RA_TENSOR_K || kind == RA_TENSOR_V     ? kv
         : kind == RA_TENSOR_GATE || kind == RA_TENSOR_UP ? ffn
                                                          : m->hidden;
}

guint64
ra_lora_rank_layer_n_params(const RaModel *model, guint32 tp)
{
  guint64 n = 0;

  for (guint i = 0; i < G_N_ELEMENTS(targets); i++) {
    uint64_t in, out;

    if (!ra_lora_has(model, targets[i].kind))
      continue;
    dims_of(model, targets[i].kind, tp, &in, &out);
    n += model->lora_rank * (in + out);
  }
  return n;
}

guint64
ra_lora_layer_n_params(const RaModel *model)
{
  return ra_lora_rank_layer_n_params(model, 1);
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
                            "others of q k v o gate up down",
                            model->name, word);
  }
  return ra_key_file_fail(workload->file, model->group, "lora-targets", error,
                          "unknown target '%s', expected some of q k v o gate "
                          "up down",
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
  if (!ra_model_is_plain(model->model))
    return ra_key_file_fail(file, model->group, "lora-rank", error,
                            "'lora-rank' of '%s', whose layers are not plain "
                            "attention, expected none: adapters of '%s' are "
                            "not modelled",
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
