/* The machine behind tests/emulator/cuda_runtime_api.h. */
#include "config.h"

#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu.h"
#include "tests/emulator/cuda_runtime_api.h"
#include "tests/emulator/fiber.h"
#include "tests/emulator/graph.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/queue.h"
#include "tests/emulator/refuse.h"
#include "tests/emulator/watch.h"

enum { MOST_THREADS = 1024, LANES = 32, SLOT_BYTES = 64 };
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

enum Why { RESTS, AT_WARP, AT_BLOCK, ASLEEP, AT_TURN };

struct Copy {
  void *to;
  const void *from; /* NULL: zeroes */
};

struct Warp;

struct alignas(64) Fiber {
  RaEmuPlace place;
  unsigned t = 0, n_met = 0;
  Warp *warp = nullptr;
  bool has_stack = false;
  bool is_after = false; /* it has called ra_emu_after() */
  unsigned turn = 0;
  const uint32_t *gate = nullptr;        /* it waits until this is @turn */
  std::vector<std::vector<Copy>> copies; /* groups; the last one is open */
};

struct Warp {
  unsigned char slots[2][LANES * SLOT_BYTES];
  float products[LANES][4]; /* of meeting @multiplied, lane by lane */
  unsigned multiplied = 0;
  unsigned n_here = 0, n_done = 0; /* lanes that wait, that have ended */
  const char *what = "";           /* where they wait */
  Fiber *lanes = nullptr;
  unsigned char coming[LANES]; /* can go on, in the next round */
  unsigned char ready[LANES];  /* in this one, in the order of the round */
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
  bool runs = false;
  std::vector<Shared> shared;
  std::vector<Warp> warps; /* n_warps of them are the block's */
  unsigned n_warps = 0;
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

/* One of the blocks that run together.  What the last one had is kept: stacks
 * and room. */
struct Seat {
  Block block;
  std::unique_ptr<Fiber[]> fibers; /* MOST_THREADS */
  bool is_stuck = false;           /* it waits for another block */
};

Seat seats[RA_EMU_SEATS];
Block *block; /* that of ra_emu_seat */
Fiber *running;
RaEmuPlace scheduler;
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

/* Lanes of a warp can go on: it is awake. */
inline void
wake_up(Warp *warp)
{
  if (warp->n_coming > 0)
    return;
  warp->place = block->awake.size();
  block->awake.push_back(warp);
}

inline void
make_ready(Fiber *f)
{
  Warp *warp = f->warp;

  wake_up(warp);
  warp->coming[warp->n_coming++] = (unsigned char)(f->t % LANES);
}

/* All lanes of a warp, none of which could go on. */
inline void
make_all_ready(Warp *warp)
{
  wake_up(warp);
  for (unsigned i = 0; i < LANES; i++)
    warp->coming[i] = (unsigned char)i;
  warp->n_coming = LANES;
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

/* Lanes that can go on are ready, in any order: one number of the seed gives
 * those of a round, by Knuth's linear congruential generator (MMIX). */
void
shuffle(Warp *warp)
{
  uint64_t state = draw();
  unsigned char *ready = warp->ready;

  for (unsigned i = 0; i < warp->n_coming; i++) {
    state =
        state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    unsigned at = (unsigned)((state >> 32) * (i + 1) >> 32);

    ready[i] = ready[at];
    ready[at] = warp->coming[i];
  }
  warp->n_ready = warp->n_coming;
  warp->n_coming = 0;
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
  shuffle(warp);
  block->at_work = warp;
  return true;
}

/* TRUE if another block may go on after this round. */
bool
leaves()
{
  if (is_alone)
    return false;
  if (draw_of(ROUNDS * block->n_warps) == 0)
    block->rests = true;
  return block->rests;
}

/* Lets any lane go on that the round has left, or begins another; @from comes
 * back to the scheduler if there is none, or if the block leaves. */
void
go_on(RaEmuPlace *from)
{
  Warp *warp = block->at_work;

  if (warp->n_ready == 0) {
    if (leaves() || !begin_round()) {
      ra_emu_switch_to(from, &scheduler);
      return;
    }
    warp = block->at_work;
  }
  running = &warp->lanes[warp->ready[--warp->n_ready]];
  threadIdx.x = running->t;
  if (warp->n_ready > 0)
    ra_emu_expect(&warp->lanes[warp->ready[warp->n_ready - 1]].place);
  ra_emu_switch_to(from, &running->place);
}

/* Lets the warp of @f go on once all its lanes have met. */
void
release_warp(const Fiber *f, const char *what)
{
  Warp *warp = f->warp;

  if (warp->n_done > 0)
    die(what, "a lane of the warp has ended");
  if (warp->n_here == 0)
    warp->what = what;
  else if (warp->what != what && strcmp(warp->what, what) != 0)
    die(what, "another lane of the warp is elsewhere");
  if (++warp->n_here < LANES)
    return;
  warp->n_here = 0;
  make_all_ready(warp);
}

void
release_block()
{
  if (block->n_done > 0)
    die("__syncthreads", "a thread of the block has ended");
  if (++block->n_here < block->n_threads)
    return;
  block->n_here = 0;
  for (unsigned i = 0; i < block->n_warps; i++)
    make_all_ready(&block->warps[i]);
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
    block->n_done++;
    running->warp->n_done++;
    go_on(&running->place);
  }
}

void
wait(Why why, const char *what)
{
  Fiber *me = running;

  if (why == AT_WARP)
    release_warp(me, what);
  else if (why == AT_BLOCK)
    release_block();
  else if (why == AT_TURN)
    block->at_turn.push_back(me);
  else if (why == RESTS)
    make_ready(me);
  go_on(&me->place);
}

void
start(Fiber *f, unsigned t, Warp *warp)
{
  f->t = t;
  f->warp = warp;
  f->n_met = 0;
  if (!f->has_stack && !ra_emu_make_place(&f->place, t, run_entries))
    die("memory", "there is no more for stacks");
  f->has_stack = true;
  if (f->copies.size() != 1) /* its own end has emptied it */
    f->copies.resize(1);
}

void
sit_down(unsigned seat)
{
  ra_emu_seat = seat;
  block = &seats[seat].block;
  blockIdx = block->at;
}

void
begin_block(unsigned seat, dim3 at, dim3 shape, size_t n_dynamic)
{
  std::unique_ptr<Fiber[]> &fibers = seats[seat].fibers;
  unsigned n = shape.x * shape.y * shape.z;

  if (n == 0 || n % LANES != 0 || shape.y * shape.z != 1)
    die("launch", "blocks are one row of whole warps here");
  if (!fibers)
    fibers = std::make_unique<Fiber[]>(MOST_THREADS);
  seats[seat].block.at = at;
  sit_down(seat);
  block->runs = true;
  block->n_warps = n / LANES;
  if (block->warps.size() < block->n_warps)
    block->warps.resize(block->n_warps);
  block->n_threads = n;
  block->n_here = block->n_done = 0;
  block->at_work = nullptr;
  block->rests = false;
  block->n_dynamic = n_dynamic;
  block->dynamic.reset(poisoned(WINDOW_BYTES + n_dynamic, WINDOW_ALIGN));
  if (ra_emu_watch)
    ra_emu_watch->shared(ra_emu_dynamic(), n_dynamic);
  ra_emu_async_begin(n);
  for (unsigned w = 0; w < block->n_warps; w++) {
    Warp *warp = &block->warps[w];

    warp->lanes = &fibers[w * LANES];
    warp->n_here = warp->n_done = warp->multiplied = 0;
    for (unsigned i = 0; i < LANES; i++)
      start(&warp->lanes[i], w * LANES + i, warp);
    make_all_ready(warp);
  }
}

void
end_block()
{
  ra_emu_async_end();
  if (ra_emu_watch)
    ra_emu_watch->block_done();
  ra_emu_refuse_block_done();
  block->shared.clear();
  block->dynamic.reset();
  block->runs = false;
  block = nullptr;
}

/* A seat of those whose blocks run and are not stuck; die if there is none. */
unsigned
draw_seat()
{
  unsigned which[RA_EMU_SEATS], n = 0;

  for (unsigned i = 0; i < RA_EMU_SEATS; i++)
    if (seats[i].block.runs && !seats[i].is_stuck)
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

/* The running lane's slot of its warp's next meeting. */
inline unsigned char *
slot_of_mine(void)
{
  return running->warp->slots[running->n_met % 2] +
         running->t % LANES * SLOT_BYTES;
}

/* Meets the other lanes; all slots. */
inline const unsigned char *
meet(const char *what, const void *mine)
{
  const unsigned char *slots = running->warp->slots[running->n_met++ % 2];

  if (ra_emu_watch)
    ra_emu_watch->meet(what, mine);
  wait(AT_WARP, what);
  return slots;
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
  else
    memcpy(to, from, n_bytes);
}

/* The pairs of bf16 of a register, in fp32. */
inline void
widen_pair(uint32_t two, float *low, float *high)
{
  uint32_t bits[2] = {two << 16, two & 0xffff0000u};

  memcpy(low, &bits[0], 4);
  memcpy(high, &bits[1], 4);
}

/* d + a b of a warp from what its lanes have met with; each sum in the order of
 * k.  The fragments are ra_mma()'s (kernels/device.cuh). */
RA_CPU_KERNEL void
multiply(const unsigned char *all, float (*out)[4])
{
  enum { M = 16, N = 8, K = 16, AT_ONCE = 4 };
  typedef float Row __attribute__((vector_size(N * sizeof(float))));
  float a[M][K];
  alignas(N * sizeof(float)) float b[K][N], d[M][N];

  for (unsigned lane = 0; lane < LANES; lane++) {
    unsigned g = lane / 4, t = 2 * (lane % 4);
    uint32_t two[6];

    memcpy(two, all + SLOT_BYTES * lane, sizeof two);
    memcpy(&d[g][t], all + SLOT_BYTES * lane + sizeof two, 8);
    memcpy(&d[g + 8][t], all + SLOT_BYTES * lane + sizeof two + 8, 8);
    for (unsigned r = 0; r < 4; r++) {
      float *pair = &a[g + 8 * (r % 2)][t + 8 * (r / 2)];

      widen_pair(two[r], pair, pair + 1);
    }
    widen_pair(two[4], &b[t][g], &b[t + 1][g]);
    widen_pair(two[5], &b[t + 8][g], &b[t + 9][g]);
  }
  for (unsigned m = 0; m < M; m += AT_ONCE) {
    Row *out_rows = reinterpret_cast<Row *>(d[m]), sums[AT_ONCE];

    for (unsigned i = 0; i < AT_ONCE; i++)
      sums[i] = out_rows[i];
    for (unsigned k = 0; k < K; k++)
      for (unsigned i = 0; i < AT_ONCE; i++)
        sums[i] += a[m + i][k] * *reinterpret_cast<const Row *>(b[k]);
    for (unsigned i = 0; i < AT_ONCE; i++)
      out_rows[i] = sums[i];
  }
  for (unsigned lane = 0; lane < LANES; lane++)
    for (unsigned i = 0; i < 2; i++)
      memcpy(&out[lane][2 * i], &d[lane / 4 + 8 * i][2 * (lane % 4)], 8);
}

} // namespace

void
ra_emu_mma(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
  unsigned char *mine = slot_of_mine();

  memcpy(mine, a, 4 * sizeof *a);
  memcpy(mine + 16, &b0, sizeof b0);
  memcpy(mine + 20, &b1, sizeof b1);
  memcpy(mine + 24, d, 4 * sizeof *d);
  const unsigned char *all = meet("mma", mine);
  Warp *warp = running->warp;

  if (warp->multiplied != running->n_met)
    multiply(all, warp->products);
  warp->multiplied = running->n_met;
  memcpy(d, warp->products[running->t % LANES], 4 * sizeof *d);
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

  ra_emu_load();
  if (ra_emu_note([=] {
        ra_emu_launch(address, grid, shape, n_dynamic, kernel, kernel_overlaps);
      }))
    return;
  ra_emu_enter();
  ra_emu_refuse_launch(address, grid, shape, n_dynamic);
  gridDim = grid;
  threadIdx = dim3(0, 0, 0);
  blockDim = shape;
  entry = &kernel;
  overlaps = kernel_overlaps;
  for (unsigned i = 0; i < n; i++)
    order[i] = i;
  /* An observer wants block after block. */
  unsigned n_seats = ra_emu_watch ? 1 : 1 + draw_of(RA_EMU_SEATS), n_seated = 0;
  for (unsigned left = n; left > 0 || n_seated > 0;) {
    for (unsigned seat = 0; seat < n_seats && left > 0; seat++)
      if (!seats[seat].block.runs) {
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
  make_ready(&seats[ra_emu_seat].fibers[thread]);
}

void
ra_emu_rest(void)
{
  block->rests = true;
  wait(RESTS, "rest");
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
  if (n_bytes > SLOT_BYTES)
    die(what, "more bytes than a slot has");
  copy_words(slot_of_mine(), mine, n_bytes);
  return meet(what, mine);
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
