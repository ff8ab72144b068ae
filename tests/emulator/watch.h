/* Events of the emulator for an observer (tests/emulator/sectors.cc). */
#ifndef RA_TESTS_EMULATOR_WATCH_H
#define RA_TESTS_EMULATOR_WATCH_H

#include <stddef.h>

struct RaEmuWatch {
  void (*shared)(const void *memory, size_t n_bytes); /* new, of a block */
  void (*meet)(const char *what, const void *mine);   /* a lane meets others */
  void (*copy)(const void *to, const void *from);     /* cp.async, 16 bytes */
  void (*block_done)(void);
};

extern const RaEmuWatch *ra_emu_watch; /* NULL: no observer */

#endif
