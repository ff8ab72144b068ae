/* The plans of the loop benchmarks, as files in a folder: a set of models,
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
  const LoopSet *set;    /* its set */
  const char *size;      /* size of the models: "small" */
  const char *algorithm; /* "grpo" */
  const char *plan;      /* "pp" */
} LoopCase;

/* Plans for the cores of a host: three sizes in fp32, seven layouts on all
 * ranks. */
const LoopSet *loop_set_host(void);
/* Plans for GPUs, in bf16: shapes of models of 0.5 to 3 billion parameters, on
 * one GPU or on ranks that may share it. */
const LoopSet *loop_set_gpu(void);
/* The same with toy models, for the emulated device. */
const LoopSet *loop_set_tiny(void);

guint loop_n_sizes(const LoopSet *set);
guint loop_n_algorithms(const LoopSet *set, guint size);
/* Number of plans on @n_ranks ranks; on one rank of a host there is one. */
guint loop_n_plans(const LoopSet *set, guint size, uint32_t n_ranks);
LoopCase loop_case(const LoopSet *set, guint size, guint algorithm, guint plan);

/* Number of ranks that it uses, of @n_ranks. */
uint32_t loop_case_ranks(const LoopCase *c, uint32_t n_ranks);

/* Names of its calls that compute, NULL-terminated, static. */
const char *const *loop_case_calls(const LoopCase *c);

/* Writes the plan and the files that it names, on a cluster of @n_ranks of
 * @gpu; (transfer full): its path. */
char *loop_case_write(const LoopCase *c, const char *folder, uint32_t n_ranks,
                      const char *gpu);

#endif
