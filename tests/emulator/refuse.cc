/* Launches that a GPU refuses, and addresses that trap there: limits of
 * capability 9.0 (CUDA programming guide, "Technical specifications per compute
 * capability"; the limits of grids are equal for all capabilities). */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unordered_map>
#include <vector>

#include "tests/emulator/machine.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/refuse.h"

namespace
{

const unsigned MOST_X = 0x7fffffff, MOST_YZ = 65535, MOST_THREADS = 1024;
const size_t SHARED_BYTES = 48 << 10;  /* static, and dynamic unasked */
const size_t OPT_IN_BYTES = 227 << 10; /* both together */

struct Span {
  const char *at;
  size_t n_bytes;
};

std::unordered_map<const void *, size_t> dynamic_of; /* kernels' allowance */
std::vector<Span> statics[RA_EMU_SEATS];             /* of blocks */
size_t n_dynamic_now, n_static_now[RA_EMU_SEATS];

[[noreturn]] void
die(const char *what, const char *why)
{
  fprintf(stderr, "emulator: %s: %s\n", what, why);
  abort();
}

bool
is_in(const Span &span, const void *at, size_t n_bytes)
{
  const char *p = static_cast<const char *>(at);

  return p >= span.at && p + n_bytes <= span.at + span.n_bytes;
}

bool
is_aligned(const void *at, size_t n_bytes)
{
  return reinterpret_cast<uintptr_t>(at) % n_bytes == 0;
}

} // namespace

int
ra_emu_set_dynamic(const void *kernel, size_t n_bytes)
{
  if (n_bytes > OPT_IN_BYTES)
    return cudaErrorInvalidValue;
  ra_emu_enter(); /* threads that launch, too */
  dynamic_of[kernel] = n_bytes;
  ra_emu_leave();
  return cudaSuccess;
}

void
ra_emu_refuse_launch(const void *kernel, dim3 grid, dim3 block,
                     size_t n_dynamic)
{
  auto allowed = dynamic_of.find(kernel);
  size_t n_threads = (size_t)block.x * block.y * block.z;

  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || n_threads == 0)
    die("launch", "an empty grid or block");
  if (grid.x > MOST_X || grid.y > MOST_YZ || grid.z > MOST_YZ)
    die("launch", "a grid beyond 2^31 - 1, 65,535, 65,535 blocks");
  if (n_threads > MOST_THREADS || block.z > 64)
    die("launch", "a block of more than 1,024 threads");
  if (n_dynamic > (allowed == dynamic_of.end() || allowed->second < SHARED_BYTES
                       ? SHARED_BYTES
                       : allowed->second))
    die("launch", "more dynamic shared memory than the kernel is allowed");
  n_dynamic_now = n_dynamic;
}

void
ra_emu_allow_shared(const char *what, const void *at, size_t align)
{
  bool found =
      is_in({static_cast<char *>(ra_emu_dynamic()), n_dynamic_now}, at, align);

  if (!is_aligned(at, align))
    die(what, "an address that is not aligned");
  for (const Span &span : statics[ra_emu_seat])
    found = found || is_in(span, at, align);
  if (!found)
    die(what, "an address outside the block's shared memory");
}

void
ra_emu_refuse_shared(const void *memory, size_t n_bytes)
{
  size_t n = n_static_now[ra_emu_seat] += n_bytes;

  statics[ra_emu_seat].push_back({static_cast<const char *>(memory), n_bytes});
  if (n > SHARED_BYTES)
    die("__shared__", "more than 48 KiB");
  if (n + n_dynamic_now > OPT_IN_BYTES)
    die("__shared__", "more than 227 KiB with what is dynamic");
}

void
ra_emu_refuse_copy(const void *to, const void *from)
{
  ra_emu_allow_shared("cp.async", to, 16);
  if (!is_aligned(from, 16))
    die("cp.async", "a source that is not aligned");
}

void
ra_emu_refuse_block_done(void)
{
  statics[ra_emu_seat].clear();
  n_static_now[ra_emu_seat] = 0;
}
