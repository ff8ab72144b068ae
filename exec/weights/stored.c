/* Mapping between tensors and their stored form, by family. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "exec/weights/stored.h"

/* 0, 1, 2 of q, k and v in one; -1: a tensor of its own.  Takes the mark off
 * @name. */
static int
take_part(char *name)
{
  static const char *const marks[] = {"[q]", "[k]", "[v]"};
  size_t n = strlen(name);

  for (int i = 0; i < 3; i++)
    if (g_str_has_suffix(name, marks[i])) {
      name[n - strlen(marks[i])] = '\0';
      return i;
    }
  return -1;
}

/* qwen2_moe has one shared expert: "mlp.shared_expert." */
static void
rename_shared(char *name)
{
  char *at = strstr(name, "shared_experts.");

  if (at)
    memmove(at + strlen("shared_expert"), at + strlen("shared_experts"),
            strlen(at + strlen("shared_experts")) + 1);
}

/* gpt_oss has all experts of a layer in one, inputs first, their gates and ups
 * in turns (GptOssExperts of modeling_gpt_oss.py, transformers 4.57). */
static void
init_gpt_oss(RaStored *stored, const RaModel *model, const RaTensor *tensor)
{
  gboolean down = tensor->kind == RA_TENSOR_DOWN;
  uint64_t rows = (down ? 1 : 2) * tensor->rows;

  if (tensor->kind == RA_TENSOR_ROUTER)
    g_snprintf(stored->name, sizeof stored->name,
               "model.layers.%d.mlp.router.%s", tensor->layer,
               tensor->bias ? "bias" : "weight");
  if (tensor->expert == RA_TENSOR_NO_EXPERT)
    return;
  g_snprintf(stored->name, sizeof stored->name,
             "model.layers.%d.mlp.experts.%s_proj%s", tensor->layer,
             down ? "down" : "gate_up", tensor->bias ? "_bias" : "");
  stored->n_experts = model->n_experts;
  stored->expert = (uint64_t)tensor->expert;
  stored->transposed = !tensor->bias;
  stored->dims[0] = tensor->bias ? rows : tensor->cols;
  stored->dims[1] = tensor->bias ? 1 : rows;
  if (down)
    return;
  stored->first = tensor->kind == RA_TENSOR_UP;
  stored->together = 1;
  stored->stride = 2;
}

void
ra_stored_init(RaStored *stored, const RaModel *model, const RaTensor *tensor)
{
  uint64_t q = (uint64_t)model->n_heads * model->head_dim;
  uint64_t kv = (uint64_t)model->n_kv_heads * model->head_dim;
  uint64_t rows = tensor->rows;
  int part;

  *stored = (RaStored){.n_rows = tensor->rows,
                       .n_cols = tensor->cols,
                       .together = tensor->rows,
                       .stride = tensor->rows,
                       .transposed = tensor->transposed};
  g_strlcpy(stored->name, tensor->name, sizeof stored->name);
  if (g_str_equal(ra_model_type(model), "qwen2_moe"))
    rename_shared(stored->name);
  part = take_part(stored->name);
  if (part >= 0 && model->family == RA_FAMILY_BLOOM) { /* q and kv are alike */
    rows = 3 * q;
    stored->first = (uint64_t)part * model->head_dim;
    stored->together = model->head_dim;
    stored->stride = 3 * (uint64_t)model->head_dim;
  } else if (part >= 0) {
    rows = q + 2 * kv;
    stored->first = part == 0 ? 0 : q + (part == 1 ? 0 : kv);
  }
  stored->n_dims =
      tensor->bias || tensor->kind == RA_TENSOR_NORM ||
              (tensor->kind == RA_TENSOR_MIXER && tensor->cols == 1)
          ? 1
          : 2;
  stored->dims[0] = tensor->transposed ? tensor->cols : rows;
  stored->dims[1] = tensor->transposed ? rows : tensor->cols;
  if (g_str_equal(ra_model_type(model), "gpt_oss"))
    init_gpt_oss(stored, model, tensor);
}

uint32_t
ra_stored_shape(const RaStored *stored,
                uint64_t out_dims[RA_SAFETENSORS_MAX_DIMS])
{
  uint32_t n = 0;

  if (stored->n_experts > 0)
    out_dims[n++] = stored->n_experts;
  for (uint32_t d = 0; d < stored->n_dims; d++)
    out_dims[n++] = stored->dims[d];
  return n;
}

gboolean
ra_stored_matches(const RaStored *stored, const RaSafetensor *found)
{
  uint64_t dims[RA_SAFETENSORS_MAX_DIMS];
  uint32_t n = ra_stored_shape(stored, dims);

  return found->n_dims == n && memcmp(found->dims, dims, n * sizeof *dims) == 0;
}

uint64_t
ra_stored_n_neighbours(const RaStored *stored, uint64_t row)
{
  return stored->together - row % stored->together;
}

/* Index of the element of the tensor at @row and @col. */
static uint64_t
index_of(const RaStored *stored, uint64_t row, uint64_t col)
{
  uint64_t at = stored->first + row / stored->together * stored->stride +
                row % stored->together;

  return stored->expert * stored->dims[0] * stored->dims[1] +
         (stored->transposed ? col * stored->dims[1] + at
                             : at * stored->dims[1] + col);
}

void
ra_stored_read(const RaStored *stored, const RaSafetensor *found,
               const RaRect *rect, float *out)
{
  g_autofree float *line = NULL;

  if (!stored->transposed && rect->n_cols == stored->dims[1]) {
    ra_safetensor_floats(found, index_of(stored, rect->row, 0),
                         rect->n_rows * rect->n_cols, out);
    return;
  }
  if (!stored->transposed) {
    for (uint64_t row = 0; row < rect->n_rows; row++)
      ra_safetensor_floats(found, index_of(stored, rect->row + row, rect->col),
                           rect->n_cols, out + row * rect->n_cols);
    return;
  }
  line = g_new(float, rect->n_rows + 1);
  for (uint64_t col = 0; col < rect->n_cols; col++) {
    ra_safetensor_floats(found, index_of(stored, rect->row, rect->col + col),
                         rect->n_rows, line);
    for (uint64_t row = 0; row < rect->n_rows; row++)
      out[row * rect->n_cols + col] = line[row];
  }
}

void
ra_stored_place(const RaStored *stored, const float *tensor, float *out)
{
  for (uint64_t row = 0; row < stored->n_rows; row++)
    for (uint64_t col = 0; col < stored->n_cols; col++)
      out[index_of(stored, row, col)] = tensor[row * stored->n_cols + col];
}

/* A property of @m that no class of transformers with its names has; NULL:
 * none.
 */
static const char *
find_foreign(const RaModel *m)
{
  switch (m->family) {
  case RA_FAMILY_GPT2:
  case RA_FAMILY_BLOOM:
  case RA_FAMILY_OTHER: /* its names are in its table */
    return NULL;
  case RA_FAMILY_MPT: /* MptForCausalLM looks at no key of these */
    return m->position != RA_POSITION_ALIBI ? "positions other than ALiBi"
           : m->n_kv_heads != m->n_heads    ? "heads that share keys"
           : m->qkv_bias || m->norm_bias    ? "biases"
           : m->ffn != 4 * m->hidden        ? "an MLP that is not 4 hidden wide"
                                            : NULL;
  default:
    return m->norm != RA_NORM_RMS              ? "LayerNorm"
           : m->mlp != RA_MLP_GATED            ? "an MLP without a gate"
           : m->position != RA_POSITION_ROTARY ? "positions that do not rotate"
           : m->n_experts > 0 && m->family != RA_FAMILY_MIXTRAL && !m->qk_norm
               ? "experts without norms of heads"
               : NULL;
  }
}

gboolean
ra_stored_supports(const RaModel *model, GError **error)
{
  const char *foreign = find_foreign(model);

  if (!foreign)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "model '%s' has %s, and as '%s' no checkpoint that transformers "
              "opens has that: its weights are seeded, not read or saved",
              model->name, foreign, ra_model_family_name(model->family));
  return FALSE;
}
