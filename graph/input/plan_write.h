/* Writer of a plan as a key file.
 *
 *     RaPlanWords words = {.workload = "ppo.workload",
 *                          .cluster = "h100-1n.cluster",
 *                          .head = "One node, tensor parallel."};
 *     g_autofree char *text = ra_plan_write(plan, &words, &error);
 *
 * Invariant: load(write(plan)) is equal to the plan by ra_plan_equal(), for
 * every plan that ra_plan_load() returns or could return.  Keys with default
 * values are left out, except mesh, dp, tp, pp and micro-batches.
 * Typical sizes: 1 to 3 KB.
 */
#ifndef RA_GRAPH_INPUT_PLAN_WRITE_H
#define RA_GRAPH_INPUT_PLAN_WRITE_H

#include "graph/input/plan.h"

/* Contents of the file that are not in the plan. */
typedef struct {
  const char *workload;        /* value of the key `workload` */
  const char *cluster;         /* value of the key `cluster` */
  const char *system;          /* nullable: value of the key `system` */
  const char *head;            /* nullable: comment on top, lines without # */
  const char *const *comments; /* nullable (n_calls): comment above a call's
                                  group; an element may be NULL or "" */
} RaPlanWords;

/**
 * ra_plan_write:
 * @plan: complete and consistent; its file is not used and may be %NULL
 * @words: borrowed
 * @error: %RA_ERROR_INPUT: a file name that no key file can hold (a double
 *   quote or a control character in it)
 *
 * Calls are written in the workload's topological order.  A comment is wrapped
 * to 80 columns; a line feed in it ends a line.
 *
 * Returns: (transfer full): the text; g_free() it
 */
char *ra_plan_write(const RaPlan *plan, const RaPlanWords *words,
                    GError **error);

/**
 * ra_plan_equal:
 * @a: a plan
 * @b: a plan of the same workload and cluster
 *
 * Compares the values for every call, however the files wrote them.
 *
 * Returns: %TRUE if both plans are the same
 */
gboolean ra_plan_equal(const RaPlan *a, const RaPlan *b);

/* Appends the keys of linear layers that compute in fp8, without those that
 * have their default: gemm-dtype, fp8-scaling (RaFp8Scaling), fp8-params,
 * bf16-first-layers, bf16-last-layers. */
void ra_plan_append_fp8(GString *out, int scaling, gboolean params,
                        uint32_t first, uint32_t last);

/* (transfer full): "tp8 pp4 dp2" without degrees of 1; "-" if all are 1; ends
 * in " zero3" if the weights are sharded. */
char *ra_strategy_format(const RaCallPlan *plan);

#endif
