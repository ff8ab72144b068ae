/* Co-located and interleaving placement: Xiao et al., arXiv 2312.11819. */
#include "config.h"

#include <inttypes.h>

#include "base/error.h"
#include "search/family/strategy_impl.h"

/* ZeRO-3 of @call on @mesh; generation in tp where the user wants it. */
static gboolean
offer_zero(RaWriter *writer, uint32_t call, const RaMesh *mesh, GError **error)
{
  uint32_t generate_tp = writer->options->generate_tp;
  gboolean in_tp =
      writer->workload->calls[call].kind == RA_CALL_GENERATE && generate_tp > 0;
  RaShapeAsk ask = {.call = call,
                    .mesh = *mesh,
                    .zero = in_tp ? 0 : 3,
                    .recompute = RA_RECOMPUTE_SELECTIVE,
                    .tp = in_tp ? generate_tp : 0,
                    .pp_max = 1,
                    .batching = writer->batching};

  return ra_writer_offer(writer, &ask, error);
}

static void
say_zero(RaWriter *writer, uint32_t call)
{
  const RaCallPlan *plan = &ra_draft_shape(writer->draft, call)->plan;
  int kind = writer->workload->calls[call].kind;

  if (kind == RA_CALL_GENERATE && plan->zero == 3)
    ra_draft_say(writer->draft, call,
                 "The weights stay sharded as for training, so every decode "
                 "step gathers all of them.");
  else if (kind == RA_CALL_GENERATE)
    ra_draft_say(writer->draft, call,
                 "Generation in tensor parallel: the weights are gathered once "
                 "per rollout instead of at every step.");
  else if (kind == RA_CALL_TRAIN)
    ra_draft_say(writer->draft, call,
                 "All GPUs are data parallel and share weights, gradients and "
                 "optimizer state (ZeRO-3).");
  else
    ra_draft_say(
        writer->draft, call,
        "All GPUs, weights sharded (ZeRO-3), after the calls before it.");
  if (plan->tp > 1 && plan->zero == 3)
    ra_draft_say(writer->draft, call,
                 "tp = %" PRIu32 ", as there are no more sequences to divide.",
                 plan->tp);
}

gboolean
ra_strategy_colocated(RaWriter *writer, GError **error)
{
  RaMesh all =
      ra_shape_mesh_nodes(writer->cluster, 0, writer->cluster->n_nodes);

  g_string_append(writer->draft->head,
                  "Co-located placement (Xiao et al., arXiv 2312.11819): every "
                  "model on all GPUs, the calls one after the other.");
  for (guint c = 0; c < writer->workload->n_calls; c++) {
    if (!ra_writer_on_gpus(writer, c))
      continue;
    if (!offer_zero(writer, c, &all, error))
      return FALSE;
    say_zero(writer, c);
  }
  return TRUE;
}

/* Number of @call's model among those that are never trained, by their first
 * call; RA_NONE: it is trained. */
static uint32_t
frozen_index(const RaWriter *writer, uint32_t call, uint32_t *out_n)
{
  const RaWorkload *workload = writer->workload;
  g_autofree uint32_t *index = g_new(uint32_t, workload->n_models + 1);

  for (guint m = 0; m < workload->n_models; m++)
    index[m] = RA_NONE;
  *out_n = 0;
  for (guint c = 0; c < workload->n_calls; c++) {
    uint32_t model = workload->calls[c].model;

    if (ra_writer_on_gpus(writer, c) && !ra_writer_is_trained(writer, c) &&
        index[model] == RA_NONE)
      index[model] = (*out_n)++;
  }
  return index[workload->calls[call].model];
}

/* A frozen model is on one half; the other half works on another. */
static gboolean
offer_half(RaWriter *writer, uint32_t call, uint32_t index,
           const RaMesh *halves, GError **error)
{
  if (!offer_zero(writer, call, &halves[index % 2], error))
    return FALSE;
  ra_draft_say(
      writer->draft, call,
      "The %s half of the GPUs, concurrently with the other half: half of the "
      "GPUs hold its model, and a gather has half the ranks.",
      index % 2 == 0 ? "first" : "second");
  return TRUE;
}

gboolean
ra_strategy_interleaving(RaWriter *writer, GError **error)
{
  RaMesh all =
      ra_shape_mesh_nodes(writer->cluster, 0, writer->cluster->n_nodes);
  RaMesh halves[2];
  uint32_t n_frozen;

  g_string_append(writer->draft->head,
                  "Interleaving placement (Xiao et al., arXiv 2312.11819): "
                  "trained models on all GPUs, models that are never trained "
                  "on halves, at the same time.");
  if (!ra_writer_halves(writer, halves)) {
    g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                "%" PRIu32 " nodes of %" PRIu32 " GPUs cannot be halved, "
                "expected an even number of nodes or a node of 2, 4, 8 ...",
                writer->cluster->n_nodes, writer->cluster->gpus_per_node);
    return FALSE;
  }
  for (guint c = 0; c < writer->workload->n_calls; c++) {
    uint32_t index;

    if (!ra_writer_on_gpus(writer, c))
      continue;
    index = frozen_index(writer, c, &n_frozen);
    if (index != RA_NONE && n_frozen > 1) {
      if (!offer_half(writer, c, index, halves, error))
        return FALSE;
      continue;
    }
    if (!offer_zero(writer, c, &all, error))
      return FALSE;
    say_zero(writer, c);
    if (index != RA_NONE)
      ra_draft_say(
          writer->draft, c,
          "No other model is never trained, so it shares the GPUs with none.");
  }
  return TRUE;
}
