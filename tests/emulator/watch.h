/* What the emulator tells of, to who watches (tests/emulator/sectors.cc). */
#ifndef RA_TESTS_EMULATOR_WATCH_H
#define RA_TESTS_EMULATOR_WATCH_H

#include <stddef.h>

struct RaEmuWatch {
  void (*shared)(const void *memory, size_t n_bytes); /* a block's, new */
  void (*meet)(const char *what, const void *mine);   /* of a lane */
  void (*copy)(const void *to, const void *from);     /* cp.async, 16 bytes */
  void (*block_done)(void);
};

extern const RaEmuWatch *ra_emu_watch; /* NULL: nobody */

#endif
