/* Events of a file in Chrome's trace format, one at a time.
 *
 *     ok = ra_kineto_events("rank0.json.gz", take, &mine, &error);
 *
 * The file may be compressed (gzip).  It is read in pieces: no more than one
 * event is in memory.  Text between the events is looked at for its brackets
 * only.
 */
#ifndef RA_TRACES_KINETO_EVENTS_H
#define RA_TRACES_KINETO_EVENTS_H

#include <json-glib/json-glib.h>

/* TRUE if @path is a .json or .json.gz. */
gboolean ra_kineto_is_named(const char *path);

/* TRUE if it is, and begins as a profiler's file does. */
gboolean ra_kineto_is(const char *path);

/**
 * RaKinetoTake:
 * @event: (nullable): an element of `traceEvents` that has @word of
 *   ra_kineto_events() in it
 * @info: (nullable): `distributedInfo` of the file, instead of an event
 *
 * Called in the order of the file; both are gone after it.
 */
typedef void (*RaKinetoTake)(JsonObject *event, JsonObject *info,
                             gpointer data);

/**
 * ra_kineto_events:
 * @words: NULL-terminated; of events without any, nothing is parsed or taken
 * @error: %RA_ERROR_INPUT `path:line: reason`: not JSON, cut off, no
 *   `traceEvents`, an event of more than 1 MiB, more than 4 GiB of text;
 *   %RA_ERROR_IO
 *
 * Cost: O(length) time, O(1) memory.
 */
gboolean ra_kineto_events(const char *path, const char *const *words,
                          RaKinetoTake take, gpointer data, GError **error);

#endif
