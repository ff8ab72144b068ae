/* Inside setups; only study/setup*.c include this. */
#ifndef RA_STUDY_SETUP_IMPL_H
#define RA_STUDY_SETUP_IMPL_H

#include "study/setup.h"

/* Profiles of the GPUs of kinds of nodes; after that of the cluster's own. */
gboolean ra_setup_load_kinds(RaSetup *setup, GError **error);

/* An estimator of the setup's cluster, with those of its kinds of nodes. */
RaEstimator *ra_setup_new_estimator(const RaSetup *setup, GError **error);

#endif
