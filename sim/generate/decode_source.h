/* Where the replay of a generation gets its times from.
 *
 * In production the estimator, for one replica (ra_decode_run()); in tests a
 * law whose every step the test can add up itself.
 */
#ifndef RA_SIM_GENERATE_DECODE_SOURCE_H
#define RA_SIM_GENERATE_DECODE_SOURCE_H

#include "sim/generate/decode.h"

typedef struct {
  /* Stage @stage's step with @n_sequences >= 1 at @kv_tokens, and its line. */
  void (*line)(const void *context, uint32_t stage, uint32_t n_sequences,
               uint64_t kv_tokens, RaDecodeLine *out_line);
  /* Seconds to pass the activations of @n_sequences tokens to the next stage.
   */
  double (*send_s)(const void *context, uint32_t n_sequences);
  const void *context;     /* handed to both */
  RaDecodeVisitFunc visit; /* (nullable): told of every visit of a pipeline */
  void *visit_data;        /* handed to it */
} RaDecodeSource;

/* As ra_decode_run(); of @dynamic neither shard nor pieces nor send is read. */
void ra_decode_run_source(const RaDecodeSource *source,
                          const RaDynamic *dynamic,
                          RaDecodeResult *inout_result);

#endif
