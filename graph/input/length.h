/* A law of lengths: how long prompts and responses are.
 *
 * Written in a workload as `fixed(1024)`, `uniform(16, 512)`,
 * `lognormal(600, 450, 1024)` (mean and standard deviation of the untruncated
 * law, then the maximum: a longer draw is cut to it, as a rollout cuts a
 * response) or `file(lengths.csv)` / `file(lengths.csv:output_tokens)` (a
 * column of a CSV file with a head line, the first if none is named; draws
 * with replacement; lines that begin with # are skipped).  `replay(...)` is a
 * file whose rows are taken in their order, a row a sequence, iteration by
 * iteration, and again from the first when they are used up: what `reallot run
 * --lengths` has recorded.  Lengths are whole tokens, at least 1.
 *
 *     RaLength law;
 *     if (!ra_length_parse("lognormal(600, 450, 1024)", NULL, &law, &error))
 *       ...
 *     uint32_t n_tokens = ra_length_draw(&law, seed, stream, index);
 *     ra_length_clear(&law);
 *
 * A draw is a pure function of (seed, stream, index): see base/rng.h.  Answers
 * to one prompt are alike: ra_length_draw_in_group() draws them correlated,
 * with the same law for each. Typical sizes: 1 to 32,768 tokens; a file of 10^2
 * to 10^5 rows.
 */
#ifndef RA_GRAPH_INPUT_LENGTH_H
#define RA_GRAPH_INPUT_LENGTH_H

#include <glib.h>
#include <stdint.h>

/* Longest sequence, tokens: beyond any context window (2^24 = 16.8 million),
 * small enough that sums over 10^7 sequences fit 64 bits squared. */
#define RA_LENGTH_MAX_TOKENS (UINT32_C(1) << 24)

typedef enum {
  RA_LENGTH_FIXED,
  RA_LENGTH_UNIFORM,
  RA_LENGTH_LOGNORMAL,
  RA_LENGTH_FILE
} RaLengthKind;

typedef struct {
  RaLengthKind kind;   /* which law */
  uint32_t min_tokens; /* the least length that can come, tokens */
  uint32_t max_tokens; /* the largest length that can come, tokens */
  double mean_tokens;  /* LOGNORMAL: of the untruncated law */
  double sd_tokens;    /* LOGNORMAL: of the untruncated law, > 0 */
  double log_mean;     /* LOGNORMAL: mean of the logarithm */
  double log_sd;       /* LOGNORMAL: standard deviation of the logarithm */
  uint32_t *samples;   /* FILE: (n_samples) tokens, owned */
  uint32_t *sorted;    /* FILE: (n_samples) the same, ascending, owned */
  guint n_samples;     /* FILE: rows read, > 0 */
  gboolean in_order;   /* FILE: row by row, not drawn */
} RaLength;

/**
 * ra_length_parse:
 * @text: as above
 * @relative_to: (nullable): file beside which `file(...)` is looked for
 * @out_length: (out caller-allocates): ra_length_clear() it; untouched on
 *   error
 * @error: %RA_ERROR_INPUT without file and line of the caller's (the caller
 *   prefixes); for a bad row of the lengths file with its own `path:line:`;
 *   %RA_ERROR_IO where that file cannot be read
 *
 * Cost: O(length), and for `file` O(file).   Thread: any.
 *
 * Returns: %TRUE on success
 */
gboolean ra_length_parse(const char *text, const char *relative_to,
                         RaLength *out_length, GError **error);

void ra_length_clear(RaLength *length);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaLength, ra_length_clear)

/* Row @index, of a law that is in order; wraps around. */
uint32_t ra_length_replay(const RaLength *length, uint64_t index);

/**
 * ra_length_draw:
 * @length: the law
 * @seed: of the run
 * @stream: tells laws and iterations apart
 * @index: of the draw within the stream
 *
 * A real draw x of the lognormal law becomes round(x), at least 1, or the
 * maximum from max - 1/2 on.  A uniform or file draw is floor(u n) of one
 * 53-bit u: the bias is below n / 2^53.
 *
 * Cost: O(1), no allocation.   Thread: any.
 *
 * Returns: tokens, in [min_tokens, max_tokens]
 */
uint32_t ra_length_draw(const RaLength *length, uint64_t seed, uint64_t stream,
                        uint64_t index);

/**
 * ra_length_draw_in_group:
 * @group_stream: of the groups' shares; not @stream
 * @group: of the draw: the prompt that the answer is to
 * @correlation: of two draws of a group, in [0, 1]
 *
 * As ra_length_draw(), with the standard normal number
 *
 *     z = sqrt(rho) g + sqrt(1 - rho) e
 *
 * of the group's share g and one of the draw's own e, both standard normal: so
 * z is too, each length has the law (x = F^-1(Phi(z)), which of the lognormal
 * law is e^(m + s z)), and the logarithms of a group's lognormal lengths, not
 * cut, have correlation rho (a Gaussian copula).  rho = 0 is ra_length_draw()
 * to the last bit.
 *
 * Returns: tokens, in [min_tokens, max_tokens]
 */
uint32_t ra_length_draw_in_group(const RaLength *length, uint64_t seed,
                                 uint64_t stream, uint64_t index,
                                 uint64_t group_stream, uint64_t group,
                                 double correlation);

/* The tokens that a share @z of the standard normal law stands for: the
 * quantile of its probability. */
uint32_t ra_length_at(const RaLength *length, double z);

/**
 * ra_length_mean:
 * @length: the law
 *
 * Expected tokens of one draw: exact for fixed, uniform and file.  For the
 * lognormal law X with parameters m, s cut at M, without the rounding to
 * whole tokens (which moves it by less than 0.5):
 *
 *     E min(X, M) = integral of x f(x) below M + M P(X > M)
 *                 = e^(m + s^2 / 2) Phi((ln M - m) / s - s)
 *                   + M (1 - Phi((ln M - m) / s))
 *     E max(min(X, M), 1) = E min(X, M) + Phi(-m / s)
 *                   - e^(m + s^2 / 2) Phi(-m / s - s)
 *
 * (the partial expectation of the lognormal law; substitute ln x and complete
 * the square).  Computed with + - x / only, as draws are, so that it is the
 * same on every machine.
 *
 * Returns: tokens, in [1, max_tokens]
 */
double ra_length_mean(const RaLength *length);

#endif
