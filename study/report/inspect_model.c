/* Inspection of models. */
#include "config.h"

#include "graph/input/model_find.h"
#include "graph/op/activation.h"
#include "study/report/inspect.h"

static void
text_row(RaTable *table, const char *name, const char *value)
{
  ra_table_row(table);
  ra_table_text(table, name);
  ra_table_text(table, value);
}

static void
size_row(RaTable *table, const char *name, guint64 value)
{
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, value);

  text_row(table, name, text);
}

static RaTable *
make_shape(const RaModel *model)
{
  static const char *const positions[] = {"rotary", "learned", "alibi"};
  RaTable *table = ra_table_new("model");

  ra_table_column(table, "property", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "value", RA_UNIT_NONE, RA_CELL_TEXT);
  text_row(table, "name", model->name);
  text_row(table, "family", ra_model_type(model));
  size_row(table, "layers", model->n_layers);
  size_row(table, "hidden", model->hidden);
  size_row(table, "heads", model->n_heads);
  size_row(table, "kv-heads", model->n_kv_heads);
  size_row(table, "head-dim", model->head_dim);
  size_row(table, "ffn", model->ffn);
  text_row(table, "mlp", model->mlp == RA_MLP_GATED ? "gated" : "plain");
  if (model->n_experts > 0) {
    size_row(table, "moe-layers", ra_model_n_moe_layers(model));
    size_row(table, "experts", model->n_experts);
    size_row(table, "experts-per-token", model->experts_per_token);
    size_row(table, "expert-ffn", model->expert_ffn);
  }
  size_row(table, "vocab", model->vocab);
  text_row(table, "norm", model->norm == RA_NORM_RMS ? "rms" : "layer");
  text_row(table, "positions", positions[model->position]);
  if (model->max_positions > 0)
    size_row(table, "max-positions", model->max_positions);
  text_row(table, "tied-embeddings", model->tied_embeddings ? "yes" : "no");
  if (model->vision.kind != RA_VISION_NONE) {
    g_autofree char *tower = g_strdup_printf(
        "%u layers, %u wide, %u heads, %u patches a token",
        model->vision.n_layers, model->vision.hidden, model->vision.n_heads,
        model->vision.merge * model->vision.merge);

    text_row(table, "vision-tower", tower);
  }
  for (guint i = 0; model->notes && i < model->notes->len; i++)
    text_row(table, "note", model->notes->pdata[i]);
  return table;
}

static void
part_row(const RaModel *model, RaTable *table, const char *name, guint64 n)
{
  if (n == 0)
    return;
  ra_table_row(table);
  ra_table_text(table, name);
  ra_table_integer(table, n);
  ra_table_integer(table, n * model->param_bytes);
  ra_table_real(table, (double)n / (double)ra_model_n_params(model));
}

static RaTable *
make_parameters(const RaModel *model)
{
  RaTable *table = ra_table_new("parameters");
  guint64 mlp = 0, moe = 0, mixers = 0, norms = 0;
  guint32 n_of[RA_MODEL_MAX_KINDS];

  ra_model_count_kinds(model, 0, model->n_layers, n_of);
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++) {
    guint64 ffn = n_of[k] * ra_model_kind_n_params(
                                model, k, RA_PART_FFN | RA_PART_EXPERTS, 1);

    mixers += n_of[k] * ra_model_kind_n_params(model, k, RA_PART_MIXER, 1);
    norms += n_of[k] * ra_model_kind_n_params(model, k, RA_PART_NORMS, 1);
    if (model->kinds[k].ffn == RA_FFN_EXPERTS)
      moe += ffn;
    else
      mlp += ffn;
  }
  ra_table_column(table, "part", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "parameters", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "size_bytes", RA_UNIT_BYTES, RA_CELL_INTEGER);
  ra_table_column(table, "share_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  part_row(model, table, "vision", ra_model_vision_n_params(model, 1));
  part_row(model, table, "embedding",
           ra_model_embedding_n_params(model) +
               ra_model_embedding_norm_n_params(model));
  part_row(model, table, "positions", ra_model_position_n_params(model));
  part_row(model, table, "attention", mixers);
  part_row(model, table, "mlp", mlp);
  part_row(model, table, "experts", moe);
  part_row(model, table, "norms", norms + ra_model_final_norm_n_params(model));
  part_row(model, table, "head", ra_model_head_n_params(model));
  part_row(model, table, "all", ra_model_n_params(model));
  if (model->n_experts > 0)
    part_row(model, table, "active", ra_model_n_active_params(model));
  return table;
}

/* Cache of a sequence of @n tokens, in the type that the parameters were
 * published in: windows and states of all layers, and
 * what grows with every token. */
static guint64
cache_bytes(const RaModel *model, guint64 n)
{
  RaShard shard = {.model = model,
                   .tp = 1,
                   .dtype = model->param_bytes == 4   ? RA_DTYPE_FP32
                            : model->param_bytes == 1 ? RA_DTYPE_FP8
                                                      : RA_DTYPE_BF16};
  RaPiece whole = {.n_layers = model->n_layers};

  return n * ra_kv_token_bytes(&shard, &whole) +
         ra_kv_sequence_bytes(&shard, &whole, n);
}

static RaTable *
make_costs(const RaModel *model)
{
  static const guint32 lengths[] = {1, 1024, 8192, 32768};
  RaTable *table = ra_table_new("costs");

  ra_table_column(table, "sequence_tokens", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "forward_flop_per_token", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "kv_cache_bytes", RA_UNIT_BYTES, RA_CELL_INTEGER);
  for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
    guint64 n = lengths[i];
    RaBatch batch = {.n_sequences = 1,
                     .q_tokens = n,
                     .kv_tokens = n,
                     .pairs = n * (n + 1) / 2};

    ra_table_row(table);
    ra_table_integer(table, n);
    ra_table_real(table, ra_model_forward_flop(model, &batch) / (double)n);
    ra_table_integer(table, cache_bytes(model, n));
  }
  return table;
}

/* A row a kind of layer. */
static RaTable *
make_layers(const RaModel *model)
{
  RaTable *table = ra_table_new("layers");
  guint32 n_of[RA_MODEL_MAX_KINDS];
  guint element_bytes = model->param_bytes == 4 ? 4 : 2;

  ra_table_column(table, "kind", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "layers", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "first", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "layer_parameters", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "token_bytes", RA_UNIT_BYTES, RA_CELL_INTEGER);
  ra_table_column(table, "sequence_bytes", RA_UNIT_BYTES, RA_CELL_INTEGER);
  ra_model_count_kinds(model, 0, model->n_layers, n_of);
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++) {
    g_autofree char *text = ra_model_kind_text(model, k);
    guint64 token, sequence;
    guint32 first = 0;

    while (first + 1 < model->n_layers &&
           ra_model_layer_kind(model, first) != k)
      first++;
    ra_model_cache_bytes(model, first, 1, 1, element_bytes, G_MAXUINT32, &token,
                         &sequence);
    ra_table_row(table);
    ra_table_text(table, text);
    ra_table_integer(table, n_of[k]);
    ra_table_integer(table, first);
    ra_table_integer(table, ra_model_kind_n_params(model, k, RA_PART_ALL, 1));
    ra_table_integer(table, token);
    ra_table_integer(table, sequence);
  }
  return table;
}

GPtrArray *
ra_inspect_model(const RaModel *model)
{
  GPtrArray *tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  g_ptr_array_add(tables, make_shape(model));
  if (!ra_model_is_plain(model) || ra_model_n_kinds(model) > 1)
    g_ptr_array_add(tables, make_layers(model));
  g_ptr_array_add(tables, make_parameters(model));
  g_ptr_array_add(tables, make_costs(model));
  return tables;
}

/* Notes on parts of @model that are not modelled, in one text; NULL: none. */
static char *
join_notes(const RaModel *model)
{
  g_autoptr(GString) text = g_string_new(NULL);

  for (guint i = 0; model->notes && i < model->notes->len; i++)
    g_string_append_printf(text, "%s%s", i > 0 ? "; " : "",
                           (const char *)g_ptr_array_index(model->notes, i));
  return text->len > 0 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

static void
add_model(const RaModel *model, const char *name, RaTable *table)
{
  g_autofree char *notes = join_notes(model);

  ra_table_row(table);
  ra_table_text(table, name);
  ra_table_text(table, ra_model_type(model));
  ra_table_integer(table, model->n_layers);
  ra_table_integer(table, model->hidden);
  ra_table_integer(table, ra_model_n_params(model));
  ra_table_integer(table, cache_bytes(model, 1));
  if (notes)
    ra_table_text(table, notes);
  else
    ra_table_missing(table);
}

/* A row a name; @error leaves what was added. */
static gboolean
add_names(const RaModelHub *hub, const RaModelHubRow *row, RaTable *table,
          GError **error)
{
  for (guint k = 0; row->names[k]; k++) {
    const RaModelHubMatch match = {row, row->names[k], NULL, "", 0};
    g_autoptr(RaModel) model = ra_model_hub_model(hub, &match, error);

    if (!model)
      return FALSE;
    add_model(model, model->name, table);
  }
  return TRUE;
}

RaTable *
ra_inspect_models(const char *const *names, const RaModelHub *hub,
                  GError **error)
{
  g_autoptr(RaTable) table = ra_table_new("models");

  ra_table_column(table, "name", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "family", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "layers", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "hidden", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "parameters", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "token_cache_bytes", RA_UNIT_BYTES, RA_CELL_INTEGER);
  ra_table_column(table, "not_modelled", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; names && names[i]; i++) {
    g_autoptr(RaModel) model = ra_model_find(names[i], NULL, error);

    if (!model)
      return NULL;
    add_model(model, names[i], table);
  }
  for (guint i = 0; i < ra_model_hub_n_rows(hub); i++) {
    if (!add_names(hub, ra_model_hub_row(hub, i), table, error))
      return NULL;
  }
  return g_steal_pointer(&table);
}
