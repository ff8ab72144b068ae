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

#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu.h"
#include "tests/emulator/cuda_runtime_api.h"
#include "tests/emulator/graph.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/refuse.h"
#include "tests/emulator/watch.h"

enum { STACK_BYTES = 256 << 10, LANES = 32, SLOT_BYTES = 64 };
enum { SHIFTS = 64, SHIFT_BYTES = 21 * 64 };
enum { STAYS = 8 };   /* rounds of a warp in a row, on average */
enum { ROUNDS = 64 }; /* of each warp before another block goes on, likewise */

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
  bool is_after = false;          /* it has called ra_emu_after() */
  const uint32_t *gate = nullptr; /* until this is @turn */
  uint32_t turn = 0;
  unsigned n_met = 0;
  std::vector<std::vector<Copy>> copies; /* groups; the last one is open */
};

struct Warp {
  unsigned char slots[2][LANES * SLOT_BYTES];
  float products[LANES][4]; /* of meeting @multiplied, lane by lane */
  unsigned multiplied = 0;
  unsigned n_here = 0, n_done = 0; /* lanes that wait, that have ended */
  Fiber *coming[LANES];            /* can go on, in the next round */
  Fiber *ready[LANES];             /* in this one */
  unsigned n_coming = 0, n_ready = 0;
  size_t place; /* in awake, with n_coming > 0 */
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
  std::vector<Warp *> awake;    /* warps with lanes that can go on */
  Warp *at_work = nullptr;      /* the one of the round */
  std::vector<Fiber *> at_turn; /* threads that wait for other blocks */
  bool rests = false; /* other warps and blocks go on before it does */
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
uint64_t random_state = 1;
bool is_alone; /* no other block runs */
bool overlaps; /* the kernel that runs: ra_emu_launch() */

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

void
make_ready(Fiber *f)
{
  Warp *warp = &block->warps[f->at.x / LANES];

  f->state = RUNNABLE;
  if (warp->n_coming == 0) {
    warp->place = block->awake.size();
    block->awake.push_back(warp);
  }
  warp->coming[warp->n_coming++] = f;
}

/* Lets the threads go on whose turn has come. */
void
release_turns()
{
  std::vector<Fiber *> &waiting = block->at_turn;

  for (size_t i = 0; i < waiting.size();) {
    Fiber *f = waiting[i];

    if (*f->gate != f->turn) {
      i++;
      continue;
    }
    waiting[i] = waiting.back();
    waiting.pop_back();
    make_ready(f);
  }
}

/* A round: what a warp can do.  A warp goes on for some rounds, as its stacks
 * are in the cache then; so warps are far apart.  Returns: FALSE if no thread
 * of the block can go on. */
bool
begin_round()
{
  std::vector<Warp *> &awake = block->awake;
  Warp *warp = block->at_work;

  release_turns();
  if (awake.empty())
    return false;
  ra_emu_async_step(false);
  if (!warp || warp->n_coming == 0 || block->rests || draw_of(STAYS) == 0)
    warp = awake[draw_of(awake.size())];
  block->rests = false;
  awake[warp->place] = awake.back();
  awake[warp->place]->place = warp->place;
  awake.pop_back();
  memcpy(warp->ready, warp->coming, warp->n_coming * sizeof(Fiber *));
  warp->n_ready = warp->n_coming;
  warp->n_coming = 0;
  block->at_work = warp;
  return true;
}

/* TRUE if another block may go on after this round. */
bool
leaves()
{
  if (is_alone)
    return false;
  if (draw_of(ROUNDS * block->warps.size()) == 0)
    block->rests = true;
  return block->rests;
}

/* Lets any lane go on that the round has left, or begins another; @from comes
 * back to the scheduler if there is none, or if the block leaves. */
void
go_on(Place *from)
{
  if (block->at_work->n_ready == 0 && (leaves() || !begin_round())) {
    switch_to(from, &scheduler);
    return;
  }
  Warp *warp = block->at_work;
  unsigned pick = draw_of(warp->n_ready);

  running = warp->ready[pick];
  warp->ready[pick] = warp->ready[--warp->n_ready];
  threadIdx = running->at;
  switch_to(from, &running->place);
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
    make_ready(fibers[i].get());
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
    make_ready(seats[ra_emu_seat].fibers[i].get());
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
    running->is_after = false;
    (*entry)();
    if (overlaps && !running->is_after)
      die("launch",
          "a thread of a kernel that overlaps ended without ra_after()");
    if (!running->copies.back().empty() || running->copies.size() > 1)
      for (const auto &group : running->copies)
        if (!group.empty())
          die("cp.async", "a thread ended with a copy that nobody waited for");
    ra_emu_async_thread_end();
    running->state = DONE;
    block->n_done++;
    block->warps[running->at.x / LANES].n_done++;
    go_on(&running->place);
  }
}

void
wait(State state, const char *what)
{
  Fiber *me = running;

  me->state = state;
  me->what = what;
  if (state == AT_WARP)
    release_warp(me->at.x);
  else if (state == AT_BLOCK)
    release_block();
  else if (state == AT_TURN)
    block->at_turn.push_back(me);
  else if (state == RUNNABLE)
    make_ready(me);
  go_on(&me->place);
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
  make_ready(f);
  f->n_met = 0;
  if (f->copies.size() != 1) /* its own end has emptied it */
    f->copies.resize(1);
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
run_some()
{
  do {
    bool goes_on = begin_round();

    if (!goes_on && !ra_emu_async_step(true)) {
      seats[ra_emu_seat].is_stuck = true;
      return false;
    }
    for (Seat &s : seats)
      s.is_stuck = false;
    if (goes_on)
      go_on(&scheduler);
    if (block->n_done == block->n_threads)
      return true;
  } while (is_alone || !block->rests);
  return false;
}

/* The usual sizes without a call. */
inline void
copy_words(void *to, const void *from, size_t n_bytes)
{
  if (n_bytes == 4)
    memcpy(to, from, 4);
  else if (n_bytes == 8)
    memcpy(to, from, 8);
  else if (n_bytes == 16)
    memcpy(to, from, 16);
  else if (n_bytes == 40)
    memcpy(to, from, 40);
  else
    memcpy(to, from, n_bytes);
}

/* d + a b of a warp from what its lanes have met with; each sum in the order of
 * k.  The fragments are ra_mma()'s (kernels/device.cuh). */
RA_CPU_KERNEL void
multiply(const unsigned char *all, float (*out)[4])
{
  enum { M = 16, N = 8, K = 16 };
  float a[M][K], b[K][N], d[M][N];

  for (unsigned lane = 0; lane < LANES; lane++) {
    unsigned g = lane / 4, t = 2 * (lane % 4);
    uint16_t two[6][2];
    float four[4];

    memcpy(two, all + SLOT_BYTES * lane, sizeof two);
    memcpy(four, all + SLOT_BYTES * lane + sizeof two, sizeof four);
    for (unsigned i = 0; i < 2; i++) {
      for (unsigned r = 0; r < 4; r++)
        a[g + 8 * (r % 2)][t + 8 * (r / 2) + i] = ra_bf16_to_f32(two[r][i]);
      for (unsigned r = 0; r < 2; r++)
        b[t + 8 * r + i][g] = ra_bf16_to_f32(two[4 + r][i]);
    }
    for (unsigned i = 0; i < 4; i++)
      d[g + 8 * (i / 2)][t + i % 2] = four[i];
  }
  for (unsigned m = 0; m < M; m++)
    for (unsigned k = 0; k < K; k++)
      for (unsigned n = 0; n < N; n++)
        d[m][n] += a[m][k] * b[k][n];
  for (unsigned lane = 0; lane < LANES; lane++)
    for (unsigned i = 0; i < 4; i++)
      out[lane][i] = d[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
}

} // namespace

void
ra_emu_mma(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
  uint32_t mine[10] = {a[0], a[1], a[2], a[3], b0, b1};
  unsigned t = running->at.x, number;

  memcpy(mine + 6, d, 4 * sizeof *d);
  const unsigned char *all = ra_emu_meet("mma", mine, sizeof mine);
  Warp *warp = &block->warps[t / LANES];

  number = running->n_met;
  if (warp->multiplied != number)
    multiply(all, warp->products);
  warp->multiplied = number;
  memcpy(d, warp->products[t % LANES], 4 * sizeof *d);
}

void
ra_emu_seed(uint64_t seed)
{
  random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

void
ra_emu_launch(const void *address, dim3 grid, dim3 shape, size_t n_dynamic,
              const std::function<void()> &kernel, bool kernel_overlaps)
{
  unsigned n = grid.x * grid.y * grid.z;
  std::vector<unsigned> order(n);

  if (ra_emu_note([=] {
        ra_emu_launch(address, grid, shape, n_dynamic, kernel, kernel_overlaps);
      }))
    return;
  ra_emu_enter();
  ra_emu_refuse_launch(address, grid, shape, n_dynamic);
  gridDim = grid;
  blockDim = shape;
  entry = &kernel;
  overlaps = kernel_overlaps;
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
    is_alone = n_seated == 1;
    if (run_some()) {
      end_block();
      n_seated--;
    }
  }
  ra_emu_leave();
}

void
ra_emu_after(void)
{
  running->is_after = true;
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
  make_ready(seats[ra_emu_seat].fibers[thread].get());
}

void
ra_emu_rest(void)
{
  block->rests = true;
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
  copy_words(slots + t % LANES * SLOT_BYTES, mine, n_bytes);
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
