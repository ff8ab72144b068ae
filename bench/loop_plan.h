/* The plans of the loop's benches, as files in a folder: a set of models,
 * algorithms and layouts for each back end.
 *
 *     const LoopSet *set = loop_set_host();
 *     LoopCase c = loop_case(set, size, algorithm, layout);
 *     g_autofree char *path = loop_case_write(&c, folder, n_ranks, "host");
 */
#ifndef RA_BENCH_LOOP_PLAN_H
#define RA_BENCH_LOOP_PLAN_H

#include <glib.h>
#include <stdint.h>

typedef struct _LoopSet LoopSet;

typedef struct {
  const LoopSet *set;    /* that it is of */
  const char *size;      /* of the models: "small" */
  const char *algorithm; /* "grpo" */
  const char *plan;      /* "pp" */
} LoopCase;

/* Of a host's cores: three sizes in fp32, seven layouts on all its ranks. */
const LoopSet *loop_set_host(void);
/* Of GPUs, in bf16: shapes of models of 0.5 to 3 billion parameters, on one
 * GPU or on ranks that may share it. */
const LoopSet *loop_set_gpu(void);
/* The same logic with models of a toy's size, for a device that is emulated. */
const LoopSet *loop_set_tiny(void);

guint loop_n_sizes(const LoopSet *set);
guint loop_n_algorithms(const LoopSet *set, guint size);
/* Plans on @n_ranks ranks: of one rank there is one on a host. */
guint loop_n_plans(const LoopSet *set, guint size, uint32_t n_ranks);
LoopCase loop_case(const LoopSet *set, guint size, guint algorithm, guint plan);

/* Ranks that it uses of @n_ranks. */
uint32_t loop_case_ranks(const LoopCase *c, uint32_t n_ranks);

/* NULL-terminated, static: calls that compute. */
const char *const *loop_case_calls(const LoopCase *c);

/* Writes the plan with what it names, on a cluster of @n_ranks of @gpu;
 * (transfer full): its path. */
char *loop_case_write(const LoopCase *c, const char *folder, uint32_t n_ranks,
                      const char *gpu);

#endif
