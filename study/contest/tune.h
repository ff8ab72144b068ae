/* Tuning: the keys of another framework's configuration, changed one by one and
 * in pairs for as long as the simulated iteration gets faster.
 *
 *     RaTuneOptions options = {.config = "run.sh", .seed = 0};
 *     g_autoptr(RaTune) tune = ra_tune_new(&options, &error);
 *     for (guint i = 0; tune && i < tune->changes->len; i++)
 *       use(&g_array_index(tune->changes, RaTuneChange, i));
 *
 * Every attempt is a configuration: overrides are read with it, imported
 * (study/convert/recipe.h) and simulated.  A result is therefore something that
 * the framework can say, and what it cannot say together is not tried, as the
 * import refuses it.  An attempt whose workload or cluster differs from that of
 * the configuration as given is refused too: batch, lengths, staleness,
 * optimizer steps and hardware stay.
 *
 * The search descends: all single changes and pairs of degrees are tried; those
 * that help are taken, the best first, each if it still helps; then all over
 * again.  Until a plan fits, what counts is how much memory is lacking.  At the
 * end a change without which it is as fast is given back.
 *
 * Typical sizes: 20 to 40 keys, 100 to 500 attempts of 10 to 500 ms.
 */
#ifndef RA_STUDY_CONTEST_TUNE_H
#define RA_STUDY_CONTEST_TUNE_H

#include "base/table.h"
#include "base/until.h"
#include "study/convert/recipe.h"
#include "study/objective.h"
#include "study/setup.h"

/* How far a tuning is. */
typedef struct {
  const char *phase;    /* static: "searching", "tuning", "comparing" */
  guint n_tried;        /* configurations that were simulated */
  double now_s, best_s; /* of an iteration; best NAN: nothing fits */
} RaTuneNews;

typedef struct {
  const char *config;       /* path */
  const char *const *sets;  /* nullable: overrides KEY=VALUE that stay */
  const char *const *keeps; /* nullable: globs of keys that stay */
  guint allows;  /* bits of RaTuneLearning: what of the learning may change */
  int framework; /* RaFramework; RA_N_FRAMEWORKS: by its keys */
  RaRecipeOptions recipe;   /* as for an import */
  uint32_t n_nodes, n_gpus; /* keys of its nodes are changed first to have as
                               many; 0: as given; at most one is set */
  gboolean until_fits;      /* the first that fits is the result */
  uint64_t seed;            /* of sampled lengths */
  guint n_threads;          /* 0: as many as processors */
  RaUntil until;            /* when over, the best so far is the result */
  void (*progress)(const RaTuneNews *news, void *data); /* nullable */
  void *data; /* argument of progress */
} RaTuneOptions;

/* Figures of a configuration. */
typedef struct {
  char *plan; /* owned: text */
  RaWorth worth;
  double peak_bytes; /* of the fullest GPU */
  gboolean fits;
  GArray *path; /* owned: RaPathShare of the critical path, which add up to an
                   iteration */
} RaTuneScore;

typedef struct {
  char *key;         /* owned */
  char *before;      /* owned, nullable: not set */
  char *after;       /* owned */
  double gain_frac;  /* its own: by how much longer an iteration is without it;
                       NAN: it does not fit without it, or is refused, or
                       the number of nodes needs it */
  gboolean is_added; /* a version's configuration may lack the key: `++key` */
} RaTuneChange;

typedef struct {
  RaFramework framework;
  RaSetup *setup;   /* owned: without a plan */
  RaSetup *changed; /* owned, nullable: the same with the workload that then
                       has, where that was allowed to change */
  GArray *changes;  /* (RaTuneChange) owned: those of nodes first */
  guint n_sizes;    /* of the changes: of nodes, which now and then have */
  RaTuneScore now, then;
  gboolean is_stage;  /* now and then are at stage fidelity, as the time was up
                         before they were replayed op by op */
  guint n_tried;      /* configurations that were simulated */
  double slower_frac; /* share of the worlds that the model's errors allow in
                          which then is slower than now (study/odds.h); NAN: not
                          known, or nothing is changed */
} RaTune;

/**
 * ra_tune_new:
 * @options: borrowed during the call
 * @error: the configuration is no plan: as ra_recipe_read(), ra_recipe_make()
 *   and the readers of the three files; %RA_ERROR_INPUT: its keys cannot say so
 *   many nodes
 *
 * Cost: an import and a replay at stage fidelity for each attempt.
 *
 * Returns: (transfer full): free with ra_tune_free()
 */
RaTune *ra_tune_new(const RaTuneOptions *options, GError **error);
void ra_tune_free(RaTune *tune);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTune, ra_tune_free)

/* A row per key to change. */
RaTable *ra_tune_changes_table(const RaTune *tune);

/* Iteration, tokens, memory and price, now and then. */
RaTable *ra_tune_table(const RaTune *tune);

/* A row per cause of the critical path: its seconds of an iteration now and
 * then, what saves or costs most first.  Both add up to the iteration. */
RaTable *ra_tune_path_table(const RaTune *tune);

/* (transfer full): the result in a sentence, without its full stop. */
char *ra_tune_sentence(const RaTune *tune);

/**
 * ra_tune_text:
 * @config: path of the configuration
 * @error: %RA_ERROR_NEGATIVE: a key cannot be changed in place, and which
 *   overrides say the same
 *
 * The configuration with the changes: values are replaced where keys stand, and
 * other keys of a script's command line are added to it.  The result is read
 * back: every key has its value.
 *
 * Returns: (transfer full): its text
 */
char *ra_tune_text(const RaTune *tune, const char *config, GError **error);

#endif
