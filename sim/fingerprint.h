/* Fingerprint of a run: a hash over its events, in order.
 *
 * Two runs with equal fingerprints did the same tasks in the same order at the
 * same times, to the nanosecond.  A task enters the hash when its end is
 * processed, with the hash of its name and its begin and end in whole
 * nanoseconds (half up).  The last bits of a sum thus do not matter, but order
 * and names do.
 *
 *     uint64_t f = RA_FINGERPRINT_INIT;
 *     f = ra_fingerprint_add(f, ra_task_name_hash(graph, t), begin_s, end_s);
 */
#ifndef RA_SIM_FINGERPRINT_H
#define RA_SIM_FINGERPRINT_H

#include <stdint.h>

#include "base/hash.h"

#define RA_FINGERPRINT_INIT RA_HASH_INIT

/* Whole nanoseconds of @time_s >= 0, half up; 2^63 - 1 from 292 years on. */
uint64_t ra_fingerprint_ns(double time_s);

/* Fingerprint after one more event.  O(1). */
uint64_t ra_fingerprint_add(uint64_t fingerprint, uint64_t name_hash,
                            double begin_s, double end_s);

#endif
