/* Captures on the emulated device: exec/backend/cuda_measure.h's.
 *
 * What a thread begins between ra_device_capture_begin() and
 * ra_device_capture_end() is noted with its arguments and does not run; what a
 * device cannot capture (waits, copies to and from the host, memory taken or
 * given back) ends the program.
 */
#ifndef RA_TESTS_EMULATOR_GRAPH_H
#define RA_TESTS_EMULATOR_GRAPH_H

#include <stddef.h>

#ifdef __cplusplus
#include <functional>

/* Whether @op is noted: this thread captures, or ops are late (queue.h). */
bool ra_emu_note(const std::function<void()> &op);

extern "C" {
#endif

/* The same of @op of a copy of @data. */
int ra_emu_note_call(void (*op)(const void *data), const void *data,
                     size_t n_bytes);
/* Ends the program if this thread captures: @what is no op. */
void ra_emu_no_capture(const char *what);

#ifdef __cplusplus
}
#endif

#endif
