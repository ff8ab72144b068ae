/* The heuristic of Megatron-LM users, ReaL's baseline (arXiv 2406.14088). */
#include "config.h"

#include <inttypes.h>

#include "search/family/strategy_impl.h"

/* Shapes with the largest tp: the deepest pipeline with at most a stage a node,
 * or, to fit, all pipelines from the shallowest on. */
static GArray *
choose(RaWriter *writer, const RaShapeAsk *ask)
{
  g_autoptr(GArray) all = ra_shapes_new(writer->workload, writer->cluster, ask);
  GArray *chosen = ra_shapes_empty();

  if (writer->options->fit) {
    for (guint i = 0; i < all->len; i++)
      ra_shapes_add(chosen, &g_array_index(all, RaShape, i));
  } else if (all->len > 0) {
    /* As it may be batched: the last degrees are those of the last shape. */
    const RaCallPlan *last = &g_array_index(all, RaShape, all->len - 1).plan;

    for (guint i = 0; i < all->len; i++) {
      const RaShape *shape = &g_array_index(all, RaShape, i);

      if (shape->plan.tp == last->tp && shape->plan.pp == last->pp)
        ra_shapes_add(chosen, shape);
    }
  }
  return chosen;
}

static void
say(RaWriter *writer, const RaShapeAsk *ask)
{
  const RaCallPlan *plan = &ra_draft_shape(writer->draft, ask->call)->plan;
  RaDraft *draft = writer->draft;

  if (ask->tp == writer->cluster->gpus_per_node)
    ra_draft_say(draft, ask->call, "tp over the %" PRIu32 " GPUs of a node",
                 ask->tp);
  else
    ra_draft_say(draft, ask->call,
                 "tp = %" PRIu32 ", the largest that heads and MLP allow",
                 ask->tp);
  if (writer->options->fit)
    ra_draft_say(draft, ask->call, "and the shortest pipeline that fits.");
  else if (plan->pp == writer->cluster->n_nodes)
    ra_draft_say(draft, ask->call, "and one stage per node.");
  else
    ra_draft_say(draft, ask->call,
                 "and pp = %" PRIu32
                 ", the most stages that layers and nodes allow.",
                 plan->pp);
}

gboolean
ra_strategy_megatron(RaWriter *writer, GError **error)
{
  const RaWorkload *workload = writer->workload;
  const RaCluster *cluster = writer->cluster;
  RaMesh all = ra_shape_mesh_nodes(cluster, 0, cluster->n_nodes);

  g_string_append(writer->draft->head,
                  "The usual layout of Megatron-LM for every call (the "
                  "heuristic baseline of ReaL, arXiv 2406.14088): all GPUs, "
                  "tensor parallel within a node, pipeline across nodes, full "
                  "recomputation.");
  for (guint c = 0; c < workload->n_calls; c++) {
    RaShapeAsk ask = {.call = c,
                      .mesh = all,
                      .zero = workload->calls[c].kind == RA_CALL_TRAIN,
                      .recompute = RA_RECOMPUTE_FULL,
                      .pp_max = cluster->n_nodes,
                      .batching = writer->batching};
    GArray *shapes;

    if (!ra_writer_on_gpus(writer, c))
      continue;
    ask.tp =
        ra_shape_tp_max(workload->models[workload->calls[c].model].model, &all);
    shapes = choose(writer, &ask);
    if (shapes->len == 0) {
      g_array_unref(shapes);
      return ra_writer_fail(writer, c, &all, 0, error);
    }
    ra_draft_offer(writer->draft, c, shapes);
    say(writer, &ask);
  }
  return TRUE;
}
