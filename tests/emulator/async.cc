/* Barriers in shared memory, named barriers and bulk copies: hopper.h. */
#include "config.h"

#include <string.h>
#include <unordered_map>
#include <vector>

#include "tests/emulator/cuda_runtime_api.h"
#include "tests/emulator/machine.h"

namespace
{

enum { ROW_BYTES = 128, CHUNK = 16, N_NAMED = 16 };

struct Barrier {
  unsigned n_arrivals = 0, n_left = 0; /* of a phase; 0: not made */
  int64_t n_bytes = 0;                 /* expected less arrived */
  unsigned parity = 0;                 /* of the phase that it is in */
  std::vector<unsigned> waiting;
};

struct Named {
  unsigned n_threads = 0, n_here = 0;
  std::vector<unsigned> waiting;
};

struct BulkCopy {
  unsigned char *to;
  RaEmuTensorMap map;
  int at[3];
  Barrier *barrier;
};

std::unordered_map<void *, Barrier> barriers;
Named named[N_NAMED];
std::vector<BulkCopy> in_flight;
std::vector<std::vector<void *>> zeroes; /* of a thread, before its fence */
bool any_time; /* copies of this block land whenever they like */

void
wake(std::vector<unsigned> *threads)
{
  for (unsigned t : *threads)
    ra_emu_wake(t);
  threads->clear();
}

Barrier *
find(void *barrier)
{
  auto found = barriers.find(barrier);

  if (found == barriers.end())
    ra_emu_die("mbarrier", "nobody has made it");
  return &found->second;
}

void
end_phase(Barrier *b)
{
  if (b->n_left > 0 || b->n_bytes != 0)
    return;
  b->n_left = b->n_arrivals;
  b->parity ^= 1;
  wake(&b->waiting);
}

/* The swizzle moves a chunk by where its row stands in the window. */
void
land(const BulkCopy &c)
{
  uint32_t to = ra_emu_window_address(c.to);
  unsigned char *window = c.to - to;
  uint32_t row = 0;

  for (uint32_t z = 0; z < c.map.box[2]; z++)
    for (uint32_t y = 0; y < c.map.box[1]; y++, row++)
      for (uint32_t x = 0; x < c.map.box[0]; x++) {
        uint64_t from[3] = {(uint64_t)(c.at[0] + (int)x),
                            (uint64_t)(c.at[1] + (int)y),
                            (uint64_t)(c.at[2] + (int)z)};
        uint32_t address = to + row * ROW_BYTES + 2 * x;
        unsigned char *place =
            window + (address ^ address / ROW_BYTES % 8 * CHUNK);
        bool is_there = true;
        uint64_t offset = 0;

        for (int i = 0; i < 3; i++) {
          is_there = is_there && from[i] < c.map.size[i];
          offset += from[i] * c.map.pitch[i];
        }
        if (is_there)
          memcpy(place, c.map.base + offset, 2);
        else
          memset(place, 0, 2);
      }
  c.barrier->n_bytes -= (int64_t)row * ROW_BYTES;
  end_phase(c.barrier);
}

} // namespace

uint32_t
ra_emu_window_address(const void *shared)
{
  RaEmuWindow window = ra_emu_window();
  size_t at =
      (size_t)(static_cast<const unsigned char *>(shared) - window.base);

  if (at < window.begin || at >= window.end)
    ra_emu_die("shared memory", "an address that is not the block's");
  return (uint32_t)at;
}

void
ra_emu_barrier_init(void *barrier, unsigned n_arrivals)
{
  Barrier fresh;

  fresh.n_arrivals = fresh.n_left = n_arrivals;
  barriers[barrier] = fresh;
}

void
ra_emu_barrier_arrive(void *barrier, uint32_t n_bytes)
{
  Barrier *b = find(barrier);

  b->n_bytes += n_bytes;
  b->n_left--;
  end_phase(b);
}

void
ra_emu_barrier_wait(void *barrier, unsigned parity)
{
  Barrier *b = find(barrier);

  if (b->parity != parity)
    return;
  b->waiting.push_back(threadIdx.x);
  ra_emu_sleep("mbarrier");
}

void
ra_emu_named_barrier(unsigned id, unsigned n_threads, bool waits)
{
  Named *n = &named[id % N_NAMED];

  if (id == 0 || id >= N_NAMED)
    ra_emu_die("bar", "a number that is not 1 to 15");
  if (n->n_here == 0)
    n->n_threads = n_threads;
  else if (n->n_threads != n_threads)
    ra_emu_die("bar", "threads differ in how many they are");
  if (++n->n_here == n_threads) {
    n->n_here = 0;
    wake(&n->waiting);
  } else if (waits) {
    n->waiting.push_back(threadIdx.x);
    ra_emu_sleep("bar");
  }
}

void
ra_emu_bulk_copy(void *to, const RaEmuTensorMap *map, const int at[3],
                 void *barrier)
{
  if (ra_emu_window_address(to) % ROW_BYTES != 0)
    ra_emu_die("cp.async.bulk", "not to a multiple of 128");
  in_flight.push_back({static_cast<unsigned char *>(to),
                       *map,
                       {at[0], at[1], at[2]},
                       find(barrier)});
}

void
ra_emu_proxy_zero(void *shared)
{
  ra_emu_window_address(shared);
  zeroes[threadIdx.x].push_back(shared);
}

void
ra_emu_proxy_fence(void)
{
  for (void *place : zeroes[threadIdx.x])
    memset(place, 0, CHUNK);
  zeroes[threadIdx.x].clear();
}

void
ra_emu_async_begin(unsigned n_threads)
{
  barriers.clear();
  zeroes.resize(n_threads);
  any_time = ra_emu_draw() % 2;
  ra_emu_wgmma_begin(n_threads);
}

bool
ra_emu_async_step(bool idle)
{
  size_t pick;

  if (in_flight.empty() || !(idle || (any_time && ra_emu_draw() % 2)))
    return false;
  pick = ra_emu_draw() % in_flight.size();
  land(in_flight[pick]);
  in_flight.erase(in_flight.begin() + (ptrdiff_t)pick);
  return true;
}

void
ra_emu_async_thread_end(void)
{
  if (!zeroes[threadIdx.x].empty())
    ra_emu_die("fence.proxy", "a thread ended with stores before their fence");
  ra_emu_wgmma_thread_end();
}

void
ra_emu_async_end(void)
{
  if (!in_flight.empty())
    ra_emu_die("cp.async.bulk", "a block ended with a copy in flight");
  for (const Named &n : named)
    if (n.n_here > 0)
      ra_emu_die("bar", "a block ended with arrivals that nobody met");
}
