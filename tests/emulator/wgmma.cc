/* Asynchronous matrix multiplications of a warpgroup: hopper.h. */
#include "config.h"

#include <map>
#include <string.h>
#include <vector>

#include "kernels/cpu/bf16.h"
#include "tests/emulator/cuda_runtime_api.h"
#include "tests/emulator/machine.h"

namespace
{

enum { LANES = 32, GROUP = 128, K = 16, MOST_N = 256 };

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
  uint64_t hash; /* of what it read of shared memory */
};

struct Lane {
  std::vector<std::vector<Product>> groups;      /* the last one is open */
  std::map<float *, std::vector<float>> results; /* of what is not done */
  bool fenced = false;
  uint64_t n_begun = 0;
};

/* What the lanes of a warp read, made by the first of them. */
struct Factors {
  uint64_t number = 0; /* of the warp's products, from 1 */
  uint64_t hash;
  float a[64][K], b[MOST_N][K];
};

std::vector<Lane> lanes;
std::vector<Factors> factors; /* of each warp */

Place
place_of(uint64_t d)
{
  static const uint32_t widths[4] = {16, 128, 64, 32};

  if (d >> 49 & 7)
    ra_emu_die("wgmma", "a descriptor's base offset: tiles begin a pattern");
  return {(uint32_t)(d & 0x3fff) << 4, (uint32_t)(d >> 16 & 0x3fff) << 4,
          (uint32_t)(d >> 32 & 0x3fff) << 4, widths[d >> 62]};
}

/* Element @k of row or column @r of a factor (9.7.14.5.1, canonical layouts):
 * cores of 8 rows of 16 bytes; with a swizzle, rows of its width, in which the
 * chunk's number is that of the row's address, by its exclusive or. */
uint16_t
element(const Place &p, uint32_t r, uint32_t k, bool by_rows)
{
  RaEmuWindow window = ra_emu_window();
  uint32_t wide = p.width / 2, at = p.begin;
  uint16_t value;

  if (p.width == 16 && by_rows)
    at += r % 8 * 2 + r / 8 * p.stride + k % 8 * 16 + k / 8 * p.leading;
  else if (p.width == 16)
    at += r % 8 * 16 + r / 8 * p.stride + k % 8 * 2 + k / 8 * p.leading;
  else if (by_rows)
    at += r % wide * 2 + r / wide * p.leading + k % 8 * p.width +
          k / 8 * p.stride;
  else
    at += r % 8 * p.width + r / 8 * p.stride + k * 2;
  at ^= (at >> 7 & (p.width / 16 - 1)) << 4;
  if (at < window.begin || at + 2 > window.end)
    ra_emu_die("wgmma", "a descriptor leaves the block's shared memory");
  memcpy(&value, window.base + at, 2);
  return value;
}

/* FNV-1a over @value's halves. */
void
add_hash(uint64_t *hash, uint16_t value)
{
  *hash = (*hash ^ value) * UINT64_C(0x100000001b3);
}

Factors
read_factors(const Product &p, uint64_t number)
{
  Factors f;

  f.number = number;
  f.hash = UINT64_C(0xcbf29ce484222325);
  for (unsigned k = 0; k < K; k++) {
    for (unsigned r = 0; r < 64 && !p.a; r++) {
      uint16_t x = element(p.place_a, r, k, false);

      f.a[r][k] = ra_bf16_to_f32(x);
      add_hash(&f.hash, x);
    }
    for (unsigned c = 0; c < p.n; c++) {
      uint16_t x = element(p.place_b, c, k, p.by_rows);

      f.b[c][k] = ra_bf16_to_f32(x);
      add_hash(&f.hash, x);
    }
  }
  return f;
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
  if (p.a && memcmp(p.a, p.a_was, sizeof p.a_was) != 0)
    ra_emu_die("wgmma", "registers of a product that runs were written");
  if (threadIdx.x % LANES == 0 && read_factors(p, 0).hash != p.hash)
    ra_emu_die("wgmma", "shared memory of a product that runs was written");
}

bool
is_pending(const Lane &lane, const float *d)
{
  for (const auto &group : lane.groups)
    for (const Product &p : group)
      if (p.d == d)
        return true;
  return false;
}

} // namespace

void
ra_emu_wgmma_begin(unsigned n_threads)
{
  lanes.assign(n_threads, {});
  factors.assign(n_threads / LANES, {});
  for (Lane &lane : lanes)
    lane.groups.resize(1);
}

void
ra_emu_wgmma_thread_end(void)
{
  const Lane &lane = lanes[threadIdx.x];

  if (lane.groups.size() > 1 || !lane.groups[0].empty())
    ra_emu_die("wgmma", "a thread ended with products nobody waited for");
}

void
ra_emu_wgmma_fence(void)
{
  ra_emu_meet("wgmma.fence", "", 0);
  lanes[threadIdx.x].fenced = true;
}

void
ra_emu_wgmma_commit(void)
{
  ra_emu_meet("wgmma.commit_group", "", 0);
  lanes[threadIdx.x].groups.emplace_back();
}

void
ra_emu_wgmma_wait(unsigned n_left)
{
  Lane *lane = &lanes[threadIdx.x];

  ra_emu_meet("wgmma.wait_group", "", 0);
  while (lane->groups.size() > n_left + 1) {
    std::vector<Product> done = lane->groups.front();

    lane->groups.erase(lane->groups.begin());
    for (const Product &p : done) {
      auto result = lane->results.find(p.d);

      check_done(p);
      if (result == lane->results.end() || is_pending(*lane, p.d))
        continue;
      if (!is_poison(p.d, p.n / 2))
        ra_emu_die("wgmma", "results of a product that runs were written");
      memcpy(p.d, result->second.data(), p.n / 2 * sizeof(float));
      lane->results.erase(result);
    }
  }
  lane->fenced = false;
}

void
ra_emu_wgmma(float *d, unsigned n, const uint32_t *a, uint64_t desc_a,
             uint64_t desc_b, bool by_rows, bool adds)
{
  unsigned l = threadIdx.x % LANES;
  Lane *lane = &lanes[threadIdx.x];
  Factors *f = &factors[threadIdx.x / LANES];
  Product p = {d, n, a, {}, place_of(desc_a), place_of(desc_b), by_rows, 0};
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
    *f = read_factors(p, lane->n_begun);
  p.hash = f->hash;
  if (a)
    read_registers(rows, all + 32, l);
  else
    for (unsigned half = 0; half < 2; half++)
      memcpy(rows[half],
             f->a[threadIdx.x % GROUP / LANES * 16 + l / 4 + 8 * half],
             sizeof rows[half]);

  std::vector<float> *result = &lane->results[d];

  if (result->empty())
    result->assign(d, d + n / 2);
  for (unsigned i = 0; i < n / 2; i++) {
    const float *x = rows[i % 4 / 2];
    const float *y = f->b[i / 4 * 8 + 2 * (l % 4) + i % 2];
    float sum = adds ? (*result)[i] : 0.0f;

    for (unsigned k = 0; k < K; k++)
      sum += x[k] * y[k];
    (*result)[i] = sum;
  }
  memset(d, 0xff, n / 2 * sizeof(float));
  lane->groups.back().push_back(p);
}
