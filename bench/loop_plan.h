/* The plans of bench/loop, as files in a folder. */
#ifndef RA_BENCH_LOOP_PLAN_H
#define RA_BENCH_LOOP_PLAN_H

#include <glib.h>
#include <stdint.h>

typedef struct {
  const char *size;      /* of the models: "small" */
  const char *algorithm; /* "grpo" */
  const char *plan;      /* "pp" */
} LoopCase;

guint loop_n_sizes(void);
/* Plans on @n_ranks ranks: of one rank there is one. */
guint loop_n_plans(uint32_t n_ranks);
LoopCase loop_case(guint size, guint algorithm, guint plan);

/* NULL-terminated, static: calls that compute. */
const char *const *loop_case_calls(const LoopCase *c);

/* Writes the plan with what it names; (transfer full): its path. */
char *loop_case_write(const LoopCase *c, const char *folder, uint32_t n_ranks);

#endif
