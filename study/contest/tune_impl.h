/* Private parts of a tuning: its state, and one configuration.
 *
 *     cost = ra_tuner_try(tuner, values);      an import and a replay
 *
 * Private to study/contest/tune*.c.
 */
#ifndef RA_STUDY_CONTEST_TUNE_IMPL_H
#define RA_STUDY_CONTEST_TUNE_IMPL_H

#include "study/contest/tune.h"
#include "study/contest/tune_key.h"
#include "study/replay.h"

/* Cost of a plan that does not fit: above any time in seconds. */
#define RA_TUNE_LACKS_S 1e9

/* RaTuneValues of the keys that are changed; NULL: as in the configuration. */
typedef char **RaTuneValues;

typedef struct {
  RaTuneValues values; /* (n_keys) owned */
  double cost;         /* seconds, or what is lacking; infinite: refused */
} RaTuneAttempt;

typedef struct {
  const RaTuneOptions *options;
  RaTune *tune;
  GArray *keys; /* (RaTuneKey) the framework's, then those that the search
                   changes; owned */
  guint n_keys;
  char **now;         /* (n_keys) values in the configuration, owned; NULL:
                            not tried */
  gboolean *is_set;   /* (n_keys) the configuration has the key */
  gboolean *is_added; /* (n_keys) a version's configuration may lack it */
  char *workload, *cluster; /* texts of the import as given, owned */
  char *system;             /* line of its plan, owned */
  char *learning;           /* of its plan, owned */
  uint32_t n_nodes;         /* wanted */
  gint64 end_us;            /* of what is being done; 0: no end */
  RaUntil until;            /* that, or before it while nothing fits */
  gint64 last_us;           /* kept for the end */
  const char *phase;        /* static */
  RaTuneAttempt best;
  GMutex lock;        /* of: */
  GHashTable *known;  /* plan and workload -> cost (double), owned */
  GHashTable *setups; /* workload -> RaSetup, where it is another; owned */
} RaTuner;

/* The key @i. */
static inline const RaTuneKey *
ra_tuner_key(const RaTuner *t, guint i)
{
  return &g_array_index(t->keys, RaTuneKey, i);
}

/* (transfer full): @values once more; what frees them. */
RaTuneValues ra_tuner_copy(const RaTuner *t, RaTuneValues values);
void ra_tuner_drop(const RaTuner *t, RaTuneValues values);

/* TRUE if @what of the learning may change. */
gboolean ra_tuner_allows(const RaTuner *t, RaTuneLearning what);

/* (transfer full): the configuration with @values (nullable), imported;
 * @out_settings: (nullable) (transfer full): as they are then. */
RaImported *ra_tuner_import(const RaTuner *t, RaTuneValues values,
                            RaSettings **out_settings, GError **error);

/* (transfer full): the line that names the system of a plan; "" without. */
char *ra_tuner_system(const char *plan);

/* (transfer full): workload, cluster and system of the import, from a folder
 * that is gone afterwards. */
RaSetup *ra_tuner_load(const RaImported *files, GError **error);

/* Reads the plan @text into a setup that shares all but the plan with @base,
 * and replays it.  With @out_learning (nullable) it is an attempt; else a
 * result, which has its critical path, and ends op by op when the time is up.
 */
gboolean ra_tuner_replay(const RaTuner *t, const RaSetup *base,
                         const char *text, RaFidelity fidelity,
                         char **out_learning, RaTuneScore *out, GError **error);

/* Seconds, or RA_TUNE_LACKS_S and the bytes of the peak: what is compared. */
double ra_tuner_cost(const RaTuneScore *score);

/* Cost of @values: infinite where they are no configuration, or another
 * training.  For any thread. */
double ra_tuner_try(RaTuner *t, RaTuneValues values);

#endif
