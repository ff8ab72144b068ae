/* Stacks of fibers, and switches between them, for emulator.cc. */
#ifndef RA_TESTS_EMULATOR_FIBER_H
#define RA_TESTS_EMULATOR_FIBER_H

#include <setjmp.h>
#include <stddef.h>

/* A switch leaves on each stack what a function saves for its caller, and
 * returns on the other one: swapcontext() asks the kernel for the signal mask
 * every time, and after a jump out of a call the processor predicts the place
 * of each return wrong.  ThreadSanitizer wants to see jumps. */
#if defined __x86_64__ && !defined __SANITIZE_THREAD__
#define RA_OWN_SWITCH 1
extern "C" void ra_emu_switch(void ***from, void **to);
#endif

/* Where a fiber or the scheduler goes on. */
struct RaEmuPlace {
#ifdef RA_OWN_SWITCH
  void **stack;
#else
  jmp_buf at;
#endif
};

static inline void
ra_emu_switch_to(RaEmuPlace *from, RaEmuPlace *to)
{
  if (from == to)
    return;
#ifdef RA_OWN_SWITCH
  ra_emu_switch(&from->stack, to->stack);
#else
  if (_setjmp(from->at) == 0)
    _longjmp(to->at, 1);
#endif
}

/* Brings the stack of a fiber into the cache. */
static inline void
ra_emu_expect(const RaEmuPlace *place)
{
#ifdef RA_OWN_SWITCH
  enum { LINES = 5, LINE_BYTES = 64 };

  for (size_t i = 0; i < LINES; i++)
    __builtin_prefetch(place->stack + i * LINE_BYTES / sizeof(void *));
#else
  (void)place;
#endif
}

/* Makes a stack for fiber number @i, on which @place begins with @run, which
 * does not return.  Returns: FALSE: there is no memory */
bool ra_emu_make_place(RaEmuPlace *place, unsigned i, void (*run)(void));

#endif
