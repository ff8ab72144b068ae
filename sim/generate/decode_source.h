/* Source of the times of a generation's replay.
 *
 * In production it is the estimator, for one replica (ra_decode_run()); in
 * tests a law whose steps the test can add up itself.
 */
#ifndef RA_SIM_GENERATE_DECODE_SOURCE_H
#define RA_SIM_GENERATE_DECODE_SOURCE_H

#include "sim/generate/decode.h"

typedef struct {
  /* Line of stage @stage's step with @n_sequences >= 1 at @kv_tokens. */
  void (*line)(const void *context, uint32_t stage, uint32_t n_sequences,
               uint64_t kv_tokens, RaDecodeLine *out_line);
  /* Seconds to pass the activations of @n_sequences tokens to the next stage.
   */
  double (*send_s)(const void *context, uint32_t n_sequences);
  const void *context; /* argument of both functions */
  RaDecodeVisitFunc
      visit;        /* (nullable): called for every visit of a pipeline */
  void *visit_data; /* argument of visit */
} RaDecodeSource;

/* Like ra_decode_run(); @dynamic's shard, pieces and send are not read.
 * @walk: step by step even where the steps of one stage have a sum; where laps
 * of several groups are told, as they come one after another. */
void ra_decode_run_source(const RaDecodeSource *source,
                          const RaDynamic *dynamic, gboolean walk,
                          RaDecodeResult *inout_result);

#endif
