/* The machine behind tests/emulator/cuda_runtime_api.h. */
#include "config.h"

/* A checked longjmp() takes a jump to another stack for a fault. */
#undef _FORTIFY_SOURCE

#include <memory>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#include "tests/emulator/cuda_runtime_api.h"
#include "tests/emulator/graph.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/refuse.h"
#include "tests/emulator/watch.h"

enum { STACK_BYTES = 256 << 10, LANES = 32, SLOT_BYTES = 64 };
enum { SHIFTS = 64, SHIFT_BYTES = 21 * 64 };
enum { ROUNDS = 64 }; /* of a block before another goes on, on average */

/* Dynamic memory begins this far into the window of shared memory: aligned as
 * RA_DYNAMIC() says and no better. */
enum { WINDOW_BYTES = 128, WINDOW_ALIGN = 1024 };

dim3 threadIdx, blockIdx, blockDim, gridDim;
unsigned ra_emu_seat;
const RaEmuWatch *ra_emu_watch;

namespace
{

enum State { RUNNABLE, AT_WARP, AT_BLOCK, ASLEEP, AT_TURN, DONE };

struct Copy {
  void *to;
  const void *from; /* NULL: zeroes */
};

/* The compiler's own jumps, where they are known to work: three loads, of
 * which AddressSanitizer sees nothing.  It takes a call of longjmp() for one
 * that leaves this stack's frames for good; ThreadSanitizer wants to see them.
 */
#if defined __SANITIZE_ADDRESS__ ||                                            \
    (defined __x86_64__ && !defined __SANITIZE_THREAD__)
#define RA_COMPILER_JUMPS 1
#endif

/* Where a fiber or the scheduler goes on.  swapcontext() asks the kernel for
 * the signal mask every time, which is most of what a switch costs: jumps do
 * not. */
struct Place {
#ifdef RA_COMPILER_JUMPS
  void *at[5];
#else
  jmp_buf at;
#endif
};

struct Fiber {
  Place place;
  void *stack = nullptr;
  State state = DONE;
  dim3 at;
  const char *what = "";          /* where it waits */
  const uint32_t *gate = nullptr; /* until this is @turn */
  uint32_t turn = 0;
  unsigned n_met = 0;
  std::vector<std::vector<Copy>> copies; /* groups; the last one is open */
};

struct Warp {
  unsigned char slots[2][LANES * SLOT_BYTES];
  unsigned n_here = 0, n_done = 0; /* lanes that wait, that have ended */
};

struct Free {
  void
  operator()(void *p) const
  {
    free(p);
  }
};

struct Shared {
  const char *key;
  std::unique_ptr<void, Free> memory;
};

struct Block {
  std::vector<Shared> shared;
  std::vector<Warp> warps;
  std::unique_ptr<void, Free> dynamic; /* the kernel's begins WINDOW_BYTES on */
  size_t n_dynamic = 0;
  unsigned n_threads = 0;
  unsigned n_here = 0, n_done = 0; /* threads, likewise */
  dim3 at;
};

/* One of the blocks that run together. */
struct Seat {
  std::unique_ptr<Block> block;               /* NULL: free */
  std::vector<std::unique_ptr<Fiber>> fibers; /* kept: their stacks */
  bool is_stuck = false;                      /* it waits for another block */
};

Seat seats[RA_EMU_SEATS];
Block *block; /* that of ra_emu_seat */
Fiber *running;
Place scheduler;
const std::function<void()> *entry;
uint64_t random_state = 1, n_switches;
bool rests; /* others go on before the running block does */

[[noreturn]] void
die(const char *what, const char *why)
{
  ra_emu_die(what, why);
}

/* xorshift64* of Vigna (arXiv 1402.6246). */
uint64_t
draw()
{
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

/* One of @n, all but equally likely: the high half of a product (Lemire, arXiv
 * 1805.10941), as a division for each switch is slow. */
unsigned
draw_of(size_t n)
{
  return (unsigned)((draw() >> 32) * n >> 32);
}

/* A NaN in fp32 and in bf16, and no index that could be right. */
void *
poisoned(size_t n_bytes, size_t align)
{
  size_t whole = (n_bytes + align - 1) / align * align;
  void *p = aligned_alloc(align, whole > 0 ? whole : align);

  if (!p)
    die("memory", "there is no more");
  memset(p, 0xff, n_bytes);
  return p;
}

/* Who calls these may count on no register that a call may change, though this
 * file shows that these change few: on the way back other fibers have run. */
#if defined __has_attribute && __has_attribute(noipa)
#define RA_OWN_JUMPS __attribute__((noipa, no_sanitize_address))
#else
#define RA_OWN_JUMPS __attribute__((noinline, no_sanitize_address))
#endif
#ifdef RA_COMPILER_JUMPS
#define RA_SET_PLACE(place) __builtin_setjmp((place)->at)
#else
#define RA_SET_PLACE(place) _setjmp((place)->at)
#endif

[[noreturn]] RA_OWN_JUMPS void
go_to(Place *to)
{
#ifdef RA_COMPILER_JUMPS
  __builtin_longjmp(to->at, 1);
#else
  _longjmp(to->at, 1);
#endif
}

RA_OWN_JUMPS void
switch_to(Place *from, Place *to)
{
  if (RA_SET_PLACE(from) == 0)
    go_to(to);
}

/* A fiber of jumps comes here once to be known, and back to run. */
void run_entries();

void
begin_fiber()
{
  switch_to(&running->place, &scheduler);
  run_entries();
}

/* Kernel after kernel: a fiber that has ended one waits for the next. */
void
run_entries()
{
  for (;;) {
    (*entry)();
    if (!running->copies.back().empty() || running->copies.size() > 1)
      for (const auto &group : running->copies)
        if (!group.empty())
          die("cp.async", "a thread ended with a copy that nobody waited for");
    ra_emu_async_thread_end();
    running->state = DONE;
    switch_to(&running->place, &scheduler);
  }
}

void
wait(State state, const char *what)
{
  dim3 at = threadIdx;

  running->state = state;
  running->what = what;
  switch_to(&running->place, &scheduler);
  threadIdx = at;
}

/* Where a new fiber begins.  Stacks stand at multiples of a power of two, where
 * what all of them have at the same depth would share few sets of a cache (64
 * of 64 bytes in 4 KiB): each begins some lines below the one before. */
RA_OWN_JUMPS void
make_place(Fiber *f)
{
  ucontext_t context;

  f->stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (f->stack == MAP_FAILED)
    die("memory", "there is no more for stacks");
  getcontext(&context);
  context.uc_stack.ss_sp = f->stack;
  context.uc_stack.ss_size = STACK_BYTES - f->at.x % SHIFTS * SHIFT_BYTES;
  context.uc_link = nullptr;
  makecontext(&context, begin_fiber, 0);
  running = f;
  if (RA_SET_PLACE(&scheduler) == 0)
    setcontext(&context);
}

void
start(Fiber *f)
{
  if (!f->stack)
    make_place(f);
  f->state = RUNNABLE;
  f->n_met = 0;
  if (f->copies.size() != 1) /* its own end has emptied it */
    f->copies.resize(1);
}

/* Lets the warp of thread @t go on once all its lanes have met. */
void
release_warp(unsigned t)
{
  const auto &fibers = seats[ra_emu_seat].fibers;
  unsigned first = t / LANES * LANES;
  Warp *warp = &block->warps[t / LANES];

  if (warp->n_done > 0)
    die(fibers[t]->what, "a lane of the warp has ended");
  if (++warp->n_here < LANES)
    return;
  warp->n_here = 0;
  for (unsigned i = first; i < first + LANES; i++) {
    if (fibers[i]->what != fibers[t]->what &&
        strcmp(fibers[i]->what, fibers[t]->what) != 0)
      die(fibers[t]->what, "another lane of the warp is elsewhere");
    fibers[i]->state = RUNNABLE;
  }
}

void
release_block()
{
  if (block->n_done > 0)
    die("__syncthreads", "a thread of the block has ended");
  if (++block->n_here < block->n_threads)
    return;
  block->n_here = 0;
  for (unsigned i = 0; i < block->n_threads; i++)
    seats[ra_emu_seat].fibers[i]->state = RUNNABLE;
}

void
sit_down(unsigned seat)
{
  ra_emu_seat = seat;
  block = seats[seat].block.get();
  blockIdx = block->at;
}

void
begin_block(unsigned seat, dim3 at, dim3 shape, size_t n_dynamic)
{
  auto &fibers = seats[seat].fibers;
  unsigned n = shape.x * shape.y * shape.z;

  if (n == 0 || n % LANES != 0 || shape.y * shape.z != 1)
    die("launch", "blocks are one row of whole warps here");
  seats[seat].block = std::make_unique<Block>();
  seats[seat].block->at = at;
  sit_down(seat);
  block->warps.resize(n / LANES);
  block->n_threads = n;
  block->n_dynamic = n_dynamic;
  block->dynamic.reset(poisoned(WINDOW_BYTES + n_dynamic, WINDOW_ALIGN));
  if (ra_emu_watch)
    ra_emu_watch->shared(ra_emu_dynamic(), n_dynamic);
  ra_emu_async_begin(n);
  while (fibers.size() < n)
    fibers.push_back(std::make_unique<Fiber>());
  for (unsigned i = 0; i < n; i++) {
    fibers[i]->at = dim3(i);
    start(fibers[i].get());
  }
}

/* One round of the block: all threads that are ready, in a drawn order.
 * Returns: FALSE if none is, and nothing has arrived. */
bool
run_round()
{
  static std::vector<unsigned> ready;
  const auto &fibers = seats[ra_emu_seat].fibers;

  ready.clear();
  for (unsigned i = 0; i < block->n_threads; i++) {
    Fiber *f = fibers[i].get();

    if (f->state == AT_TURN && *f->gate == f->turn)
      f->state = RUNNABLE;
    if (f->state == RUNNABLE)
      ready.push_back(i);
  }
  if (ra_emu_async_step(ready.empty()) && ready.empty())
    return true;
  if (ready.empty())
    return false;
  for (size_t left = ready.size(); left > 0; left--) {
    unsigned pick = draw_of(left);
    unsigned t = ready[pick];

    ready[pick] = ready[left - 1];
    running = fibers[t].get();
    threadIdx = running->at;
    n_switches++;
    switch_to(&scheduler, &running->place);
    if (fibers[t]->state == DONE) {
      block->n_done++;
      block->warps[t / LANES].n_done++;
    } else if (fibers[t]->state == AT_WARP) {
      release_warp(t);
    } else if (fibers[t]->state == AT_BLOCK) {
      release_block();
    }
  }
  return true;
}

void
end_block()
{
  ra_emu_async_end();
  if (ra_emu_watch)
    ra_emu_watch->block_done();
  ra_emu_refuse_block_done();
  block = nullptr;
  seats[ra_emu_seat].block.reset();
}

/* A seat of those whose blocks run and are not stuck; die if there is none. */
unsigned
draw_seat()
{
  unsigned which[RA_EMU_SEATS], n = 0;

  for (unsigned i = 0; i < RA_EMU_SEATS; i++)
    if (seats[i].block && !seats[i].is_stuck)
      which[n++] = i;
  if (n == 0)
    die("deadlock", "no thread can go on");
  return which[draw_of(n)];
}

/* Rounds of a block until it is done or stuck, or as many as are drawn: then
 * other blocks may be far ahead of it, or far behind.  Returns: TRUE if it is
 * done. */
bool
run_some(bool is_alone)
{
  rests = false;
  do {
    if (!run_round()) {
      seats[ra_emu_seat].is_stuck = true;
      return false;
    }
    for (Seat &s : seats)
      s.is_stuck = false;
    if (block->n_done == block->n_threads)
      return true;
  } while (is_alone || (!rests && draw_of(ROUNDS) > 0));
  return false;
}

} // namespace

void
ra_emu_seed(uint64_t seed)
{
  random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

void
ra_emu_launch(const void *address, dim3 grid, dim3 shape, size_t n_dynamic,
              const std::function<void()> &kernel)
{
  unsigned n = grid.x * grid.y * grid.z;
  std::vector<unsigned> order(n);

  if (ra_emu_note(
          [=] { ra_emu_launch(address, grid, shape, n_dynamic, kernel); }))
    return;
  ra_emu_enter();
  ra_emu_refuse_launch(address, grid, shape, n_dynamic);
  gridDim = grid;
  blockDim = shape;
  entry = &kernel;
  for (unsigned i = 0; i < n; i++)
    order[i] = i;
  /* An observer wants block after block. */
  unsigned n_seats = ra_emu_watch ? 1 : 1 + draw_of(RA_EMU_SEATS), n_seated = 0;
  for (unsigned left = n; left > 0 || n_seated > 0;) {
    for (unsigned seat = 0; seat < n_seats && left > 0; seat++)
      if (!seats[seat].block) {
        unsigned pick = (unsigned)(draw() % left), b = order[pick];

        order[pick] = order[--left];
        begin_block(seat,
                    dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y),
                    shape, n_dynamic);
        n_seated++;
      }
    sit_down(draw_seat());
    if (run_some(n_seated == 1)) {
      end_block();
      n_seated--;
    }
  }
  ra_emu_leave();
}

void *
ra_emu_shared(const char *key, size_t n_bytes)
{
  void *p;

  for (const Shared &s : block->shared)
    if (s.key == key || strcmp(s.key, key) == 0)
      return s.memory.get();
  p = poisoned(n_bytes, 128);
  block->shared.push_back({key, std::unique_ptr<void, Free>(p)});
  if (ra_emu_watch)
    ra_emu_watch->shared(p, n_bytes);
  ra_emu_refuse_shared(p, n_bytes);
  return p;
}

void *
ra_emu_dynamic(void)
{
  return static_cast<char *>(block->dynamic.get()) + WINDOW_BYTES;
}

void
ra_emu_die(const char *what, const char *why)
{
  fprintf(stderr, "emulator: block (%u, %u, %u): %s: %s\n", blockIdx.x,
          blockIdx.y, blockIdx.z, what, why);
  abort();
}

uint64_t
ra_emu_draw(void)
{
  return draw();
}

void
ra_emu_sleep(const char *what)
{
  wait(ASLEEP, what);
}

void
ra_emu_wake(unsigned thread)
{
  seats[ra_emu_seat].fibers[thread]->state = RUNNABLE;
}

void
ra_emu_rest(void)
{
  rests = true;
  wait(RUNNABLE, "rest");
}

void
ra_emu_turn_wait(const uint32_t *gate, uint32_t turn)
{
  running->gate = gate;
  running->turn = turn;
  if (*gate != turn)
    wait(AT_TURN, "turn");
}

RaEmuWindow
ra_emu_window(void)
{
  return {static_cast<unsigned char *>(block->dynamic.get()), WINDOW_BYTES,
          WINDOW_BYTES + block->n_dynamic};
}

const unsigned char *
ra_emu_meet(const char *what, const void *mine, size_t n_bytes)
{
  unsigned t = running->at.x;
  Warp *warp = &block->warps[t / LANES];
  unsigned char *slots = warp->slots[running->n_met++ % 2];

  if (ra_emu_watch)
    ra_emu_watch->meet(what, mine);
  if (n_bytes > SLOT_BYTES)
    die(what, "more bytes than a slot has");
  memcpy(slots + t % LANES * SLOT_BYTES, mine, n_bytes);
  wait(AT_WARP, what);
  return slots;
}

void
ra_emu_whole_warp(unsigned mask)
{
  if (mask != 0xffffffffu)
    die("mask", "not all lanes are named");
}

void
__syncthreads(void)
{
  wait(AT_BLOCK, "__syncthreads");
}

void
ra_emu_copy_later(void *to, const void *from)
{
  if (ra_emu_watch)
    ra_emu_watch->copy(to, from);
  ra_emu_refuse_copy(to, from);
  running->copies.back().push_back({to, from});
}

void
ra_emu_copy_commit(void)
{
  running->copies.emplace_back();
}

void
ra_emu_copy_wait(unsigned n_left)
{
  auto &groups = running->copies;

  while (groups.size() > n_left + 1) {
    for (const Copy &c : groups.front())
      if (c.from)
        memcpy(c.to, c.from, 16);
      else
        memset(c.to, 0, 16);
    groups.erase(groups.begin());
  }
}

uint64_t
ra_emu_n_switches(void)
{
  return n_switches;
}
