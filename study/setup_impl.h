/* Private parts of setups; only study/setup*.c include this. */
#ifndef RA_STUDY_SETUP_IMPL_H
#define RA_STUDY_SETUP_IMPL_H

#include "study/setup.h"

/* Loads the GPU profile of each further node kind, after the cluster's own
 * profile. */
gboolean ra_setup_load_kinds(RaSetup *setup, GError **error);

/* Creates an estimator of the setup's cluster, with those of its node kinds. */
RaEstimator *ra_setup_new_estimator(const RaSetup *setup, GError **error);

#endif
