/* Asynchronous matrix multiplications of a warpgroup: hopper.h. */
#include "config.h"

#include <memory>
#include <string.h>
#include <vector>

#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu.h"
#include "tests/emulator/cuda_runtime_api.h"
#include "tests/emulator/machine.h"

namespace
{

enum { LANES = 32, GROUP = 128, K = 16, ROWS = 16, MOST_N = 256 };
enum { CHUNK = 8 }; /* numbers of 16 bytes, which no pattern cuts */
enum { WIDE = 16, AT_ONCE = 4 }; /* columns of a vector; rows with one load */
enum { STRIDE = MOST_N + WIDE }; /* of rows, not all in one set of a cache */
enum { MOST_CHUNKS = MOST_N * K / CHUNK };
enum { AHEAD = 4 }; /* products of a warpgroup of which one warp has begun */

typedef float Vector __attribute__((vector_size(WIDE * sizeof(float))));

/* A factor's place, as the descriptor has it in units of 16 bytes. */
struct Place {
  uint32_t begin, leading, stride; /* bytes */
  uint32_t width;                  /* bytes of a row of the pattern */
};

/* Chunks of a factor in shared memory, as a product reads them. */
struct Reading {
  uint32_t n = 0; /* chunks */
  uint32_t at[MOST_CHUNKS];
  uint16_t chunks[MOST_CHUNKS][CHUNK];
};

struct Product {
  unsigned result;   /* of the lane's */
  const uint32_t *a; /* NULL: of shared memory */
  uint32_t a_was[4];
  uint64_t group; /* of its lane, from 0 */
};

struct Result {
  float *d; /* NULL: nothing */
  unsigned n;
};

struct Lane {
  std::vector<Product> products;        /* that are not done, in order */
  std::vector<Result> results;          /* those of a warp have one place */
  uint64_t n_committed = 0, n_done = 0; /* groups */
  bool fenced = false;
  uint64_t n_begun = 0;
  uint64_t way = 0; /* fences and commits, which all lanes of a warp pass */
};

/* Numbers of a warp's products that are not done. */
struct Sums {
  alignas(WIDE * sizeof(float)) float x[ROWS][STRIDE] = {};
};

struct Both {
  Reading a, b;
};

struct Warp {
  uint64_t number = 0;                     /* of its last product, from 1 */
  std::vector<std::unique_ptr<Sums>> sums; /* by result */
  std::vector<std::unique_ptr<Both>> read; /* of products that are not done */
  std::vector<std::unique_ptr<Both>> spare;
};

/* The second factor of a product, which the warps of a group all read. */
struct Factor {
  bool by_rows = false;
  Reading read;
  alignas(WIDE * sizeof(float)) float x[K][STRIDE] = {};
};

/* Those of a block. */
struct Machine {
  std::vector<Lane> lanes;
  std::vector<Warp> warps;
  std::vector<std::unique_ptr<Factor>> factors; /* AHEAD of each group */
};

Machine machines[RA_EMU_SEATS];
uint64_t n_multiplied;

Machine *
here()
{
  return &machines[ra_emu_seat];
}

Lane *
this_lane()
{
  return &here()->lanes[threadIdx.x];
}

Warp *
this_warp()
{
  return &here()->warps[threadIdx.x / LANES];
}

Place
place_of(uint64_t d)
{
  static const uint32_t widths[4] = {16, 128, 64, 32};

  if (d >> 49 & 7)
    ra_emu_die("wgmma", "a descriptor's base offset: tiles begin a pattern");
  return {(uint32_t)(d & 0x3fff) << 4, (uint32_t)(d >> 16 & 0x3fff) << 4,
          (uint32_t)(d >> 32 & 0x3fff) << 4, widths[d >> 62]};
}

/* Where element @k of row or column @r of a factor is (9.7.14.5.1, canonical
 * layouts): cores of 8 rows of 16 bytes; with a swizzle, rows of its width, in
 * which the chunk's number is that of the row's address, by its exclusive or.
 */
inline uint32_t
place(const Place &p, uint32_t r, uint32_t k, bool by_rows)
{
  uint32_t wide = p.width / 2, at = p.begin;

  if (p.width == 16 && by_rows)
    at += r % 8 * 2 + r / 8 * p.stride + k % 8 * 16 + k / 8 * p.leading;
  else if (p.width == 16)
    at += r % 8 * 16 + r / 8 * p.stride + k % 8 * 2 + k / 8 * p.leading;
  else if (by_rows)
    at += r % wide * 2 + r / wide * p.leading + k % 8 * p.width +
          k / 8 * p.stride;
  else
    at += r % 8 * p.width + r / 8 * p.stride + k * 2;
  return at ^ (at >> 7 & (p.width / 16 - 1)) << 4;
}

/* @n rows of a factor, chunk by chunk: eight of a row, the rows one after the
 * other, or with @by_rows eight of a column, column after column. */
void
read_factor(const Place &p, uint32_t n, bool by_rows, Reading *out)
{
  RaEmuWindow window = ra_emu_window();
  uint32_t i = 0;

  if (by_rows)
    for (uint32_t r = 0; r < n; r += CHUNK)
      for (uint32_t k = 0; k < K; k++)
        out->at[i++] = place(p, r, k, true);
  else
    for (uint32_t r = 0; r < n; r++)
      for (uint32_t k = 0; k < K; k += CHUNK)
        out->at[i++] = place(p, r, k, false);
  out->n = i;
  for (i = 0; i < out->n; i++) {
    uint32_t at = out->at[i];

    if (at < window.begin || at + sizeof *out->chunks > window.end)
      ra_emu_die("wgmma", "a descriptor leaves the block's shared memory");
    ra_emu_async_read(at);
    memcpy(out->chunks[i], window.base + at, sizeof *out->chunks);
  }
}

bool
reads_from(const Reading &r, uint32_t begin, uint32_t end)
{
  for (uint32_t i = 0; i < r.n; i++)
    if (r.at[i] >= begin && r.at[i] < end)
      return true;
  return false;
}

/* TRUE if what has been read is there no longer. */
bool
has_changed(const Reading &r)
{
  const unsigned char *base = ra_emu_window().base;
  uint64_t all = 0;

  for (uint32_t i = 0; i < r.n; i++) {
    uint64_t now[2], was[2];

    memcpy(now, base + r.at[i], sizeof now);
    memcpy(was, r.chunks[i], sizeof was);
    all |= (now[0] ^ was[0]) | (now[1] ^ was[1]);
  }
  return all != 0;
}

/* In fp32, the second factor's: x[k][r] of element @k of column @r. */
void
widen(const Reading &r, bool by_rows, float (*x)[STRIDE])
{
  if (by_rows)
    for (uint32_t i = 0; i < r.n; i++)
      for (uint32_t j = 0; j < CHUNK; j++)
        x[i % K][i / K * CHUNK + j] = ra_bf16_to_f32(r.chunks[i][j]);
  else
    for (uint32_t i = 0; i < r.n; i++)
      for (uint32_t j = 0; j < CHUNK; j++)
        x[i % 2 * CHUNK + j][i / 2] = ra_bf16_to_f32(r.chunks[i][j]);
}

/* The second factor of product @number of this warpgroup: the warps of a group
 * find what the first of them has made of the same numbers. */
const Factor *
factor_of(const Reading &read, uint64_t number, bool by_rows)
{
  auto &factors = here()->factors;
  size_t at = threadIdx.x / GROUP * AHEAD + number % AHEAD;

  if (factors.size() <= at)
    factors.resize(at + 1);
  if (!factors[at])
    factors[at] = std::make_unique<Factor>();
  Factor *f = factors[at].get();

  if (f->by_rows == by_rows && f->read.n == read.n &&
      memcmp(f->read.chunks, read.chunks, read.n * sizeof *read.chunks) == 0)
    return f;
  f->by_rows = by_rows;
  f->read.n = read.n;
  memcpy(f->read.chunks, read.chunks, read.n * sizeof *read.chunks);
  widen(read, by_rows, f->x);
  return f;
}

/* The warp's rows of a factor in registers, from what its lanes have met with:
 * ra_mma()'s fragments (kernels/device.cuh). */
void
read_registers(float rows[ROWS][K], const unsigned char *all)
{
  for (unsigned lane = 0; lane < LANES; lane++)
    for (unsigned i = 0; i < 8; i++) {
      uint16_t x;

      memcpy(&x, all + 64 * lane + 32 + 2 * i, 2);
      rows[lane / 4 + i / 2 % 2 * 8][lane % 4 * 2 + i % 2 + i / 4 * 8] =
          ra_bf16_to_f32(x);
    }
}

/* The same of one in shared memory, of which a warp has every fourth part. */
void
read_rows(float rows[ROWS][K], const Reading &read, bool by_rows)
{
  unsigned first = threadIdx.x % GROUP / LANES * ROWS;

  for (unsigned row = 0; row < ROWS; row++)
    for (unsigned k = 0; k < K; k++) {
      unsigned r = first + row;

      rows[row][k] =
          ra_bf16_to_f32(by_rows ? read.chunks[r / CHUNK * K + k][r % CHUNK]
                                 : read.chunks[r * 2 + k / CHUNK][k % CHUNK]);
    }
}

/* A warp's part of a product, each sum in the order of k. */
RA_CPU_KERNEL void
add_product(const float (*rows)[K], const float (*y)[STRIDE], unsigned n,
            bool adds, float (*out)[STRIDE])
{
  for (unsigned row = 0; row < ROWS; row += AT_ONCE)
    for (unsigned at = 0; at < n; at += WIDE) {
      Vector sums[AT_ONCE];

      for (unsigned i = 0; i < AT_ONCE; i++)
        sums[i] =
            adds ? *reinterpret_cast<Vector *>(&out[row + i][at]) : Vector{};
      for (unsigned k = 0; k < K; k++) {
        Vector right = *reinterpret_cast<const Vector *>(&y[k][at]);

        for (unsigned i = 0; i < AT_ONCE; i++)
          sums[i] += rows[row + i][k] * right;
      }
      for (unsigned i = 0; i < AT_ONCE; i++)
        *reinterpret_cast<Vector *>(&out[row + i][at]) = sums[i];
    }
}

bool
is_poison(const float *d, unsigned n)
{
  for (unsigned i = 0; i < n; i++) {
    uint32_t bits;

    memcpy(&bits, &d[i], 4);
    if (bits != UINT32_MAX)
      return false;
  }
  return true;
}

/* Nothing that it read may have changed. */
void
check_done(const Product &p)
{
  Warp *warp = this_warp();

  if (p.a && memcmp(p.a, p.a_was, sizeof p.a_was) != 0)
    ra_emu_die("wgmma", "registers of a product that runs were written");
  if (threadIdx.x % LANES != 0)
    return;
  if (has_changed(warp->read[0]->a) || has_changed(warp->read[0]->b))
    ra_emu_die("wgmma", "shared memory of a product that runs was written");
  warp->spare.push_back(std::move(warp->read[0]));
  warp->read.erase(warp->read.begin());
}

bool
is_pending(const Lane &lane, size_t from, unsigned result)
{
  for (size_t i = from; i < lane.products.size(); i++)
    if (lane.products[i].result == result)
      return true;
  return false;
}

/* This lane's numbers of a result, pairs of columns of two rows; between its
 * registers and the warp's. */
void
move_pairs(float *d, Sums *sums, unsigned n, bool to_registers)
{
  unsigned lane = threadIdx.x % LANES;

  for (unsigned i = 0; i < n / 4; i++) {
    float *pair = &sums->x[lane / 4 + i % 2 * 8][i / 2 * 8 + lane % 4 * 2];

    if (to_registers)
      memcpy(d + 2 * i, pair, 2 * sizeof *d);
    else
      memcpy(pair, d + 2 * i, 2 * sizeof *d);
  }
}

/* The number of the lane's result in @d, a new one if it has none. */
unsigned
result_of(Lane *lane, float *d, unsigned n, bool adds)
{
  Warp *warp = this_warp();
  unsigned unused = (unsigned)lane->results.size();

  for (unsigned i = 0; i < lane->results.size(); i++) {
    if (lane->results[i].d == d)
      return i;
    unused = lane->results[i].d ? unused : i;
  }
  if (unused == lane->results.size())
    lane->results.emplace_back();
  if (unused == warp->sums.size())
    warp->sums.push_back(std::make_unique<Sums>());
  lane->results[unused] = {d, n};
  if (adds)
    move_pairs(d, warp->sums[unused].get(), n, false);
  return unused;
}

/* Where the sum goes over rows of shared memory. */
struct ByRows {
  bool a, b;
};

/* Called by the first lane of a warp that goes on: the product of all. */
void
multiply(const unsigned char *all, uint64_t desc_a, uint64_t desc_b, unsigned n,
         bool in_registers, ByRows by_rows, bool adds, Sums *sums)
{
  Warp *warp = this_warp();
  std::unique_ptr<Both> read;
  float rows[ROWS][K];

  if (warp->spare.empty())
    warp->spare.push_back(std::make_unique<Both>());
  read = std::move(warp->spare.back());
  warp->spare.pop_back();
  read->a.n = 0;
  if (in_registers) {
    read_registers(rows, all);
  } else {
    read_factor(place_of(desc_a), GROUP / 2, by_rows.a, &read->a);
    read_rows(rows, read->a, by_rows.a);
  }
  read_factor(place_of(desc_b), n, by_rows.b, &read->b);
  add_product(rows, factor_of(read->b, warp->number, by_rows.b)->x, n, adds,
              sums->x);
  warp->read.push_back(std::move(read));
}

} // namespace

void
ra_emu_wgmma_begin(unsigned n_threads)
{
  Machine *m = here();

  if (m->lanes.size() < n_threads) {
    m->lanes.resize(n_threads);
    m->warps.resize(n_threads / LANES);
  }
  for (unsigned t = 0; t < n_threads; t++) {
    Lane *lane = &m->lanes[t];

    if (lane->way > 0) {
      lane->n_committed = lane->n_done = lane->n_begun = lane->way = 0;
      lane->fenced = false;
      m->warps[t / LANES].number = 0;
    }
  }
}

void
ra_emu_wgmma_thread_end(void)
{
  const Lane &lane = *this_lane();

  if (lane.n_committed > lane.n_done || !lane.products.empty())
    ra_emu_die("wgmma", "a thread ended with products nobody waited for");
}

bool
ra_emu_wgmma_reads(uint32_t begin, uint32_t end)
{
  for (const Warp &warp : here()->warps)
    for (const std::unique_ptr<Both> &read : warp.read)
      if (reads_from(read->a, begin, end) || reads_from(read->b, begin, end))
        return true;
  return false;
}

/* Fences and commits do not wait for the other lanes, but all must pass them:
 * the next product, and the wait, compare. */
void
ra_emu_wgmma_fence(void)
{
  Lane *lane = this_lane();

  lane->fenced = true;
  lane->way = lane->way * 3 + 1;
}

void
ra_emu_wgmma_commit(void)
{
  Lane *lane = this_lane();

  lane->n_committed++;
  lane->way = lane->way * 3 + 2;
}

void
ra_emu_wgmma_wait(unsigned n_left)
{
  Lane *lane = this_lane();
  size_t n = 0;

  const unsigned char *all =
      ra_emu_meet("wgmma.wait_group", &lane->way, sizeof lane->way);
  if (memcmp(all, &lane->way, sizeof lane->way) != 0)
    ra_emu_die("wgmma", "lanes differ in their fences and groups");
  if (lane->n_committed > lane->n_done + n_left)
    lane->n_done = lane->n_committed - n_left;
  for (; n < lane->products.size(); n++) {
    const Product &p = lane->products[n];
    Result *result = &lane->results[p.result];

    if (p.group >= lane->n_done)
      break;
    check_done(p);
    if (is_pending(*lane, n + 1, p.result))
      continue;
    if (!is_poison(result->d, result->n / 2))
      ra_emu_die("wgmma", "results of a product that runs were written");
    move_pairs(result->d, this_warp()->sums[p.result].get(), result->n, true);
    result->d = nullptr;
  }
  lane->products.erase(lane->products.begin(),
                       lane->products.begin() + (ptrdiff_t)n);
  lane->fenced = false;
}

void
ra_emu_wgmma(float *d, unsigned n, const uint32_t *a, uint64_t desc_a,
             uint64_t desc_b, bool a_by_rows, bool b_by_rows, bool adds)
{
  Lane *lane = this_lane();
  Warp *warp = this_warp();
  uint64_t given[8] = {desc_a, desc_b, n, lane->way, 0, 0, 0, 0};
  unsigned result;

  if (!lane->fenced)
    ra_emu_die("wgmma", "no wgmma.fence before");
  result = result_of(lane, d, n, adds);
  if (a)
    memcpy(&given[4], a, 4 * sizeof *a);
  given[6] = (uint64_t)result << 1 | adds;
  lane->products.emplace_back();
  lane->products.back().result = result;
  lane->products.back().a = a;
  lane->products.back().group = lane->n_committed;
  if (a)
    memcpy(lane->products.back().a_was, a, 4 * sizeof *a);
  const unsigned char *all = ra_emu_meet("wgmma", given, sizeof given);
  if (memcmp(all, given, 4 * sizeof given[0]) != 0 ||
      memcmp(all + 48, &given[6], sizeof given[6]) != 0)
    ra_emu_die("wgmma", "lanes differ in what they multiply");
  if (warp->number != ++lane->n_begun) {
    warp->number = lane->n_begun;
    multiply(all, desc_a, desc_b, n, a, {a_by_rows, b_by_rows}, adds,
             warp->sums[result].get());
  }
  memset(d, 0xff, n / 2 * sizeof(float));
  if (threadIdx.x % GROUP == 0)
    n_multiplied += (uint64_t)64 * n * K;
}

uint64_t
ra_emu_n_multiplied(void)
{
  return n_multiplied;
}
