/* A law of lengths: how long prompts and responses are.
 *
 * Written in a workload as `fixed(1024)`, `uniform(16, 512)`,
 * `lognormal(600, 450, 1024)` (mean and standard deviation of the untruncated law,
 * then the maximum: a longer draw is cut to it, as a rollout cuts a response) or
 * `file(lengths.csv)` / `file(lengths.csv:output_tokens)` (a column of a
 * CSV file with a head line; draws with replacement).  Lengths are whole tokens, at least 1.
 *
 * A draw is a pure function of (seed, stream, index): see base/rng.h.
 */
#ifndef RA_GRAPH_LENGTH_H
#define RA_GRAPH_LENGTH_H

#include <glib.h>
#include <stdint.h>

typedef enum {
  RA_LENGTH_FIXED,
  RA_LENGTH_UNIFORM,
  RA_LENGTH_LOGNORMAL,
  RA_LENGTH_FILE
} RaLengthKind;

typedef struct {
  RaLengthKind kind;
  uint32_t min_tokens;   /* FIXED: the length; UNIFORM: least */
  uint32_t max_tokens;   /* the largest length that can come, tokens */
  double mean_tokens;    /* LOGNORMAL: of the untruncated law */
  double sd_tokens;      /* LOGNORMAL: of the untruncated law, > 0 */
  uint32_t *samples;     /* FILE: (n_samples) tokens, owned */
  guint n_samples;       /* FILE: rows read */
} RaLength;

/**
 * ra_length_parse:
 * @text: as above
 * @relative_to: (nullable): file beside which `file(...)` is looked for
 * @out_length: (out caller-allocates): ra_length_clear() it
 * @error: %RA_ERROR_INPUT without file and line of the caller's (the caller
 *   prefixes); for a bad row of the lengths file with its own `path:line:`
 */
gboolean ra_length_parse(const char *text, const char *relative_to,
                         RaLength *out_length, GError **error);

void ra_length_clear(RaLength *length);

/* Tokens of draw @index of (@seed, @stream); in [1, max_tokens]. O(1). */
uint32_t ra_length_draw(const RaLength *length, uint64_t seed, uint64_t stream,
                        uint64_t index);

/* Expected tokens of one draw, truncation and rounding included (closed form for
 * fixed, uniform and file; lognormal: the truncated mean, without the rounding to whole tokens, < 0.5 token). */
double ra_length_mean(const RaLength *length);

#endif
