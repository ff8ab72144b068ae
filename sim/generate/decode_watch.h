/* Watch: callback for the steps of a generation while it is replayed.
 *
 *     RaDecodeWatch watch = {note_lap, data};
 *     RaDecodeResult result = {..., .watch = &watch};
 */
#ifndef RA_SIM_GENERATE_DECODE_WATCH_H
#define RA_SIM_GENERATE_DECODE_WATCH_H

#include "graph/rollout/batcher.h"

/* Lap: equal steps of one batch on one stage. */
typedef struct {
  uint32_t part; /* current part of the replica */
  uint32_t stage;
  uint64_t n_steps;            /* number of steps; 1 with several stages */
  uint32_t n_sequences;        /* sequences with one token each */
  const RaBatchStretch *mixed; /* step with chunks of prompts; else NULL */
  double comm_s;               /* communication of the stage in them */
  double until_s; /* end on the last stage, seconds after the first step's
                     start */
} RaDecodeLap;

/* Number of steps of @n_sequences from @kv_tokens on that may form one lap:
 * they count as equal while the tokens to which they attend grow by a 64th. */
static inline uint64_t
ra_decode_watch_steps(uint64_t kv_tokens, uint32_t n_sequences)
{
  return MAX(kv_tokens / 64 / MAX(n_sequences, 1u), 1);
}

/* Calls of @lap come stage by stage, in the order in which laps leave the last
 * stage. */
typedef struct {
  void (*lap)(const RaDecodeLap *lap, void *data);
  void *data; /* argument of lap */
} RaDecodeWatch;

#endif
