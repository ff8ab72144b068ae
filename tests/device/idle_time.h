/* The clocks of an idle GPU (tests/device/idle_gpu.h) and its host.
 *
 * A launch costs the host IDLE_EAGER_S.  The device runs ops in order, each no
 * sooner than it is launched.  A wait sets the host's time to the device's.
 * Captured ops cost neither side any time until they are launched.
 */
#ifndef RA_TESTS_DEVICE_IDLE_TIME_H
#define RA_TESTS_DEVICE_IDLE_TIME_H

#include "exec/backend/backend.h"

/* Host time of a launch. */
#define IDLE_EAGER_S 5e-6
#define IDLE_GRAPH_S 7e-6
#define IDLE_GAP_S 1.25e-7

void idle_take(guint n_launches, double s);
void idle_wait(void);
double idle_host_s(void);
double idle_device_s(void);

/* Launches that bring words from the host; 0 if they are kept on the device. */
guint idle_words(const void *words);

/* Sets the entries of its table for kept words and graphs. */
void idle_set_entries(RaBackend *table);

#endif
