/* Starter files: a workload, a cluster, a plan and a study that simulate
 * unchanged and explain, line by line, what may be changed.
 *
 *     g_autoptr(RaStarter) s = ra_starter_new(&options, &error);
 *     use(s->workload, s->cluster, s->plan, s->study);
 *
 * Optional keys are comments, generated from the tables that parse them
 * (study/report/key_table.h). The plan is that of the family hybridflow, with
 * its reasons. Nodes and price are those of a shipped cluster of the GPU, if
 * there is one.
 */
#ifndef RA_STUDY_REPORT_STARTER_H
#define RA_STUDY_REPORT_STARTER_H

#include <glib.h>
#include <stdint.h>

typedef enum {
  RA_STARTER_GRPO,
  RA_STARTER_PPO,
  RA_STARTER_SFT,
  RA_N_STARTERS
} RaStarterKind;

/* "grpo", "ppo", "sft": NULL-terminated. */
extern const char *const ra_starter_names[];

typedef struct {
  const char *name; /* name of the files, without suffix */
  RaStarterKind kind;
  const char *model; /* config: "qwen2.5-7b.json" */
  const char *gpu;   /* profile: "h100-sxm" */
  uint32_t n_nodes;  /* 0: one rack, or 4 nodes of 8 GPUs */
} RaStarterOptions;

/* Texts of the files, owned. */
typedef struct {
  char *workload, *cluster, *plan, *study;
} RaStarter;

/**
 * ra_starter_new:
 * @error: %RA_ERROR_INPUT: no such model or GPU; %RA_ERROR_NEGATIVE: no plan
 *   fits so few nodes, and how many have one
 *
 * Returns: (transfer full): free with ra_starter_free()
 */
RaStarter *ra_starter_new(const RaStarterOptions *options, GError **error);
void ra_starter_free(RaStarter *starter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaStarter, ra_starter_free)

#endif
