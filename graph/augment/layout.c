/* Layouts: units over stages, spans over tensor-parallel ranks. */
#include "config.h"

#include "graph/augment/layout.h"

/* The class that tensor @index begins in unit kind @kind, whose first tensor
 * is @base. */
static RaTensorClass
make_class(const RaModel *model, RaUnitKind kind, uint32_t base, uint32_t index)
{
  RaTensorClass c = {.unit = kind, .first = index - base, .n = 1, .stride = 1};

  ra_model_tensor(model, index, &c.tensor);
  return c;
}

/* Classes of the layer that begins at tensor @base; returns its tensors. */
static uint32_t
add_layer(GArray *classes, const RaModel *model, RaUnitKind kind, uint32_t base)
{
  uint32_t n_tensors = ra_model_n_tensors(model);
  uint32_t n_expert = 0; /* tensors of one expert */
  gint32 layer = 0;

  for (uint32_t i = base; i < n_tensors; i++) {
    RaTensorClass c = make_class(model, kind, base, i);
    if (i == base)
      layer = c.tensor.layer;
    if (c.tensor.layer != layer)
      return i - base;
    if (c.tensor.expert == 0) {
      n_expert++;
      c.n = model->n_experts;
    } else if (c.tensor.expert == 1) {
      /* experts are alike and neighbours: over all others at once */
      i += n_expert * (model->n_experts - 1) - 1;
      continue;
    }
    g_array_append_val(classes, c);
  }
  return n_tensors - base;
}

/* An expert's tensors recur after as many places as its layer has of them. */
static void
set_strides(GArray *classes)
{
  uint32_t n_expert[RA_N_UNIT_KINDS] = {0};

  for (guint i = 0; i < classes->len; i++) {
    const RaTensorClass *c = &g_array_index(classes, RaTensorClass, i);
    n_expert[c->unit] += c->tensor.expert == 0;
  }
  for (guint i = 0; i < classes->len; i++) {
    RaTensorClass *c = &g_array_index(classes, RaTensorClass, i);
    if (c->tensor.expert == 0)
      c->stride = n_expert[c->unit];
  }
}

/* Classes before the layers, embedding first; returns their tensors. */
static uint32_t
add_before(GArray *classes, const RaModel *model)
{
  uint32_t n_tensors = ra_model_n_tensors(model);
  uint32_t n_before = 0;

  for (; n_before < n_tensors; n_before++) {
    RaTensorClass c = make_class(model, RA_UNIT_FIRST, 0, n_before);
    if (c.tensor.layer != RA_TENSOR_NO_LAYER)
      break;
    if (c.tensor.kind == RA_TENSOR_EMBEDDING) {
      c.unit = RA_UNIT_EMBEDDING;
      g_array_prepend_val(classes, c);
    } else {
      g_array_append_val(classes, c);
    }
  }
  return n_before;
}

static RaUnitKind
layer_kind(const RaModel *model, uint32_t layer)
{
  return (RaUnitKind)(RA_UNIT_LAYER + ra_model_layer_kind(model, layer));
}

/* Appends the classes of the layers and of what follows, and fills the
 * table's units; all layers of a kind have as many tensors. */
static void
add_units(RaTensorTable *table, GArray *classes, uint32_t n_before)
{
  const RaModel *model = table->model;
  uint32_t n_in_layer[RA_N_UNIT_KINDS] = {0};
  uint32_t first = n_before;

  table->unit_kind[0] = RA_UNIT_EMBEDDING;
  table->unit_kind[1] = RA_UNIT_FIRST;
  for (uint32_t layer = 0; layer < model->n_layers; layer++) {
    RaUnitKind kind = layer_kind(model, layer);
    if (n_in_layer[kind] == 0)
      n_in_layer[kind] = add_layer(classes, model, kind, first);
    table->unit_kind[2 + layer] = (uint8_t)kind;
    table->unit_first[2 + layer] = first;
    first += n_in_layer[kind];
  }
  table->unit_kind[table->n_units - 1] = RA_UNIT_LAST;
  table->unit_first[table->n_units - 1] = first;
  for (uint32_t i = first; i < ra_model_n_tensors(model); i++) {
    RaTensorClass c = make_class(model, RA_UNIT_LAST, first, i);
    g_array_append_val(classes, c);
  }
}

RaTensorTable *
ra_tensor_table_new(const RaModel *model)
{
  g_return_val_if_fail(model, NULL);
  RaTensorTable *table = g_new0(RaTensorTable, 1);
  GArray *classes = g_array_new(FALSE, TRUE, sizeof(RaTensorClass));

  table->model = model;
  table->n_units = model->n_layers + 3;
  table->unit_kind = g_new0(uint8_t, table->n_units);
  table->unit_first = g_new0(uint32_t, table->n_units);
  add_units(table, classes, add_before(classes, model));
  set_strides(classes);
  table->n_classes = classes->len;
  table->classes = (RaTensorClass *)(void *)g_array_free(classes, FALSE);
  return table;
}

void
ra_tensor_table_free(RaTensorTable *table)
{
  if (!table)
    return;
  g_free(table->classes);
  g_free(table->unit_kind);
  g_free(table->unit_first);
  g_free(table);
}

/* Unit to which tensor @index of the model belongs.  O(layers). */
static uint32_t
unit_of(const RaTensorTable *table, uint32_t index)
{
  g_return_val_if_fail(table, 0);
  uint32_t unit = 2;

  if (index < table->unit_first[2]) {
    for (uint32_t i = 0; i < table->n_classes; i++) {
      const RaTensorClass *c = &table->classes[i];
      if (c->unit == RA_UNIT_EMBEDDING && c->first == index)
        return 0;
    }
    return 1;
  }
  while (unit + 1 < table->n_units && table->unit_first[unit + 1] <= index)
    unit++;
  return unit;
}

RaSpan
ra_layout_span(const RaTensor *tensor, uint32_t tp, uint32_t rank)
{
  gboolean by_row = tensor->split == RA_SPLIT_ROW;
  uint64_t size = by_row ? tensor->cols : tensor->rows;
  uint64_t grain = MAX(tensor->grain, 1);
  uint64_t n = size / grain;
  gboolean kv =
      tensor->kind == RA_TENSOR_K || tensor->kind == RA_TENSOR_V ||
      tensor->kind == RA_TENSOR_MIXER || tensor->kind == RA_TENSOR_LINEAR_IN ||
      tensor->kind == RA_TENSOR_LINEAR_OUT || tensor->kind == RA_TENSOR_NORM;

  switch (tensor->split) {
  case RA_SPLIT_COLUMN:
  case RA_SPLIT_ROW:
    if (kv && n < tp)
      return (RaSpan){rank * n / tp * grain, (rank * n / tp + 1) * grain};
    return (RaSpan){rank * n / tp * grain, (rank + 1) * n / tp * grain};
  case RA_SPLIT_VOCAB:
    n = (n + tp - 1) / tp * grain;
    return (RaSpan){MIN(rank * n, size), MIN((rank + 1) * n, size)};
  default:
    return (RaSpan){0, size};
  }
}

RaSpan
ra_layout_experts(const RaModel *model, uint32_t ep, uint32_t rank)
{
  uint64_t n = model->n_experts;

  g_return_val_if_fail(ep > 0 && n % ep == 0, ((RaSpan){0, n}));
  return (RaSpan){rank * n / ep, (rank + 1) * n / ep};
}

RaSpan
ra_layout_shard_span(const RaTensor *tensor, uint32_t tp, uint32_t rank,
                     uint32_t n_shards, uint32_t shard)
{
  RaSpan span = ra_layout_span(tensor, tp, rank);
  uint64_t n = span.end - span.begin;

  return (RaSpan){span.begin + shard * n / n_shards,
                  span.begin + (shard + 1) * n / n_shards};
}

RaRect
ra_layout_span_rect(const RaTensor *tensor, RaSpan span)
{
  uint64_t n = span.end - span.begin;

  if (tensor->split == RA_SPLIT_ROW)
    return (RaRect){0, tensor->rows, span.begin, n};
  return (RaRect){span.begin, n, 0, tensor->cols};
}

void
ra_layout_stages(const RaTensorTable *table, const RaCallPlan *plan,
                 RaUnitStages *out_stages)
{
  g_return_if_fail(table && plan && plan->stage_layers && out_stages);
  const RaModel *model = table->model;
  RaUnitStages first = {.n = 1, .at = {0}};
  RaUnitStages last = {.n = 1, .at = {plan->pp - 1}};
  gboolean tied = model->tied_embeddings && model->head == RA_HEAD_LM;
  uint32_t unit = 2;

  out_stages[0] = first;
  /* Megatron keeps a copy of the table where the logits are made */
  if (tied && plan->pp > 1)
    out_stages[0] = (RaUnitStages){.n = 2, .at = {0, plan->pp - 1}};
  out_stages[1] = first;
  for (uint32_t v = 0; v < plan->pp * plan->n_virtual; v++)
    for (uint32_t i = 0; i < plan->stage_layers[v]; i++) {
      g_assert(unit < table->n_units - 1);
      out_stages[unit++] = (RaUnitStages){.n = 1, .at = {v % plan->pp}};
    }
  g_assert(unit == table->n_units - 1);
  out_stages[unit] = last;
}

/* TRUE if pipeline rank @at holds a unit of @stages. */
static gboolean
on_stage(const RaUnitStages *stages, uint32_t at)
{
  return stages->at[0] == at || (stages->n == 2 && stages->at[1] == at);
}

/* Span of @tensor on the rank at @at, if its stage holds the tensor. */
static RaSpan
rank_span(const RaCallPlan *plan, const RaTensor *tensor, const RaCoord *at)
{
  uint32_t tp = ra_call_plan_expert_tp(plan);

  if (tensor->expert == RA_TENSOR_NO_EXPERT)
    return ra_layout_shard_span(tensor, plan->tp, at->at[RA_AXIS_TP],
                                ra_call_plan_n_shards(plan),
                                ra_call_plan_zero_rank(plan, at));
  return ra_layout_shard_span(tensor, tp, at->at[RA_AXIS_TP] % tp,
                              ra_call_plan_n_expert_shards(plan),
                              ra_call_plan_expert_shard(plan, at));
}

gboolean
ra_layout_rect(const RaTensorTable *table, const RaCallPlan *plan,
               uint32_t rank, uint32_t index, RaRect *out_rect)
{
  g_return_val_if_fail(table && plan && out_rect, FALSE);
  uint32_t unit = unit_of(table, index);
  RaCoord coord = ra_call_plan_coord(plan, rank);
  g_autofree RaUnitStages *stages = g_new(RaUnitStages, table->n_units);
  RaTensor tensor;

  ra_layout_stages(table, plan, stages);
  if (!on_stage(&stages[unit], coord.at[RA_AXIS_PP]))
    return FALSE;
  ra_model_tensor(table->model, index, &tensor);
  if (tensor.expert != RA_TENSOR_NO_EXPERT) {
    RaSpan experts = ra_layout_experts(table->model, ra_call_plan_ep(plan),
                                       ra_call_plan_ep_rank(plan, &coord));
    if ((uint64_t)tensor.expert < experts.begin ||
        (uint64_t)tensor.expert >= experts.end)
      return FALSE;
  }
  RaSpan span = rank_span(plan, &tensor, &coord);
  if (span.begin == span.end)
    return FALSE;
  *out_rect = ra_layout_span_rect(&tensor, span);
  return TRUE;
}

/* Size of a tensor's part with @n values: their number or, with
 * @bytes_per_param, bytes of the block of a power of two that holds them. */
static uint64_t
part_size(uint64_t n, uint32_t bytes_per_param)
{
  uint64_t block = 1;

  if (bytes_per_param == 0 || n == 0)
    return n;
  while (block < n * bytes_per_param)
    block *= 2;
  return block;
}

/* Sum of part_size() over the tensors of @c in one unit, at @coord. */
static uint64_t
class_size(const RaTensorClass *c, const RaCallPlan *plan, const RaCoord *coord,
           uint32_t bytes_per_param)
{
  RaRect rect =
      ra_layout_span_rect(&c->tensor, rank_span(plan, &c->tensor, coord));
  uint64_t n = c->tensor.expert == 0 ? c->n / ra_call_plan_ep(plan) : c->n;

  return n * part_size(rect.n_rows * rect.n_cols, bytes_per_param);
}

/* Sum of part_size() over one unit of each kind, at @coord. */
static void
unit_sizes(const RaTensorTable *table, const RaCallPlan *plan,
           const RaCoord *coord, uint32_t bytes_per_param, uint64_t *out_sizes)
{
  for (guint k = 0; k < RA_N_UNIT_KINDS; k++)
    out_sizes[k] = 0;
  for (uint32_t i = 0; i < table->n_classes; i++) {
    const RaTensorClass *c = &table->classes[i];

    out_sizes[c->unit] += class_size(c, plan, coord, bytes_per_param);
  }
}

/* Parameters that @rank holds: [0] those outside experts, [1] of experts. */
static void
count_params(const RaTensorTable *table, const RaCallPlan *plan, uint32_t rank,
             uint64_t out_n[2])
{
  RaCoord coord = ra_call_plan_coord(plan, rank);
  g_autofree RaUnitStages *stages = g_new(RaUnitStages, table->n_units);
  uint64_t n_units[RA_N_UNIT_KINDS] = {0};

  ra_layout_stages(table, plan, stages);
  for (uint32_t u = 0; u < table->n_units; u++)
    n_units[table->unit_kind[u]] +=
        on_stage(&stages[u], coord.at[RA_AXIS_PP]) ? 1 : 0;
  out_n[0] = out_n[1] = 0;
  for (uint32_t i = 0; i < table->n_classes; i++) {
    const RaTensorClass *c = &table->classes[i];

    out_n[c->tensor.expert == 0] +=
        n_units[c->unit] * class_size(c, plan, &coord, 0);
  }
}

uint64_t
ra_layout_n_params(const RaTensorTable *table, const RaCallPlan *plan,
                   uint32_t rank)
{
  g_return_val_if_fail(table && plan, 0);
  uint64_t n[2];

  count_params(table, plan, rank, n);
  return n[0] + n[1];
}

/* Largest sum of part_size() among the ranks of each stage. */
static void
stage_sizes(const RaTensorTable *table, const RaCallPlan *plan,
            uint32_t bytes_per_param, uint64_t *out_sizes)
{
  g_autofree RaUnitStages *stages = g_new(RaUnitStages, table->n_units);
  g_autofree uint64_t *n_units =
      g_new0(uint64_t, (gsize)plan->pp * RA_N_UNIT_KINDS);

  ra_layout_stages(table, plan, stages);
  for (uint32_t u = 0; u < table->n_units; u++)
    for (uint32_t k = 0; k < stages[u].n; k++)
      n_units[stages[u].at[k] * RA_N_UNIT_KINDS + table->unit_kind[u]]++;
  for (uint32_t s = 0; s < plan->pp; s++)
    out_sizes[s] = 0;
  for (uint32_t t = 0; t < plan->tp; t++) {
    RaCoord coord = {.at = {[RA_AXIS_TP] = t}};
    uint64_t sizes[RA_N_UNIT_KINDS];

    unit_sizes(table, plan, &coord, bytes_per_param, sizes);
    for (uint32_t s = 0; s < plan->pp; s++) {
      uint64_t n = 0;
      for (guint k = 0; k < RA_N_UNIT_KINDS; k++)
        n += n_units[s * RA_N_UNIT_KINDS + k] * sizes[k];
      out_sizes[s] = MAX(out_sizes[s], n);
    }
  }
}

void
ra_layout_stage_params(const RaTensorTable *table, const RaCallPlan *plan,
                       uint64_t *out_params)
{
  g_return_if_fail(table && plan && out_params);
  stage_sizes(table, plan, 0, out_params);
}

void
ra_layout_stage_blocks(const RaTensorTable *table, const RaCallPlan *plan,
                       uint32_t bytes_per_param, uint64_t *out_bytes)
{
  g_return_if_fail(table && plan && bytes_per_param > 0 && out_bytes);
  stage_sizes(table, plan, bytes_per_param, out_bytes);
}

double
ra_layout_most_bytes(const RaTensorTable *table, const RaCallPlan *plan,
                     double param_bytes, double expert_bytes, double *out_total)
{
  double most = 0, sum = 0;
  /* Without shards all data ranks hold as much: the first will do. */
  uint32_t n = ra_call_plan_n_shards(plan) > 1 ? plan->dp * plan->cp : 1;

  for (uint32_t s = 0; s < plan->pp; s++)
    for (uint32_t t = 0; t < plan->tp; t++)
      for (uint32_t d = 0; d < n; d++) {
        RaCoord at = {.at = {[RA_AXIS_TP] = t,
                             [RA_AXIS_PP] = s,
                             [RA_AXIS_CP] = d % plan->cp,
                             [RA_AXIS_DP] = d / plan->cp}};
        uint64_t held[2];
        double bytes;

        count_params(table, plan, ra_call_plan_rank(plan, &at), held);
        bytes = param_bytes * (double)held[0] + expert_bytes * (double)held[1];
        most = MAX(most, bytes);
        sum += bytes;
      }
  if (out_total)
    *out_total = sum * (plan->dp * plan->cp / n);
  return most;
}
