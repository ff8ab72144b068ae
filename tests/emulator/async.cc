/* Barriers in shared memory, named barriers and bulk copies: hopper.h. */
#include "config.h"

#include <string.h>
#include <unordered_map>
#include <vector>

#include "tests/emulator/cuda_runtime_api.h"
#include "tests/emulator/machine.h"

namespace
{

enum { ROW_BYTES = 128, CHUNK = 16, N_NAMED = 16, MOST_BOX = 256 };
enum { PART = 1024 }; /* bytes of which it is known that a product read them */

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

struct Store { /* of a thread, before its fence */
  void *to;
  unsigned char value[CHUNK];
};

struct BulkStore {
  float *to;
  const float *from;
  std::vector<float> was; /* in @from */
  bool adds, is_read;
};

struct Thread {
  std::vector<Store> stores;
  std::vector<BulkStore> bulk;
};

/* A block's; one for each that runs. */
struct Seat {
  std::unordered_map<void *, Barrier> barriers;
  Named named[N_NAMED];
  std::vector<BulkCopy> in_flight;
  std::vector<Thread> threads;
  std::vector<bool> unread; /* parts that a copy has brought */
  bool any_time = false;    /* copies land whenever they like */
};

Seat seats[RA_EMU_SEATS];

Seat *
here()
{
  return &seats[ra_emu_seat];
}

Thread *
this_thread()
{
  return &here()->threads[threadIdx.x];
}

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
  auto found = here()->barriers.find(barrier);

  if (found == here()->barriers.end())
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

uint32_t
bytes_of(const RaEmuTensorMap &map)
{
  return map.box[1] * map.box[2] * ROW_BYTES;
}

/* Nobody may miss what is where a copy goes. */
void
check_place(const unsigned char *to, uint32_t n_bytes)
{
  const std::vector<bool> &unread = here()->unread;
  uint32_t at = ra_emu_window_address(to), end = at + n_bytes;

  for (const BulkCopy &c : here()->in_flight)
    if (to < c.to + bytes_of(c.map) && c.to < to + n_bytes)
      ra_emu_die("cp.async.bulk", "to where another one is on its way");
  if (ra_emu_wgmma_reads(at, end))
    ra_emu_die("cp.async.bulk", "to where a product that runs reads");
  for (uint32_t i = at / PART; i < (end + PART - 1) / PART; i++)
    if (i < unread.size() && unread[i])
      ra_emu_die("cp.async.bulk", "to what no product has read");
}

void
mark_unread(const unsigned char *to, uint32_t n_bytes)
{
  std::vector<bool> *unread = &here()->unread;
  uint32_t at = ra_emu_window_address(to), end = at + n_bytes;

  if (unread->size() * PART < end)
    unread->resize((end + PART - 1) / PART);
  for (uint32_t i = at / PART; i < (end + PART - 1) / PART; i++)
    (*unread)[i] = true;
}

/* A row of the box, whose columns outside of the array are zeroes. */
void
read_row(const BulkCopy &c, const char *from, unsigned char *to)
{
  int64_t first = c.at[0], size = (int64_t)c.map.size[0];

  if (first >= 0 && first + ROW_BYTES / 2 <= size) {
    memcpy(to, from + 2 * first, ROW_BYTES);
    return;
  }
  memset(to, 0, ROW_BYTES);
  for (int64_t x = 0; x < ROW_BYTES / 2; x++)
    if (first + x >= 0 && first + x < size)
      memcpy(to + 2 * x, from + 2 * (first + x), 2);
}

/* The swizzle moves a chunk by where its row stands in the window. */
void
land(const BulkCopy &c)
{
  uint32_t to = ra_emu_window_address(c.to), row = 0;

  if (c.map.box[0] * 2 != ROW_BYTES)
    ra_emu_die("cp.async.bulk", "a box whose rows are not the swizzle's");
  for (uint32_t z = 0; z < c.map.box[2]; z++)
    for (uint32_t y = 0; y < c.map.box[1]; y++, row++) {
      uint64_t down = (uint64_t)(c.at[1] + (int)y);
      uint64_t deep = (uint64_t)(c.at[2] + (int)z);
      unsigned char *place = c.to + row * ROW_BYTES;
      unsigned char wide[ROW_BYTES] = {};

      if (down < c.map.size[1] && deep < c.map.size[2])
        read_row(c, c.map.base + down * c.map.pitch[1] + deep * c.map.pitch[2],
                 wide);
      for (uint32_t i = 0; i < ROW_BYTES; i += CHUNK)
        memcpy(place + (i ^ (to / ROW_BYTES + row) % 8 * CHUNK), wide + i,
               CHUNK);
    }
  mark_unread(c.to, row * ROW_BYTES);
  c.barrier->n_bytes -= (int64_t)row * ROW_BYTES;
  end_phase(c.barrier);
}

} // namespace

void
ra_emu_async_read(uint32_t at)
{
  if (at / PART < here()->unread.size())
    here()->unread[at / PART] = false;
}

bool
ra_emu_map_is_allowed(const RaEmuTensorMap *map)
{
  const uint64_t most = UINT64_C(1) << 32, most_pitch = UINT64_C(1) << 40;

  for (int i = 0; i < 3; i++)
    if (map->size[i] == 0 || map->size[i] > most || map->box[i] == 0 ||
        map->box[i] > MOST_BOX)
      return false;
  for (int i = 1; i < 3; i++)
    if (map->pitch[i] % CHUNK != 0 || map->pitch[i] >= most_pitch)
      return false;
  return reinterpret_cast<uintptr_t>(map->base) % CHUNK == 0;
}

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
  here()->barriers[barrier] = fresh;
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
  Named *n = &here()->named[id % N_NAMED];

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
  check_place(static_cast<unsigned char *>(to), bytes_of(*map));
  here()->in_flight.push_back({static_cast<unsigned char *>(to),
                               *map,
                               {at[0], at[1], at[2]},
                               find(barrier)});
}

void
ra_emu_proxy_store(void *shared, const void *value)
{
  Store s = {shared, {}};

  if (ra_emu_window_address(shared) % CHUNK != 0)
    ra_emu_die("st.shared", "an address that is not aligned");
  memcpy(s.value, value, CHUNK);
  this_thread()->stores.push_back(s);
}

void
ra_emu_proxy_fence(void)
{
  for (const Store &s : this_thread()->stores)
    memcpy(s.to, s.value, CHUNK);
  this_thread()->stores.clear();
}

void
ra_emu_bulk_store(float *global, const float *shared, uint32_t n, bool adds)
{
  if (ra_emu_window_address(shared) % CHUNK != 0 ||
      reinterpret_cast<uintptr_t>(global) % CHUNK != 0 || n % 4 != 0)
    ra_emu_die("cp.async.bulk", "not whole chunks of 16 bytes");
  this_thread()->bulk.push_back(
      {global, shared, std::vector<float>(shared, shared + n), adds, false});
}

void
ra_emu_bulk_wait(bool written)
{
  std::vector<BulkStore> *all = &this_thread()->bulk;

  if (written && !all->empty())
    ra_emu_rest();
  for (BulkStore &s : *all) {
    size_t n = s.was.size();

    if (!s.is_read && memcmp(s.from, s.was.data(), n * sizeof(float)) != 0)
      ra_emu_die("cp.async.bulk", "shared memory of a store that runs was "
                                  "written");
    s.is_read = true;
    for (size_t i = 0; i < n && written; i++)
      s.to[i] = s.adds ? s.to[i] + s.was[i] : s.was[i];
  }
  if (written)
    all->clear();
}

void
ra_emu_bulk_prefetch(const void *global, uint32_t n_bytes)
{
  const volatile char *bytes = static_cast<const volatile char *>(global);

  if (reinterpret_cast<uintptr_t>(global) % CHUNK != 0 || n_bytes == 0 ||
      n_bytes % CHUNK != 0)
    ra_emu_die("cp.async.bulk", "not whole chunks of 16 bytes");
  (void)bytes[0];
  (void)bytes[n_bytes - 1];
}

void
ra_emu_async_begin(unsigned n_threads)
{
  here()->barriers.clear();
  here()->threads.resize(n_threads);
  here()->unread.clear();
  here()->any_time = ra_emu_draw() % 2;
  ra_emu_wgmma_begin(n_threads);
}

bool
ra_emu_async_step(bool idle)
{
  std::vector<BulkCopy> &in_flight = here()->in_flight;
  size_t pick;

  if (in_flight.empty() || !(idle || (here()->any_time && ra_emu_draw() % 2)))
    return false;
  pick = ra_emu_draw() % in_flight.size();
  land(in_flight[pick]);
  in_flight.erase(in_flight.begin() + (ptrdiff_t)pick);
  return true;
}

void
ra_emu_async_thread_end(void)
{
  if (!this_thread()->stores.empty())
    ra_emu_die("fence.proxy", "a thread ended with stores before their fence");
  if (!this_thread()->bulk.empty())
    ra_emu_die("cp.async.bulk", "a thread ended with stores nobody waited for");
  ra_emu_wgmma_thread_end();
}

void
ra_emu_async_end(void)
{
  if (!here()->in_flight.empty())
    ra_emu_die("cp.async.bulk", "a block ended with a copy in flight");
  for (const Named &n : here()->named)
    if (n.n_here > 0)
      ra_emu_die("bar", "a block ended with arrivals that nobody met");
}
