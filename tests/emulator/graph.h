/* CUDA-graph capture on the emulated device (exec/backend/cuda_measure.h).
 *
 * Between ra_device_capture_begin() and ra_device_capture_end(), the ops of a
 * thread are recorded with their arguments and do not run.  Calls that a device
 * cannot capture end the program: waits, copies to and from the host,
 * allocation and release of memory.
 */
#ifndef RA_TESTS_EMULATOR_GRAPH_H
#define RA_TESTS_EMULATOR_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <functional>

/* Records @op if this thread captures or ops are late (queue.h); returns TRUE
 * if it did. */
bool ra_emu_note(const std::function<void()> &op);

extern "C" {
#endif

/* Number of ops, i.e. launches and copies on the device, that this thread has
 * begun; a graph counts as its ops. */
size_t ra_emu_n_ops(void);

/* The same for a call of @op with a copy of @data. */
int ra_emu_note_call(void (*op)(const void *data), const void *data,
                     size_t n_bytes);
/* The number of the capture in progress on this thread, from 1; 0: none. */
uint64_t ra_emu_capture(void);
/* While it captures: calls @call of @data whenever the graph begins, at this
 * place among its ops.  The graph frees @data. */
void ra_emu_note_begin(void (*call)(void *data), void *data,
                       void (*free_data)(void *data));
/* Ends the program if this thread captures; @what is not an op. */
void ra_emu_no_capture(const char *what);

#ifdef __cplusplus
}
#endif

#endif
