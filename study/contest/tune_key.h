/* Keys of frameworks that a tuning may change.
 *
 *     const RaTuneKey *keys = ra_tune_keys(framework, &n);
 *     g_autoptr(GPtrArray) values = ra_tune_key_values(&keys[i], "0.5");
 *
 * They change time and memory; what is learned only where the key says so.
 * Whether a change is
 * possible is not known here: importing it tells (study/contest/tune.h).
 */
#ifndef RA_STUDY_CONTEST_TUNE_KEY_H
#define RA_STUDY_CONTEST_TUNE_KEY_H

#include "study/convert/recipe.h"

typedef enum {
  RA_TUNE_DEGREE, /* of parallelism: double, half; paired with others */
  RA_TUNE_COUNT,  /* sequences or tokens: double, half, four times */
  RA_TUNE_FRAC,   /* share of memory: by a tenth, from 0.3 to 0.9 */
  RA_TUNE_SWITCH, /* true or false */
  RA_TUNE_OFF,    /* false: true only saves memory, or helps to debug */
  RA_TUNE_ZERO,   /* ZeRO stage, 1 to 3 */
  RA_TUNE_FP8,    /* a name of a type: fp8 */
  RA_TUNE_E4M3,   /* a name of a format of 8 bits: e4m3 */
  RA_TUNE_WHOLE   /* changed by a search, with others, never alone */
} RaTuneKind;

/* Part of the learning that a key changes. */
typedef enum {
  RA_TUNE_LEARNS_ALIKE,
  RA_TUNE_STALENESS,     /* how far generation lags behind training */
  RA_TUNE_MINI_BATCHES,  /* optimizer steps of an iteration */
  RA_TUNE_ROLLOUT_DTYPE, /* types of weights and caches that generate */
  RA_TUNE_TRAINING_DTYPE /* types in which linear layers compute */
} RaTuneLearning;

/* "-", "staleness", "mini-batches", "rollout-dtype", "training-dtype":
 * NULL-terminated. */
extern const char *const ra_tune_learning_names[];

typedef struct {
  const char *key;
  RaTuneKind kind;
  const char *standard; /* value where it is not set; NULL: only tried where it
                           is set */
} RaTuneKey;

/* Part of the learning that a change of @key changes. */
RaTuneLearning ra_tune_learns(const char *key);

/* (array length=out_n): the keys of @framework, static; %NULL: none is known.
 * `++key`: one that a version's configuration may lack. */
const RaTuneKey *ra_tune_keys(RaFramework framework, guint *out_n);

/* (nullable) (array zero-terminated): keys that number the nodes of
 * @framework's pools, and what grows with them; each is tried only where it is
 * set, but the first, which has one node by itself where @out_standard. */
const char *const *ra_tune_size_keys(RaFramework framework,
                                     gboolean *out_standard);

/* (transfer full) (element-type utf8): values to try instead of @now. */
GPtrArray *ra_tune_key_values(const RaTuneKey *key, const char *now);

#endif
