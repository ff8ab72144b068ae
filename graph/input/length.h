/* Distribution of the lengths of prompts or responses.
 *
 * A workload writes it as one of:
 *
 *     fixed(1024)
 *     uniform(16, 512)
 *     lognormal(600, 450, 1024)      mean, standard deviation, maximum: longer
 *                                    samples are cut to it, as in a rollout;
 *                                    the mean is that of the lengths so cut
 *     lognormal(600, 450, 8192, 0.0005)
 *                                    the same, and this share of the samples,
 *                                    the longest, runs on to the maximum: the
 *                                    clip ratio that frameworks log
 *     file(lengths.csv)              sampled with replacement from the first
 *     file(lengths.csv:output_tokens) or the named column of a CSV file with a
 *                                    head line; lines with # are skipped
 *     replay(lengths.csv)            rows of such a file in their order, one
 *                                    per sequence, iteration by iteration, and
 *                                    again from the first at the end: lengths
 *                                    recorded by `reallot run --lengths`
 *
 * Lengths are whole tokens, at least 1.
 *
 * A lognormal law is first that of the mean and the deviation without a
 * maximum.  Where the maximum, or the share that runs on to it, moves its mean
 * by more than half a token, its logarithm is shifted until the mean of the cut
 * lengths is the one written;
 * the logarithm keeps its deviation, sqrt(ln(1 + (sd / mean)^2)).  The mean is
 * thus below the maximum, which a cut law only approaches.
 *
 *     RaLength law;
 *     if (!ra_length_parse("lognormal(600, 450, 1024)", NULL, &law, &error))
 *       ...
 *     uint32_t n_tokens = ra_length_draw(&law, seed, stream, index);
 *     ra_length_clear(&law);
 *
 * A sample is a pure function of (seed, stream, index): see base/rng.h.
 * Answers to one prompt have similar lengths: ra_length_draw_in_group() samples
 * them correlated, with the same law for each.
 *
 * Typical sizes: 1 to 32,768 tokens; a file of 10^2 to 10^5 rows.
 */
#ifndef RA_GRAPH_INPUT_LENGTH_H
#define RA_GRAPH_INPUT_LENGTH_H

#include <glib.h>
#include <stdint.h>

/* Longest sequence, tokens: larger than any context window (2^24 = 16.8
 * million), and small enough that sums over 10^7 sequences fit 64 bits squared.
 */
#define RA_LENGTH_MAX_TOKENS (UINT32_C(1) << 24)

typedef enum {
  RA_LENGTH_FIXED,
  RA_LENGTH_UNIFORM,
  RA_LENGTH_LOGNORMAL,
  RA_LENGTH_FILE
} RaLengthKind;

typedef struct {
  RaLengthKind kind;   /* form of the law */
  uint32_t min_tokens; /* smallest possible length, tokens */
  uint32_t max_tokens; /* largest possible length, tokens */
  double mean_tokens;  /* LOGNORMAL: as written, of the cut lengths */
  double sd_tokens;    /* LOGNORMAL: as written, > 0 */
  double whole_tokens; /* LOGNORMAL: mean without the cut, e^(m + s^2 / 2) */
  double log_mean;     /* LOGNORMAL: mean of the logarithm */
  double log_sd;       /* LOGNORMAL: standard deviation of the logarithm */
  double full_frac;  /* LOGNORMAL: share that runs on to the maximum, [0, 1) */
  double full_z;     /* LOGNORMAL: the normal number above which it does */
  uint32_t *samples; /* FILE: (n_samples) tokens, owned */
  uint32_t *sorted;  /* FILE: (n_samples) the same, ascending, owned */
  guint n_samples;   /* FILE: rows read, > 0 */
  gboolean in_order; /* FILE: row by row, not sampled */
} RaLength;

/**
 * ra_length_parse:
 * @text: syntax as above
 * @relative_to: (nullable): file in whose folder `file(...)` is looked for
 * @out_length: (out caller-allocates): ra_length_clear() it; untouched on
 *   error
 * @error: %RA_ERROR_INPUT without the caller's file and line (the caller
 *   prefixes them), or with `path:line:` for a bad row of the lengths file;
 *   %RA_ERROR_IO if that file cannot be read
 *
 * Cost: O(length), and for `file` O(file).   Thread: any.
 *
 * Returns: %TRUE on success
 */
gboolean ra_length_parse(const char *text, const char *relative_to,
                         RaLength *out_length, GError **error);

void ra_length_clear(RaLength *length);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaLength, ra_length_clear)

/* Row @index of a law with @in_order; wraps around. */
uint32_t ra_length_replay(const RaLength *length, uint64_t index);

/**
 * ra_length_draw:
 * @length: the law
 * @seed: seed of the run
 * @stream: number that distinguishes laws and iterations
 * @index: index of the sample within the stream
 *
 * A real sample x of the lognormal law becomes round(x), at least 1, or the
 * maximum from max - 1/2 on.  A uniform or file sample is floor(u n) of one
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
 * @group_stream: stream of the groups' shares; differs from @stream
 * @group: group of the sample: the prompt of the answer
 * @correlation: correlation of two samples of a group, in [0, 1]
 *
 * Samples like ra_length_draw(), from the standard normal number
 *
 *     z = sqrt(rho) g + sqrt(1 - rho) e
 *
 * where g is shared by the group and e is the sample's own, both standard
 * normal.  z is then standard normal too, so each length has the law:
 * x = F^-1(Phi(z)), which is e^(m + s z) for the lognormal law.  The logarithms
 * of a group's lognormal lengths, before truncation, have correlation rho (a
 * Gaussian copula).  rho = 0 equals ra_length_draw() to the last bit.
 *
 * Returns: tokens, in [min_tokens, max_tokens]
 */
uint32_t ra_length_draw_in_group(const RaLength *length, uint64_t seed,
                                 uint64_t stream, uint64_t index,
                                 uint64_t group_stream, uint64_t group,
                                 double correlation);

/* Length at the standard normal number @z: the quantile of the law at Phi(z),
 * tokens. */
uint32_t ra_length_at(const RaLength *length, double z);

/**
 * ra_length_mean:
 * @length: the law
 *
 * Expected tokens of one sample: exact for fixed, uniform and file.  For the
 * lognormal law X with parameters m, s cut at M, it ignores the rounding to
 * whole tokens (which changes it by less than 0.5):
 *
 *     E min(X, M) = integral of x f(x) below M + M P(X > M)
 *                 = e^(m + s^2 / 2) Phi((ln M - m) / s - s)
 *                   + M (1 - Phi((ln M - m) / s))
 *     E max(min(X, M), 1) = E min(X, M) + Phi(-m / s)
 *                   - e^(m + s^2 / 2) Phi(-m / s - s)
 *
 * With a share of samples that run on to M, z = (ln M - m) / s becomes the
 * smaller of itself and the normal number above which they lie.
 *
 * (the partial expectation of the lognormal law; substitute ln x and complete
 * the square).  The computation uses + - x / only, as sampling does, so that
 * the result is the same on every machine.
 *
 * Returns: tokens, in [1, max_tokens]
 */
double ra_length_mean(const RaLength *length);

/* The fixed length nearest to the mean of @length; owns nothing. */
RaLength ra_length_at_mean(const RaLength *length);

#endif
