/* Memory of the emulated device: exec/backend/cuda_device.h where there is no GPU.
 *
 * It lies in one region that nobody can read or write but between
 * ra_emu_enter() and ra_emu_leave(): kernels, copies and zeroes.  So code of
 * the host that looks into it ends with a signal, as it would be wrong on a
 * GPU.  What is new is poisoned.  One thread at a time works on it.
 *
 * Pinned memory of the host is read late by a device: what a thread has begun to
 * copy from it must be the same when the thread next waits.
 */
#include "config.h"

#include <functional>
#include <map>
#include <mutex>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vector>

#include "exec/backend/cuda_device.h"
#include "tests/emulator/graph.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/queue.h"

namespace
{

const size_t REGION_BYTES = RA_EMU_MEMORY_BYTES;
const size_t LINE = 256;
const size_t HUGE_BYTES = (size_t)2 << 20;

std::recursive_mutex lock;
unsigned depth;
char *region;
size_t used; /* of the region, ever */
std::map<char *, size_t> taken;
std::map<char *, uint32_t> devices; /* of what is taken */
thread_local uint32_t device;
std::multimap<size_t, char *> given_back;
std::map<const char *, size_t> pinned;

/* Bytes of pinned memory that a copy has begun to read, and what they were. */
struct Read {
  const char *from;
  std::vector<char> bytes;
  uint64_t number; /* of the copy, among the thread's ops */
};

thread_local std::vector<Read> reads;
thread_local size_t n_waits; /* a stream a thread, and its waits */
thread_local uint64_t n_begun;

/* It is opened and closed for every launch and copy, which takes as long as it
 * has pages: in small ones half of the time of a run. */
void
protect(int how)
{
  size_t n_bytes = (used + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;

  if (region && n_bytes > 0 && mprotect(region, n_bytes, how) != 0) {
    perror("emulator: mprotect");
    abort();
  }
}

/* Aligned to huge pages; the system may give none. */
char *
new_region()
{
  void *p = mmap(nullptr, REGION_BYTES + HUGE_BYTES, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  uintptr_t at = reinterpret_cast<uintptr_t>(p) + HUGE_BYTES - 1;

  if (p == MAP_FAILED)
    return nullptr;
  p = reinterpret_cast<void *>(at - at % HUGE_BYTES);
  madvise(p, REGION_BYTES, MADV_HUGEPAGE);
  return static_cast<char *>(p);
}

struct Entered {
  Entered() { ra_emu_enter(); }
  ~Entered() { ra_emu_leave(); }
};

} // namespace

void
ra_emu_open(void)
{
  lock.lock();
  if (depth++ == 0)
    protect(PROT_READ | PROT_WRITE);
}

void
ra_emu_enter(void)
{
  ra_emu_open();
  n_begun++;
  ra_emu_queues_go_on();
}

uint64_t
ra_emu_n_begun(void)
{
  return n_begun;
}

void
ra_emu_leave(void)
{
  if (--depth == 0)
    protect(PROT_NONE);
  lock.unlock();
}

/* Whole pages: what is next to it is somebody else's. */
void *
ra_device_alloc(size_t n_bytes)
{
  Entered entered;
  size_t n = (n_bytes + 4096) / 4096 * 4096;
  auto found = given_back.lower_bound(n);
  char *at;

  ra_emu_no_capture("memory is taken");
  if (!region && !(region = new_region()))
    return nullptr;
  if (found != given_back.end() && found->first <= 2 * n) {
    at = found->second;
    n = found->first;
    given_back.erase(found);
  } else {
    if (used + n > REGION_BYTES)
      return nullptr;
    at = region + used;
    used += n;
    protect(PROT_READ | PROT_WRITE);
  }
  taken[at] = n;
  devices[at] = device;
  memset(at, 0xff, n);
  return at;
}

/* As cudaFree(), which waits for the device. */
void
ra_device_free(void *memory)
{
  ra_emu_ops_end();
  Entered entered;
  auto found = taken.find(static_cast<char *>(memory));

  ra_emu_no_capture("memory is given back");
  if (found == taken.end()) {
    fprintf(stderr, "emulator: what is freed was not the device's\n");
    abort();
  }
  ra_emu_queues_end();
  memset(memory, 0xff, found->second);
  given_back.emplace(found->second, found->first);
  devices.erase(found->first);
  taken.erase(found);
}

size_t
ra_emu_held_bytes(void)
{
  Entered entered;
  size_t sum = 0;

  for (const auto &array : taken)
    if (devices[array.first] == device)
      sum += array.second;
  return sum;
}

void *
ra_device_alloc_host(size_t n_bytes)
{
  Entered entered;
  void *p = malloc(n_bytes + 1);

  ra_emu_no_capture("pinned memory is taken");
  if (p)
    pinned[static_cast<char *>(p)] = n_bytes + 1;
  return p;
}

/* As cudaFreeHost(), which waits for the device. */
void
ra_device_free_host(void *memory)
{
  ra_emu_no_capture("pinned memory is given back");
  ra_device_wait();
  Entered entered;

  ra_emu_queues_end();
  pinned.erase(static_cast<char *>(memory));
  free(memory);
}

int
ra_emu_is_pinned(const void *x)
{
  const char *at = static_cast<const char *>(x);
  auto next = pinned.upper_bound(at);

  return next != pinned.begin() && at < (--next)->first + next->second;
}

void *
ra_device_stream(void)
{
  return nullptr;
}

/* As many as make a decode of some hundred tokens split. */
unsigned
ra_device_n_processors(void)
{
  return 4;
}

/* TRUE if [x, x + n) is the device's. */
int
ra_emu_is_device(const void *x, size_t n)
{
  const char *at = static_cast<const char *>(x);
  auto next = taken.upper_bound(const_cast<char *>(at));

  if (next == taken.begin())
    return false;
  --next;
  return at >= next->first && at + n <= next->first + next->second;
}

void
ra_emu_use(uint32_t other)
{
  device = other;
}

uint32_t
ra_emu_device(void)
{
  return device;
}

uint32_t
ra_emu_device_of(const void *memory)
{
  std::lock_guard<std::recursive_mutex> held(lock);
  auto next = devices.upper_bound(
      const_cast<char *>(static_cast<const char *>(memory)));

  return ra_emu_is_device(memory, 1) ? std::prev(next)->second : UINT32_MAX;
}

/* Now, or when the thread's stream comes to it. */
static void
begin(const std::function<void()> &op)
{
  auto alone = [=] {
    Entered entered;
    op();
  };

  if (!ra_emu_note(alone))
    alone();
}

static int
checked(bool ok)
{
  return ok ? 0 : 1; /* cudaErrorInvalidValue */
}

int
ra_device_zero(void *to, size_t n_bytes)
{
  Entered entered;

  if (n_bytes == 0)
    return 0;
  if (!ra_emu_is_device(to, n_bytes))
    return 1;
  begin([=] { memset(to, 0, n_bytes); });
  return 0;
}

int
ra_device_copy(void *to, const void *from, size_t n_bytes)
{
  return ra_device_copy_rect(to, n_bytes, from, n_bytes, n_bytes, 1);
}

int
ra_device_copy_rect(void *to, size_t to_pitch, const void *from,
                    size_t from_pitch, size_t n_bytes, size_t n_rows)
{
  Entered entered;

  if (n_bytes == 0 || n_rows == 0)
    return 0;
  if (n_bytes > to_pitch || n_bytes > from_pitch ||
      !ra_emu_is_device(to, (n_rows - 1) * to_pitch + n_bytes) ||
      !ra_emu_is_device(from, (n_rows - 1) * from_pitch + n_bytes))
    return 1;
  begin([=] {
    for (size_t row = 0; row < n_rows; row++)
      memmove(static_cast<char *>(to) + row * to_pitch,
              static_cast<const char *>(from) + row * from_pitch, n_bytes);
  });
  return 0;
}

int
ra_device_read(void *to, const void *from, size_t n_bytes)
{
  ra_emu_no_capture("a read");
  ra_device_wait();
  Entered entered;
  bool ok = n_bytes == 0 || ra_emu_is_device(from, n_bytes);

  if (ok && n_bytes > 0)
    memcpy(to, from, n_bytes);
  return checked(ok);
}

int
ra_device_write(void *to, const void *from, size_t n_bytes)
{
  Entered entered;
  bool ok = n_bytes == 0 || ra_emu_is_device(to, n_bytes);

  ra_emu_no_capture("a write");
  if (!ok || n_bytes == 0)
    return checked(ok);
  if (ra_emu_is_device(from, n_bytes)) {
    begin([=] { memcpy(to, from, n_bytes); });
    return 0;
  }
  const char *at = static_cast<const char *>(from);
  std::vector<char> bytes(at, at + n_bytes);

  if (ra_emu_is_pinned(from)) {
    reads.push_back({at, bytes, n_begun});
    begin([=] { memcpy(to, from, n_bytes); });
  } else {
    begin([=] { memcpy(to, bytes.data(), n_bytes); });
  }
  return 0;
}

int
ra_device_wait(void)
{
  ra_emu_no_capture("a wait");
  ra_emu_ops_end();
  n_waits++;
  ra_emu_end_reads(n_begun);
  return 0;
}

void
ra_emu_end_reads(uint64_t n)
{
  size_t n_over = 0;

  for (; n_over < reads.size() && reads[n_over].number <= n; n_over++)
    if (memcmp(reads[n_over].from, reads[n_over].bytes.data(),
               reads[n_over].bytes.size()) != 0) {
      fprintf(stderr, "emulator: pinned memory was written before a copy from "
                      "it was waited for\n");
      abort();
    }
  reads.erase(reads.begin(), reads.begin() + (ptrdiff_t)n_over);
}

size_t
ra_emu_n_waits(void)
{
  return n_waits;
}

const char *
ra_device_error(int code)
{
  return code ? "not allowed on the emulator" : "no error";
}
