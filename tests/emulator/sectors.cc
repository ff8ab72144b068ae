/* The counter behind sectors.h.  Compiled without -fsanitize=thread, whose
 * library's entry points it defines; a program links it by name, for in an
 * archive it would stand in for the library where that is wanted. */
#include "config.h"

#include <algorithm>
#include <map>
#include <set>
#include <string.h>
#include <tuple>
#include <vector>

#include "tests/emulator/cuda_runtime_api.h"
#include "tests/emulator/sectors.h"
#include "tests/emulator/watch.h"

namespace
{

enum { LANES = 32, SECTOR = 32, BANKS = 32, WORD = 4 };

struct Lane {
  unsigned lane;
  uintptr_t at;
  size_t n_bytes;
  bool writes;
};

typedef std::tuple<unsigned, const void *, unsigned> Key; /* warp, code, time */
typedef std::map<uintptr_t, uintptr_t> Ranges;            /* begin, end */

bool counting;
Ranges arrays, shared;
std::map<Key, std::vector<Lane>> groups;
std::map<std::pair<unsigned, const void *>, unsigned> times;
std::set<uintptr_t> read_sectors, read_bytes; /* of the block */
RaSectors total;

bool
has(const Ranges &ranges, uintptr_t at)
{
  auto next = ranges.upper_bound(at);

  return next != ranges.begin() && at < std::prev(next)->second;
}

void
add(const void *code, const void *where, size_t n_bytes, bool writes)
{
  uintptr_t at = reinterpret_cast<uintptr_t>(where);
  unsigned thread = threadIdx.x;

  if (!counting || (!has(arrays, at) && !has(shared, at)))
    return;
  unsigned time = times[{thread, code}]++;

  groups[{thread / LANES, code, time}].push_back(
      {thread % LANES, at, n_bytes, writes});
}

/* More than 16 bytes are as many accesses. */
void
add_range(const void *code, const void *where, size_t n_bytes, bool writes)
{
  const char *at = static_cast<const char *>(where);

  for (; n_bytes > 16; n_bytes -= 16, at += 16)
    add(code, at, 16, writes);
  add(code, at, n_bytes, writes);
}

/* Reads of all lanes at one place come from the first-level cache, or are a
 * constant. */
bool
is_one(const std::vector<Lane> &group)
{
  for (const Lane &l : group)
    if (l.at != group[0].at)
      return false;
  return group.size() > 1;
}

void
count_global(const std::vector<Lane> &group)
{
  std::set<uintptr_t> sectors, bytes;

  if (is_one(group))
    return;
  for (const Lane &l : group) {
    for (size_t i = 0; i < l.n_bytes; i++) {
      sectors.insert((l.at + i) / SECTOR);
      bytes.insert(l.at + i);
    }
    total.lane_bytes += l.n_bytes;
  }
  total.n_accesses++;
  total.n_lanes += group.size();
  if (group[0].writes) {
    total.useful_bytes += bytes.size();
    total.sector_bytes += SECTOR * sectors.size();
  } else { /* together with what else the block reads of them */
    read_sectors.insert(sectors.begin(), sectors.end());
    read_bytes.insert(bytes.begin(), bytes.end());
  }
}

void
count_shared(const std::vector<Lane> &group)
{
  size_t wide = 0;
  std::map<unsigned, std::vector<std::set<uintptr_t>>> parts;

  for (const Lane &l : group)
    wide = std::max(wide, l.n_bytes);
  for (const Lane &l : group) {
    auto &banks = parts[l.lane / (wide == 16 ? 8 : wide == 8 ? 16 : LANES)];

    banks.resize(BANKS);
    for (size_t i = 0; i < l.n_bytes; i++)
      banks[(l.at + i) / WORD % BANKS].insert((l.at + i) / WORD);
  }
  for (const auto &part : parts) {
    size_t most = 0;

    for (const auto &words : part.second)
      most = std::max(most, words.size());
    total.n_rounds += most;
    total.n_least++;
  }
}

void
new_shared(const void *memory, size_t n_bytes)
{
  uintptr_t at = reinterpret_cast<uintptr_t>(memory);

  shared[at] = at + n_bytes;
}

/* Lanes of ldmatrix give the address of a row of 16 bytes each. */
void
meet(const char *what, const void *mine)
{
  if (strcmp(what, "ldmatrix") == 0)
    add(what, mine, 16, false);
}

void
copy(const void *to, const void *from)
{
  add(&arrays, from, 16, false);
  add(&shared, to, 16, true);
}

void
block_done()
{
  for (const auto &group : groups)
    if (has(shared, group.second[0].at))
      count_shared(group.second);
    else
      count_global(group.second);
  total.useful_bytes += read_bytes.size();
  total.sector_bytes += SECTOR * read_sectors.size();
  read_bytes.clear();
  read_sectors.clear();
  groups.clear();
  times.clear();
  shared.clear();
}

const RaEmuWatch watch = {new_shared, meet, copy, block_done};

} // namespace

void
ra_sectors_begin(void)
{
  arrays.clear();
  total = {};
  ra_emu_watch = &watch;
  counting = true;
}

void
ra_sectors_array(const void *begin, size_t n_bytes)
{
  uintptr_t at = reinterpret_cast<uintptr_t>(begin);

  arrays[at] = at + n_bytes;
}

RaSectors
ra_sectors_end(void)
{
  counting = false;
  ra_emu_watch = nullptr;
  return total;
}

#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

int
ra_sectors_count(void)
{
#ifdef __SANITIZE_THREAD__
  return 0;
#else
  return 1;
#endif
}

#ifndef __SANITIZE_THREAD__

/* ---- What -fsanitize=thread calls -----------------------------------------*/

#define HERE __builtin_return_address(0)
#define ACCESS(name, n_bytes, writes)                                          \
  extern "C" void name(const void *at);                                        \
  void name(const void *at) { add(HERE, at, n_bytes, writes); }
#define ACCESSES(size)                                                         \
  ACCESS(__tsan_read##size, size, false)                                       \
  ACCESS(__tsan_write##size, size, true)                                       \
  ACCESS(__tsan_unaligned_read##size, size, false)                             \
  ACCESS(__tsan_unaligned_write##size, size, true)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

extern "C" {
void __tsan_init(void);
void __tsan_func_entry(void *);
void __tsan_func_exit(void);
void __tsan_vptr_update(void *, void *);
void __tsan_read_range(const void *at, size_t n_bytes);
void __tsan_write_range(const void *at, size_t n_bytes);

void
__tsan_init(void)
{
}

void
__tsan_func_entry(void *)
{
}

void
__tsan_func_exit(void)
{
}

void
__tsan_vptr_update(void *, void *)
{
}

void
__tsan_read_range(const void *at, size_t n_bytes)
{
  add_range(HERE, at, n_bytes, false);
}

void
__tsan_write_range(const void *at, size_t n_bytes)
{
  add_range(HERE, at, n_bytes, true);
}
}

#endif
