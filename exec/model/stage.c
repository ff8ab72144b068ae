/* A stage: creation, and its settings. */
#include "config.h"

#include "base/error.h"
#include "exec/model/stage_steps.h"
#include "kernels/cpu/cpu_pointwise.h"

/* A property of layers of kind @k that the executor refuses, with the key of
 * config.json that decides; NULL: none. */
static const char *
foreign_kind(const RaModel *m, const RaLayerKind *k)
{
  static const char *const mixers[RA_N_MIXERS] = {
      [RA_MIXER_DELTA] = "gated delta nets ('layer_types')",
      [RA_MIXER_KIMI] = "Kimi delta attention ('linear_attn_config')",
      [RA_MIXER_MAMBA] = "Mamba-2 ('layer_types', 'hybrid_override_pattern')",
      [RA_MIXER_CONV] = "short convolutions ('layer_types')",
      [RA_MIXER_COMPRESSED] =
          "compressed attention ('layer_types', 'compress_ratios')",
      [RA_MIXER_NONE] = "layers without a mixer ('layer_types')"};

  return k->indexer && m->index_block > 0
             ? "an indexer of blocks ('layer_types', 'sparse_attention_config')"
         : k->indexer       ? "an indexer of keys ('index_topk')"
         : mixers[k->mixer] ? mixers[k->mixer]
         : m->kv_rank > 0 && k->mixer != RA_MIXER_LATENT
             ? "latent attention in some layers ('kv_lora_rank')"
         : k->ffn == RA_FFN_NONE ? "layers of a mixer alone ('layer_types')"
         : k->nope               ? "layers without rotary positions"
         : k->n_heads > 0 || k->head_dim > 0 || k->n_kv_heads > 0
             ? "layers whose heads differ ('per_layer_config')"
             : NULL;
}

static const char *
foreign_layers(const RaModel *m)
{
  const char *what = NULL;

  for (guint32 k = 0; !what && k < ra_model_n_kinds(m); k++)
    what = foreign_kind(m, &m->kinds[k]);
  return what;
}

/* TRUE if the numbers of @model's family are known, which the tables of shapes
 * do not have: exec/weights/weights_family.c. */
static gboolean
is_known(const RaModel *model)
{
  static const char *const types[] = {"qwen2_moe",     "glm4_moe",    "gpt_oss",
                                      "deepseek_v2",   "deepseek_v3", "kimi_k2",
                                      "glm4_moe_lite", NULL};

  return model->family != RA_FAMILY_OTHER ||
         g_strv_contains(types, ra_model_type(model));
}

gboolean
ra_stage_supports(const RaModel *model, GError **error)
{
  static const char *const families[RA_FAMILY_OTHER + 1] = {
      [RA_FAMILY_NEMOTRON] = "norms whose scale is stored less one",
      [RA_FAMILY_SMOLLM3] = "layers without rotary positions",
      [RA_FAMILY_GRANITE] = "factors on embeddings, residuals and logits",
      [RA_FAMILY_PHI3] = "heads of which a part rotates",
      [RA_FAMILY_MINISTRAL3] = "queries that are scaled by their position"};
  const char *what = families[model->family];

  if (!what && model->mlp != RA_MLP_GATED && model->n_experts > 0)
    what = "experts without a gate";
  if (!what && model->qk_norm && model->norm != RA_NORM_RMS)
    what = "norms of heads beside LayerNorm";
  if (!what && model->vision.kind != RA_VISION_NONE)
    what = "a vision tower ('vision_config')";
  if (!what)
    what = foreign_layers(model);
  if (!what && model->kv_rank > 0 && model->qkv_bias)
    what = "biases of latents ('attention_bias')";
  if (!what && !is_known(model))
    what = "layers of a family for plans alone ('model_type')";
  if (!what)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "model '%s' has %s, which the executor does not run", model->name,
              what);
  return FALSE;
}

static float *
new_rope_table(const RaStage *s)
{
  gsize n = (gsize)s->n_positions * s->rotary_dim;
  g_autofree float *made = g_new(float, n + 1);
  float *table = s->backend->alloc(n * sizeof *table);

  ra_cpu_rope_table(s->n_positions, s->rotary_dim, &s->numerics.rope, made);
  s->backend->write(table, made, n * sizeof *table);
  return table;
}

/* Slopes of the rank's heads; NULL: the model has other positions. */
static float *
new_slopes(const RaStage *s, uint32_t rank)
{
  float *slopes;

  if (s->model->position != RA_POSITION_ALIBI)
    return NULL;
  slopes = g_new(float, s->q_heads);
  for (uint32_t i = 0; i < s->q_heads; i++)
    slopes[i] = ra_cpu_alibi_slope(rank * s->q_heads + i, s->model->n_heads);
  return slopes;
}

/* modeling_mpt.py and modeling_nemotron.py of transformers 4.46; the others'
 * are gpt2's "gelu_new". */
static RaActivation
family_activation(const RaModel *model)
{
  return model->family == RA_FAMILY_MPT        ? RA_ACTIVATION_GELU
         : model->family == RA_FAMILY_NEMOTRON ? RA_ACTIVATION_RELU2
                                               : RA_ACTIVATION_GELU_TANH;
}

RaStage *
ra_stage_new(const RaBackend *backend, RaParams *params, uint32_t n_tp,
             RaComm *tp, uint32_t recompute, uint32_t n_positions,
             const RaNumerics *numerics)
{
  const RaModel *m = params->model;
  RaStage *s = g_new0(RaStage, 1);

  s->backend = backend;
  s->checks_ops = backend->is_host;
  s->model = m;
  s->params = params;
  s->tp = n_tp > 1 ? tp : NULL;
  s->numerics = *numerics;
  s->recompute = recompute;
  s->q_heads = m->n_heads / n_tp;
  s->kv_heads = MAX(m->n_kv_heads / n_tp, 1u);
  s->ffn = m->ffn / n_tp;
  s->expert_ffn = m->expert_ffn / n_tp;
  s->n_ep = 1;
  s->n_tp = n_tp;
  s->vocab_pad = (m->vocab + n_tp - 1) / n_tp;
  s->logits_row = ra_logits_row(s->vocab_pad, backend->elem_bytes);
  s->n_positions = n_positions;
  s->rotary_dim = numerics->rotary_dim ? numerics->rotary_dim
                  : m->kv_rank > 0     ? m->rope_dim
                                       : m->head_dim;
  s->cos_sin = new_rope_table(s);
  s->slabs = ra_slabs_new(backend);
  s->slopes = new_slopes(s, s->tp ? s->tp->rank : 0);
  if (s->numerics.activation == RA_ACTIVATION_FAMILY)
    s->numerics.activation = family_activation(m);
  ra_stage_leave(s, 0, 0);
  return s;
}

void
ra_stage_free(RaStage *stage)
{
  if (!stage)
    return;
  if (stage->ops)
    g_array_unref(stage->ops);
  ra_steps_free(stage->steps);
  ra_slabs_unref(stage->slabs);
  stage->backend->free(stage->cos_sin);
  g_free(stage->slopes);
  g_free(stage);
}

void
ra_stage_spread_experts(RaStage *stage, RaComm *ep)
{
  stage->n_ep = ep ? ep->n_ranks : 1;
  stage->ep = stage->n_ep > 1 ? ep : NULL;
}

void
ra_stage_share_sequences(RaStage *stage, RaComm *cp)
{
  stage->cp = cp && cp->n_ranks > 1 ? cp : NULL;
}

void
ra_stage_share_rows(RaStage *stage, gboolean sequence_parallel)
{
  stage->sequence_parallel = sequence_parallel && stage->tp;
}

void
ra_stage_enter(RaStage *stage, RaBlock block, uint32_t layer)
{
  RaOpPlace *at = &stage->place;

  if (at->block == block && at->layer == layer)
    return;
  at->block = block;
  at->layer = layer;
  at->step = 0;
}

void
ra_stage_leave(RaStage *stage, uint32_t decode, uint32_t group)
{
  stage->place =
      (RaOpPlace){.decode = decode, .group = group, .block = RA_N_BLOCKS};
}

void
ra_stage_capture_steps(RaStage *stage)
{
  if (stage->backend->begin_capture && !stage->steps)
    stage->steps = ra_steps_new(stage->backend);
}

void
ra_stage_share_slabs(RaStage *stage, RaSlabs *slabs)
{
  ra_slabs_unref(stage->slabs);
  stage->slabs = ra_slabs_ref(slabs);
}

RaElem *
ra_stage_take(RaStage *stage, gsize n)
{
  return ra_slabs_take(stage->slabs, n * stage->backend->elem_bytes);
}

void *
ra_stage_take_bytes(RaStage *stage, gsize n_bytes)
{
  return ra_slabs_take(stage->slabs, n_bytes);
}

void
ra_stage_give(RaStage *stage, void *slab)
{
  ra_slabs_give(stage->slabs, slab);
}

const RaElem *
ra_stage_weight(const RaStage *stage, RaTensorKind kind, gint32 layer,
                gboolean bias)
{
  const RaParam *param = ra_params_find(stage->params, kind, layer, bias);

  return param ? ra_stage_at(stage, (const RaElem *)stage->params->weights,
                             param->offset)
               : NULL;
}

const RaElem *
ra_stage_expert_weight(const RaStage *stage, RaTensorKind kind, gint32 layer,
                       gboolean bias)
{
  const RaParam *param =
      ra_params_find_expert(stage->params, kind, layer, bias);

  return param ? ra_stage_at(stage, (const RaElem *)stage->params->weights,
                             param->offset)
               : NULL;
}

float *
ra_stage_expert_grad(const RaStage *stage, RaTensorKind kind, gint32 layer,
                     gboolean bias)
{
  const RaParam *param =
      ra_params_find_expert(stage->params, kind, layer, bias);

  return param ? stage->params->grads + param->offset : NULL;
}

float *
ra_stage_grad(const RaStage *stage, RaTensorKind kind, gint32 layer,
              gboolean bias)
{
  const RaParam *param = ra_params_find(stage->params, kind, layer, bias);

  return param ? stage->params->grads + param->offset : NULL;
}

RaCache *
ra_stage_new_cache(const RaStage *stage, const RaCacheShape *shape)
{
  RaCacheShape mine = *shape;

  mine.latent = ra_stage_is_latent(stage);
  mine.width = mine.latent
                   ? (gsize)stage->model->kv_rank + stage->model->rope_dim
                   : (gsize)stage->kv_heads * stage->model->head_dim;
  return ra_cache_new(stage->slabs, stage->backend, &mine);
}
