/* The time of a GPU that does nothing (tests/device/idle_gpu.h): the host
 * begins what the device does behind all before, a launch takes the host
 * IDLE_EAGER_S, and the device begins with it no sooner than it is launched.
 * Who waits has the device's time.  What is captured takes neither its time
 * until it is begun.
 */
#ifndef RA_TESTS_DEVICE_IDLE_TIME_H
#define RA_TESTS_DEVICE_IDLE_TIME_H

#include "exec/backend/backend.h"

/* What its launches take. */
#define IDLE_EAGER_S 2.5e-6
#define IDLE_GRAPH_S 7e-6
#define IDLE_GAP_S 1.25e-7

void idle_take(guint n_launches, double s);
void idle_wait(void);
double idle_host_s(void);
double idle_device_s(void);

/* Launches that bring words of the host: none where they are kept. */
guint idle_words(const void *words);

/* Entries of its table: of kept words and of graphs. */
void idle_set_entries(RaBackend *table);

#endif
