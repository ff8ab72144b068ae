/* When the copies of the emulated device's queues are made: see queue.cc. */
#ifndef RA_TESTS_EMULATOR_QUEUE_H
#define RA_TESTS_EMULATOR_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "exec/backend/cuda_queue.h"

#ifdef __cplusplus
#include <functional>

/* Whether the calling thread makes what a queue has. */
bool ra_emu_is_making(void);
/* Whether @op is late: the queue of the thread's ops has it. */
bool ra_emu_give(const std::function<void()> &op);

extern "C" {
#endif

/* The order of queues from now on; @late: none goes on before it must. */
void ra_emu_seed_queues(uint64_t seed, int late);

/* Whether ops are late too from now on: each of a thread's is made behind those
 * before it when somebody waits for it, or now and then.  What queues have is
 * made first. */
void ra_emu_late_ops(int late);

/* Who is told to follow what. */
typedef enum {
  RA_EMU_COPIES_AFTER_OPS,
  RA_EMU_COPIES_AFTER_COPY,
  RA_EMU_OPS_AFTER_COPY,
  RA_EMU_N_FOLLOWS
} RaEmuFollow;

/* A fault: of what is told so, number @n from now on, from 0, is forgotten. */
void ra_emu_forget_follow(RaEmuFollow kind, uint64_t n);
/* How often it was told since the last ra_emu_seed_queues(). */
uint64_t ra_emu_n_follows(RaEmuFollow kind);

/* What is behind ra_emu_enter(): some of what queues have may be made; what
 * waits for the whole device: all of it. */
void ra_emu_queues_go_on(void);
void ra_emu_queues_end(void);
/* The calling thread waits for its own ops. */
void ra_emu_ops_end(void);

/* One thing that a queue has is made, of that which is to reach @towards if it
 * can go on: 0 if none can. */
int ra_emu_go_on(const RaDeviceEvent *towards);
int ra_emu_is_reached(const RaDeviceEvent *event);
/* The thread's ops from now on wait until @is_reached of a copy of @data, which
 * is asked with the device's lock; 0: they do not, as ops are not late. */
int ra_emu_follow_outside(int (*is_reached)(const void *data), const void *data,
                          size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
