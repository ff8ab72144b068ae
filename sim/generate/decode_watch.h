/* What a generation does, step by step, told while it is replayed.
 *
 *     RaDecodeWatch watch = {note_lap, data};
 *     RaDecodeResult result = {..., .watch = &watch};
 */
#ifndef RA_SIM_GENERATE_DECODE_WATCH_H
#define RA_SIM_GENERATE_DECODE_WATCH_H

#include "graph/rollout/batcher.h"

/* Steps of one batch on one stage. */
typedef struct {
  uint32_t part; /* of the replica's, that runs */
  uint32_t stage;
  uint64_t n_steps;            /* alike; over several stages 1 */
  uint32_t n_sequences;        /* with a token each */
  const RaBatchStretch *mixed; /* of a step with chunks of prompts; else NULL */
  double comm_s;               /* that the stage communicates in them */
  double until_s; /* they have left the last stage, after the first step's
                     start */
} RaDecodeLap;

/* Steps at @kv_tokens of @n_sequences that may be told as one: they take alike
 * while what they attend to grows by a 64th. */
static inline uint64_t
ra_decode_watch_steps(uint64_t kv_tokens, uint32_t n_sequences)
{
  return MAX(kv_tokens / 64 / MAX(n_sequences, 1u), 1);
}

/* Laps come stage by stage, in the order in which they leave the last. */
typedef struct {
  void (*lap)(const RaDecodeLap *lap, void *data);
  void *data; /* handed to it */
} RaDecodeWatch;

#endif
