/* Handmade profiles: an ideal device with a test's changes.
 *
 * On the ideal device every law is at the roofline: no floors, no latencies,
 * the full rates, tiles of one element.  Its rates are round numbers: 1e12
 * FLOP/s, 2e12 in fp8, 1e9 B/s of memory, 1e8 to its node, 1e7 to the host.
 *
 *     RaProfile *p = profile_text_load("host.eager-launch-s=1e-5", NULL);
 *     ra_profile_free(p);
 */
#ifndef RA_TESTS_SUPPORT_PROFILE_TEXT_H
#define RA_TESTS_SUPPORT_PROFILE_TEXT_H

#include <glib.h>

#include "traces/profile.h"

/* Text of the ideal profile with @edits, NULL-terminated.  An edit is
 * "LAW.COEFFICIENT=VALUE" (the last point separates), "LAW.transferred=GPU" or
 * "device.KEY=VALUE". */
char *profile_text(const char *const *edits);

/* Loads the ideal profile with the given edits, NULL-terminated. */
RaProfile *profile_text_load(const char *edit, ...) G_GNUC_NULL_TERMINATED;

/* A profile from @text. */
RaProfile *profile_text_parse(const char *text);

/* The shipped profile of @device: "h100-sxm". */
RaProfile *profile_text_shipped(const char *device);

#endif
