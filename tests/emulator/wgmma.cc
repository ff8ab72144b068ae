/* Asynchronous matrix multiplications of a warpgroup: hopper.h. */
#include "config.h"

#include <string.h>
#include <vector>

#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu.h"
#include "tests/emulator/cuda_runtime_api.h"
#include "tests/emulator/machine.h"

namespace
{

enum { LANES = 32, GROUP = 128, K = 16, MOST_N = 256 };
enum { CHUNK = 8 }; /* numbers of 16 bytes, which no pattern cuts */
enum { QUADS = MOST_N / 4, WIDE = 16 }; /* columns of a lane; of a vector */

typedef float Vector __attribute__((vector_size(WIDE * sizeof(float))));

/* A factor's place, as the descriptor has it in units of 16 bytes. */
struct Place {
  uint32_t begin, leading, stride; /* bytes */
  uint32_t width;                  /* bytes of a row of the pattern */
};

struct Product {
  float *d;
  unsigned n;
  const uint32_t *a; /* NULL: of shared memory */
  uint32_t a_was[4];
  Place place_a, place_b;
  bool by_rows;
  uint64_t hash;  /* of what it read of shared memory */
  uint64_t group; /* of its lane, from 0 */
};

/* Numbers of a product that is not done. */
struct Result {
  float *d; /* NULL: nothing */
  float made[MOST_N / 2];
};

struct Lane {
  std::vector<Product> products; /* that are not done, in order */
  std::vector<Result> results;
  uint64_t n_committed = 0, n_done = 0; /* groups */
  bool fenced = false;
  uint64_t n_begun = 0;
};

/* Factors that the lanes of a warp read, made by the first of them. */
struct Factors {
  uint64_t number = 0; /* of the warp's products, from 1 */
  uint64_t hash;
  float a[64][K];
  /* Lane l has columns 8 g + 2 (l % 4) + {0, 1}: at 2 g + {0, 1} of l % 4. */
  alignas(Vector) float b[4][K][QUADS];
};

/* The same as they are in shared memory. */
struct Halves {
  uint16_t a[64][K], b[MOST_N][K];
};

/* One for each block that runs. */
std::vector<Lane> lanes_of[RA_EMU_SEATS];
std::vector<Factors> factors_of[RA_EMU_SEATS]; /* of each warp */
uint64_t n_multiplied;

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
uint32_t
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

/* @n rows of a factor, chunk by chunk: eight of a row, or of a column, follow
 * one another. */
void
read_halves(const Place &p, uint32_t n, bool by_rows, uint16_t (*out)[K])
{
  RaEmuWindow window = ra_emu_window();
  uint32_t down = by_rows ? CHUNK : 1, right = by_rows ? 1 : CHUNK;

  for (uint32_t r = 0; r < n; r += down)
    for (uint32_t k = 0; k < K; k += right) {
      uint32_t at = place(p, r, k, by_rows);
      uint16_t chunk[CHUNK];

      if (at < window.begin || at + sizeof chunk > window.end)
        ra_emu_die("wgmma", "a descriptor leaves the block's shared memory");
      memcpy(chunk, window.base + at, sizeof chunk);
      for (uint32_t i = 0; i < CHUNK; i++)
        out[by_rows ? r + i : r][by_rows ? k : k + i] = chunk[i];
    }
}

/* FNV-1a, eight bytes at a time, of @n rows. */
uint64_t
hash_of(const uint16_t (*x)[K], uint32_t n, uint64_t hash)
{
  for (uint32_t r = 0; r < n; r++)
    for (uint32_t k = 0; k < K; k += 4) {
      uint64_t value;

      memcpy(&value, &x[r][k], sizeof value);
      hash = (hash ^ value) * UINT64_C(0x100000001b3);
    }
  return hash;
}

/* Returns: the hash of what @p reads of shared memory, which is left in @h. */
uint64_t
read_product(const Product &p, Halves *h)
{
  uint64_t hash = UINT64_C(0xcbf29ce484222325);

  if (!p.a) {
    read_halves(p.place_a, 64, p.by_rows, h->a);
    hash = hash_of(h->a, 64, hash);
  }
  read_halves(p.place_b, p.n, p.by_rows, h->b);
  return hash_of(h->b, p.n, hash);
}

void
read_factors(const Product &p, uint64_t number, Factors *f)
{
  Halves h;

  f->number = number;
  f->hash = read_product(p, &h);
  for (unsigned r = 0; r < 64 && !p.a; r++)
    for (unsigned k = 0; k < K; k++)
      f->a[r][k] = ra_bf16_to_f32(h.a[r][k]);
  for (unsigned c = 0; c < p.n; c++)
    for (unsigned k = 0; k < K; k++)
      f->b[c % 8 / 2][k][c / 8 * 2 + c % 2] = ra_bf16_to_f32(h.b[c][k]);
}

/* The rows of a lane's results out of its neighbours' registers. */
void
read_registers(float rows[2][K], const unsigned char *all, unsigned lane)
{
  for (unsigned half = 0; half < 2; half++)
    for (unsigned k = 0; k < K; k++) {
      unsigned of = lane / 4 * 4 + k % 8 / 2;
      uint16_t x;

      memcpy(&x, all + 64 * of + 4 * (half + 2 * (k / 8)) + 2 * (k % 2), 2);
      rows[half][k] = ra_bf16_to_f32(x);
    }
}

/* Half of a lane's results, which are pairs of every second pair of @out: each
 * sum in the order of k. */
RA_CPU_KERNEL void
add_product(const float x[K], const float (*y)[QUADS], unsigned n, bool adds,
            float *out)
{
  for (unsigned at = 0; at < n / 4; at += WIDE) {
    unsigned left = n / 4 - at, n_here = left > WIDE ? (unsigned)WIDE : left;
    Vector sum = {};

    for (unsigned i = 0; i < n_here && adds; i++)
      sum[i] = out[(at + i) / 2 * 4 + i % 2];
    for (unsigned k = 0; k < K; k++)
      sum += x[k] * *reinterpret_cast<const Vector *>(&y[k][at]);
    for (unsigned i = 0; i < n_here; i++)
      out[(at + i) / 2 * 4 + i % 2] = sum[i];
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
  Halves h;

  if (p.a && memcmp(p.a, p.a_was, sizeof p.a_was) != 0)
    ra_emu_die("wgmma", "registers of a product that runs were written");
  if (threadIdx.x % LANES == 0 && read_product(p, &h) != p.hash)
    ra_emu_die("wgmma", "shared memory of a product that runs was written");
}

bool
is_pending(const Lane &lane, size_t from, const float *d)
{
  for (size_t i = from; i < lane.products.size(); i++)
    if (lane.products[i].d == d)
      return true;
  return false;
}

/* The result of @d; @begin: a new one if it has none. */
Result *
result_of(Lane *lane, float *d, unsigned n, bool begin)
{
  Result *unused = nullptr;

  for (Result &r : lane->results) {
    if (r.d == d)
      return &r;
    unused = r.d ? unused : &r;
  }
  if (!begin)
    return nullptr;
  if (!unused) {
    lane->results.emplace_back();
    unused = &lane->results.back();
  }
  unused->d = d;
  memcpy(unused->made, d, n / 2 * sizeof(float));
  return unused;
}

} // namespace

void
ra_emu_wgmma_begin(unsigned n_threads)
{
  std::vector<Lane> &lanes = lanes_of[ra_emu_seat];
  std::vector<Factors> &factors = factors_of[ra_emu_seat];

  if (lanes.size() < n_threads) {
    lanes.resize(n_threads);
    factors.resize(n_threads / LANES);
  }
  for (unsigned t = 0; t < n_threads; t++)
    if (lanes[t].fenced || lanes[t].n_begun > 0 || lanes[t].n_committed > 0) {
      lanes[t].n_committed = lanes[t].n_done = lanes[t].n_begun = 0;
      lanes[t].fenced = false;
      factors[t / LANES].number = 0;
    }
}

void
ra_emu_wgmma_thread_end(void)
{
  const Lane &lane = lanes_of[ra_emu_seat][threadIdx.x];

  if (lane.n_committed > lane.n_done || !lane.products.empty())
    ra_emu_die("wgmma", "a thread ended with products nobody waited for");
}

void
ra_emu_wgmma_fence(void)
{
  ra_emu_meet("wgmma.fence", "", 0);
  lanes_of[ra_emu_seat][threadIdx.x].fenced = true;
}

void
ra_emu_wgmma_commit(void)
{
  ra_emu_meet("wgmma.commit_group", "", 0);
  lanes_of[ra_emu_seat][threadIdx.x].n_committed++;
}

void
ra_emu_wgmma_wait(unsigned n_left)
{
  Lane *lane = &lanes_of[ra_emu_seat][threadIdx.x];
  size_t n = 0;

  ra_emu_meet("wgmma.wait_group", "", 0);
  if (lane->n_committed > lane->n_done + n_left)
    lane->n_done = lane->n_committed - n_left;
  for (; n < lane->products.size(); n++) {
    const Product &p = lane->products[n];
    Result *result = result_of(lane, p.d, p.n, false);

    if (p.group >= lane->n_done)
      break;
    check_done(p);
    if (!result || is_pending(*lane, n + 1, p.d))
      continue;
    if (!is_poison(p.d, p.n / 2))
      ra_emu_die("wgmma", "results of a product that runs were written");
    memcpy(p.d, result->made, p.n / 2 * sizeof(float));
    result->d = nullptr;
  }
  lane->products.erase(lane->products.begin(),
                       lane->products.begin() + (ptrdiff_t)n);
  lane->fenced = false;
}

void
ra_emu_wgmma(float *d, unsigned n, const uint32_t *a, uint64_t desc_a,
             uint64_t desc_b, bool by_rows, bool adds)
{
  unsigned l = threadIdx.x % LANES;
  Lane *lane = &lanes_of[ra_emu_seat][threadIdx.x];
  Factors *f = &factors_of[ra_emu_seat][threadIdx.x / LANES];
  Product p = {d,
               n,
               a,
               {},
               place_of(desc_a),
               place_of(desc_b),
               by_rows,
               0,
               lane->n_committed};
  uint64_t given[6] = {desc_a, desc_b, n, adds, 0, 0};
  float rows[2][K];

  if (!lane->fenced)
    ra_emu_die("wgmma", "no wgmma.fence before");
  if (a)
    memcpy(p.a_was, a, sizeof p.a_was);
  memcpy(&given[4], p.a_was, sizeof p.a_was);
  const unsigned char *all = ra_emu_meet("wgmma", given, sizeof given);
  if (memcmp(all, given, 4 * sizeof given[0]) != 0)
    ra_emu_die("wgmma", "lanes differ in what they multiply");
  if (f->number != ++lane->n_begun)
    read_factors(p, lane->n_begun, f);
  p.hash = f->hash;
  if (a)
    read_registers(rows, all + 32, l);
  else
    for (unsigned half = 0; half < 2; half++)
      memcpy(rows[half],
             f->a[threadIdx.x % GROUP / LANES * 16 + l / 4 + 8 * half],
             sizeof rows[half]);

  float *made = result_of(lane, d, n, true)->made;

  for (unsigned half = 0; half < 2; half++)
    add_product(rows[half], f->b[l % 4], n, adds, made + 2 * half);
  memset(d, 0xff, n / 2 * sizeof(float));
  lane->products.push_back(p);
  if (threadIdx.x % GROUP == 0)
    n_multiplied += (uint64_t)64 * n * K;
}

uint64_t
ra_emu_n_multiplied(void)
{
  return n_multiplied;
}
