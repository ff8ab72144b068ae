/* The law of step times in tests of a rollout service, simple enough to compute
 * by hand. */
#ifndef RA_TESTS_SUPPORT_SERVICE_LAW_H
#define RA_TESTS_SUPPORT_SERVICE_LAW_H

#include "sim/generate/service.h"

/* A step costs BASE plus a time for each sequence and token attended to, with
 * lines of PIECE tokens; prompts cost a time for each token and pair. */
#define BASE_S 0.01
#define SEQUENCE_S 0.001
#define TOKEN_S 1e-5
#define PIECE 64
#define PROMPT_S 2e-4
#define PAIR_S 1e-7

static inline void
line(gconstpointer context, uint32_t n, uint64_t kv, RaDecodeLine *out)
{
  double s = BASE_S + SEQUENCE_S * n + TOKEN_S * (double)kv;

  *out = (RaDecodeLine){.cost = {.total_s = s, .compute_s = s},
                        .from_tokens = kv,
                        .until_tokens = kv / PIECE * PIECE + PIECE - 1,
                        .s_per_token = TOKEN_S,
                        .compute_s_per_token = TOKEN_S};
}

static inline void
mixed(gconstpointer context, const RaBatchStretch *step, RaCost *out)
{
  double s = BASE_S + PROMPT_S * (double)step->chunk_tokens +
             PAIR_S * (double)step->chunk_pairs;

  *out = (RaCost){.total_s = s, .compute_s = s};
}

#endif
