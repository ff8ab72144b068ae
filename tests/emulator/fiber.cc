/* Stacks of fibers: fiber.h. */
#include "config.h"

/* A checked longjmp() takes a jump to another stack for a fault. */
#undef _FORTIFY_SOURCE

#include <sys/mman.h>
#include <ucontext.h>

#include "tests/emulator/fiber.h"

namespace
{

enum { STACK_BYTES = 256 << 10 };
enum { SHIFTS = 64, SHIFT_BYTES = 21 * 64 };

} // namespace

#ifdef RA_OWN_SWITCH

asm(".text\n"
    ".globl ra_emu_switch\n"
    ".type ra_emu_switch, @function\n"
    "ra_emu_switch:\n"
    "pushq %rbp\n"
    "pushq %rbx\n"
    "pushq %r12\n"
    "pushq %r13\n"
    "pushq %r14\n"
    "pushq %r15\n"
    "movq %rsp, (%rdi)\n"
    "movq %rsi, %rsp\n"
    "popq %r15\n"
    "popq %r14\n"
    "popq %r13\n"
    "popq %r12\n"
    "popq %rbx\n"
    "popq %rbp\n"
    "ret\n"
    ".size ra_emu_switch, .-ra_emu_switch\n");

static void
begin_at(RaEmuPlace *place, void *stack, size_t n_bytes, void (*run)(void))
{
  enum { SAVED = 6 };
  void **top =
      reinterpret_cast<void **>(static_cast<char *>(stack) + n_bytes / 16 * 16);

  top[-2] = reinterpret_cast<void *>(run);
  place->stack = top - 2 - SAVED;
}

#else

static RaEmuPlace *making, maker;
static void (*entry)(void);

/* Comes here once to be known, and back to run. */
static void
begin(void)
{
  void (*run)(void) = entry;

  ra_emu_switch_to(making, &maker);
  run();
}

static void
begin_at(RaEmuPlace *place, void *stack, size_t n_bytes, void (*run)(void))
{
  ucontext_t context;

  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = n_bytes;
  context.uc_link = nullptr;
  makecontext(&context, begin, 0);
  making = place;
  entry = run;
  if (_setjmp(maker.at) == 0)
    setcontext(&context);
}

#endif

/* Stacks stand at multiples of a power of two, where what all of them have at
 * the same depth would share few sets of a cache (64 of 64 bytes in 4 KiB):
 * each begins some lines below the one before. */
bool
ra_emu_make_place(RaEmuPlace *place, unsigned i, void (*run)(void))
{
  void *stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (stack == MAP_FAILED)
    return false;
  begin_at(place, stack, STACK_BYTES - i % SHIFTS * SHIFT_BYTES, run);
  return true;
}
