/* Queues of copies and late ops of the emulated device (queue.cc). */
#ifndef RA_TESTS_EMULATOR_QUEUE_H
#define RA_TESTS_EMULATOR_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "exec/backend/cuda_queue.h"

#ifdef __cplusplus
#include <functional>

/* TRUE if the calling thread is running an entry of a queue. */
bool ra_emu_is_making(void);
/* Adds @op to the queue of the thread's ops if ops are late; TRUE if it did. */
bool ra_emu_give(const std::function<void()> &op);

extern "C" {
#endif

/* Sets the order of queues from now on; @late: none continues before it must.
 */
void ra_emu_seed_queues(uint64_t seed, int late);

/* Makes ops late from now on, or not.  A late op of a thread runs after those
 * before it, when it is waited for or at random.  Entries of queues are run
 * first. */
void ra_emu_late_ops(int late);

/* From now on, @load is called before each kernel that a thread begins (NULL:
 * nothing is), with no lock held: each is the first of its module, which is
 * loaded late. */
void ra_emu_load_late(void (*load)(void));
void ra_emu_load(void);

/* Kinds of orders: what follows what. */
typedef enum {
  RA_EMU_COPIES_AFTER_OPS,
  RA_EMU_COPIES_AFTER_COPY,
  RA_EMU_OPS_AFTER_COPY,
  RA_EMU_N_FOLLOWS
} RaEmuFollow;

/* A fault: order number @n of @kind from now on, from 0, is ignored. */
void ra_emu_forget_follow(RaEmuFollow kind, uint64_t n);
/* Number of orders of @kind since the last ra_emu_seed_queues(). */
uint64_t ra_emu_n_follows(RaEmuFollow kind);

/* Called by ra_emu_enter(): may run some entries of queues.  A wait for the
 * whole device runs all. */
void ra_emu_queues_go_on(void);
void ra_emu_queues_end(void);
/* Waits for the ops of the calling thread. */
void ra_emu_ops_end(void);

/* Runs one entry of a queue, one that leads to @towards if possible; 0: none
 * can run. */
int ra_emu_go_on(const RaDeviceEvent *towards);
int ra_emu_is_reached(const RaDeviceEvent *event);
/* Later ops of the thread wait until @is_reached of a copy of @data, which is
 * called with the device's lock held; 0: they do not, as ops are not late. */
int ra_emu_follow_outside(int (*is_reached)(const void *data), const void *data,
                          size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
