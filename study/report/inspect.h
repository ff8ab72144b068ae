/* Inspection: the content of a file and the numbers that follow from it, as
 * tables, for a model, a workload, a plan, a cluster, a profile, a system or a
 * trace.
 *
 *     GPtrArray *tables = ra_inspect_model(model);
 *     for (guint i = 0; i < tables->len; i++)
 *       ra_table_write(tables->pdata[i], RA_FORMAT_TEXT, out);
 *     g_ptr_array_unref(tables);
 *
 * Every function but ra_inspect_models() returns (transfer full) (element-type
 * RaTable), 1 to 6 tables with different titles; none can fail.  Model FLOP are
 * those of ra_model_forward_flop(); lengths are the expected ones of their
 * laws.
 */
#ifndef RA_STUDY_REPORT_INSPECT_H
#define RA_STUDY_REPORT_INSPECT_H

#include "base/table.h"
#include "graph/input/model_hub.h"
#include "study/setup.h"
#include "traces/trace.h"

/**
 * ra_inspect_model:
 * @model: borrowed
 *
 * Tables: `model` (shape), `parameters` (by part; all), `costs` (forward FLOP
 * and key-value cache of sequences of several lengths).
 */
GPtrArray *ra_inspect_model(const RaModel *model);

/**
 * ra_inspect_models:
 * @names: (nullable): NULL-terminated; of configurations, as ra_model_find()
 *   takes them
 * @hub: table of published models
 * @error: %RA_ERROR_INPUT: one is not a model
 *
 * Returns: (transfer full): table `models`, a row a name: shape, parameters,
 * bytes of the cache of a sequence's first token, and what is not modelled
 */
RaTable *ra_inspect_models(const char *const *names, const RaModelHub *hub,
                           GError **error);

/**
 * ra_inspect_workload:
 * @workload: borrowed
 *
 * Tables: `workload`, `models`, `notes` (what the models' shapes leave out, if
 * anything), `calls` in topological order with the expected
 * tokens and model FLOP of an iteration, `edges`.
 *
 * The FLOP are those of sequences of the expected length.  Attention grows with
 * the square of the length, so the expected FLOP of long, uneven sequences are
 * higher.  `simulate` counts the sampled lengths.
 */
GPtrArray *ra_inspect_workload(const RaWorkload *workload);

/* Tables `cluster` and `capacity` (of a GPU, a node, the whole cluster; links
 * in one direction, summed). The device of @cluster is filled. */
GPtrArray *ra_inspect_cluster(const RaCluster *cluster);

/**
 * ra_inspect_plan:
 * @plan: borrowed
 *
 * Tables:
 *   calls          mesh, degrees, layers of the stages
 *   batches        sequences of a replica, a micro-batch
 *   memory         parameters of the fullest GPU and the bytes of weights,
 *                  gradients and optimizer state that follow from them
 *   reallocations  how parameters get from the training layout to the others,
 *                  with the bytes that move, that are in place, and that the
 *                  busiest GPU sends or receives
 *   copies         where each copy is, from which node of the augmented graph
 *                  of two iterations to the end of which
 */
GPtrArray *ra_inspect_plan(const RaPlan *plan);

/* The last two, (transfer full). */
RaTable *ra_inspect_reallocations(const RaPlan *plan);
RaTable *ra_inspect_copies(const RaPlan *plan);

/* Table `moves` (transfer full): bytes between GPUs, a row per pair of GPUs
 * (numbers of the cluster) of each reallocation. */
RaTable *ra_inspect_moves(const RaPlan *plan);

/* Tables `device`, `laws` (source, rows, held-out error) and `coefficients`. */
GPtrArray *ra_inspect_profile(const RaProfile *profile);

/* Tables `system` (provenance, held-out error) and `constants` (values that the
 * system sets, in SI; `-` where it leaves one neutral). */
GPtrArray *ra_inspect_system(const RaSystem *system);

/* Tables `trace` (head fields) and `calls` (rows, first begin, last end, FLOP
 * and bytes summed over the rows). */
GPtrArray *ra_inspect_trace(const RaTrace *trace);

#endif
