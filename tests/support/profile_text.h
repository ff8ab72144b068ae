/* Profiles by hand: an ideal device, and what a test changes of it.
 *
 * In the ideal one every law takes no time beyond the roofline: no floors, no
 * latencies, all of every rate, tiles of one element.  The device's rates are
 * round: 1e12 FLOP/s, 2e12 in fp8, 1e9 B/s of memory, 1e8 to its node, 1e7 to
 * the host.
 *
 *     RaProfile *p = profile_text_load("host.eager-launch-s=1e-5", NULL);
 *     ra_profile_free(p);
 */
#ifndef RA_TESTS_SUPPORT_PROFILE_TEXT_H
#define RA_TESTS_SUPPORT_PROFILE_TEXT_H

#include <glib.h>

#include "traces/profile.h"

/* Text of the ideal profile; every @edits is "LAW.COEFFICIENT=VALUE" (the last
 * point divides), or "device.KEY=VALUE"; NULL-terminated. */
char *profile_text(const char *const *edits);

/* Loads it with the edits given, NULL-terminated. */
RaProfile *profile_text_load(const char *edit, ...) G_GNUC_NULL_TERMINATED;

/* A profile of @text. */
RaProfile *profile_text_parse(const char *text);

/* The shipped profile of @device: "h100-sxm". */
RaProfile *profile_text_shipped(const char *device);

#endif
