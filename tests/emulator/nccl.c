/* The emulated device for the double of NCCL. */
#include "config.h"

#include "exec/backend/cuda_device.h"
#include "exec/backend/cuda_queue.h"
#include "tests/emulator/graph.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/nccl.h"
#include "tests/emulator/queue.h"

static void *
mark(void)
{
  RaDeviceEvent *event = ra_device_event_new();

  ra_device_event_record(event, NULL);
  return event;
}

static gboolean
is_reached(const void *of)
{
  return ra_emu_is_reached(of);
}

static gboolean
go_on(const void *towards)
{
  return ra_emu_go_on(towards);
}

static void
mark_free(void *of)
{
  ra_device_event_free(of);
}

static void
wait(void)
{
  ra_device_wait();
}

const NcclDoubleMemory *
ra_emu_nccl_memory(void)
{
  static const NcclDoubleMemory memory = {.enter = ra_emu_enter,
                                          .leave = ra_emu_leave,
                                          .alloc = ra_device_alloc,
                                          .free = ra_device_free,
                                          .use = ra_emu_use,
                                          .device = ra_emu_device,
                                          .device_of = ra_emu_device_of,
                                          .mark = mark,
                                          .is_reached = is_reached,
                                          .mark_free = mark_free,
                                          .follow = ra_emu_follow_outside,
                                          .go_on = go_on,
                                          .wait = wait,
                                          .capture = ra_emu_capture,
                                          .note = ra_emu_note_begin,
                                          .look_with = ra_device_look_with};

  return &memory;
}
