/* GEMMs with AVX-512: packing, register tiles, few rows. */
#include "config.h"

#include "kernels/cpu/cpu_gemm_avx512.h"

#if defined __x86_64__ && defined __GNUC__ && !defined __SANITIZE_THREAD__

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx512f")))
#define INLINE static inline __attribute__((always_inline, target("avx512f")))

/* A tile is ROWS x COLS sums in 28 of 32 registers: 28 fused products for two
 * loads and 14 broadcasts. */
#define LANES 16
#define ROWS 14
#define COLS 32

/* Terms at a time: a strip of 14 rows of a, 28 KiB, stays in the first cache
 * while b goes by.  Columns at a time: 1 MiB of b in the second. */
#define TERMS 512
#define COLUMNS 512

/* Strips that are packed together where a lies transposed: a line of the cache
 * that is loaded for one has terms of the next in it. */
#define STRIPS_AT_ONCE 8

/* Stride of a row of a strip that is copied as it lies: not a multiple of a
 * page. */
#define STRIDE (TERMS + LANES)

/* Arrays that a thread packs into. */
typedef struct {
  _Alignas(64) float b[TERMS * COLUMNS]; /* (columns / COLS, terms, COLS) */
  _Alignas(64) float a[STRIPS_AT_ONCE]
                      [TERMS * LANES]; /* (ROWS, STRIDE) or (terms, LANES) */
} Packed;

_Static_assert(ROWS *STRIDE <= TERMS * LANES, "either packing of a fits");

static _Thread_local Packed packed;

static size_t
least(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* The first @n lanes. */
INLINE __mmask16
first_lanes(size_t n)
{
  return (__mmask16)(n >= LANES ? 0xffff : (1u << n) - 1);
}

/* --- tiles --- */

/* A strip of @rows rows of c, @n columns: @k terms of packed @a and @b. */
typedef void (*Strip)(size_t k, size_t n, const float *a, const float *b,
                      int adds, float *c, size_t ldc);

/* One tile; @rows and @lies are constants where this is expanded.  @lies: rows
 * of @a STRIDE apart, else terms LANES apart. */
INLINE void
tile(int rows, int lies, size_t k, size_t n, const float *a, const float *b,
     int adds, float *c, size_t ldc)
{
  __m512 low[ROWS], high[ROWS];
  __mmask16 low_mask = first_lanes(n);
  __mmask16 high_mask = first_lanes(n > LANES ? n - LANES : 0);

#pragma GCC unroll 14
  for (int i = 0; i < rows; i++) {
    low[i] = high[i] = _mm512_setzero_ps();
    __builtin_prefetch(c + (size_t)i * ldc, 1);
    __builtin_prefetch(c + (size_t)i * ldc + LANES, 1);
  }
  for (size_t p = 0; p < k; p++) {
    __m512 x = _mm512_load_ps(b), y = _mm512_load_ps(b + LANES);

#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
      __m512 z = _mm512_set1_ps(a[lies ? i * STRIDE : i]);

      low[i] = _mm512_fmadd_ps(z, x, low[i]);
      high[i] = _mm512_fmadd_ps(z, y, high[i]);
    }
    a += lies ? 1 : LANES;
    b += COLS;
  }
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++) {
    float *row = c + (size_t)i * ldc;

    if (adds) {
      low[i] = _mm512_add_ps(low[i], _mm512_maskz_loadu_ps(low_mask, row));
      high[i] =
          _mm512_add_ps(high[i], _mm512_maskz_loadu_ps(high_mask, row + LANES));
    }
    _mm512_mask_storeu_ps(row, low_mask, low[i]);
    _mm512_mask_storeu_ps(row + LANES, high_mask, high[i]);
  }
}

#define STRIP(rows, lies)                                                      \
  TARGET static void strip_##rows##_##lies(size_t k, size_t n, const float *a, \
                                           const float *b, int adds, float *c, \
                                           size_t ldc)                         \
  {                                                                            \
    for (size_t col = 0; col < n; col += COLS)                                 \
      tile(rows, lies, k, n - col, a, b + col * k, adds, c + col, ldc);        \
  }
#define STRIPS(rows) STRIP(rows, 0) STRIP(rows, 1)

STRIPS(1)
STRIPS(2)
STRIPS(3)
STRIPS(4)
STRIPS(5)
STRIPS(6)
STRIPS(7)
STRIPS(8)
STRIPS(9)
STRIPS(10)
STRIPS(11)
STRIPS(12)
STRIPS(13)
STRIPS(14)

#define BOTH(rows)                                                             \
  {                                                                            \
    strip_##rows##_0, strip_##rows##_1                                         \
  }

/* By rows less one, and how the strip of a is packed. */
static const Strip strips[ROWS][2] = {
    BOTH(1), BOTH(2), BOTH(3),  BOTH(4),  BOTH(5),  BOTH(6),  BOTH(7),
    BOTH(8), BOTH(9), BOTH(10), BOTH(11), BOTH(12), BOTH(13), BOTH(14)};

/* --- packing --- */

/* @k terms of @n strips of @a, of which rows begin at @first. */
TARGET static void
pack_a(RaCpuOrder order, size_t n, const size_t *first, size_t k,
       const float *a, size_t lda)
{
  if (order == RA_CPU_PLAIN) {
    for (size_t i = first[0]; i < first[1]; i++)
      memcpy(packed.a[0] + (i - first[0]) * STRIDE, a + i * lda, k * sizeof *a);
    return;
  }
  for (size_t p = 0; p < k; p++)
    for (size_t s = 0; s < n; s++)
      _mm512_store_ps(
          packed.a[s] + p * LANES,
          _mm512_maskz_loadu_ps(first_lanes(first[s + 1] - first[s]),
                                a + p * lda + first[s]));
}

/* 16 rows of 16 to 16 columns, in three rounds of pairs. */
INLINE void
transpose(__m512 *r)
{
  __m512 s[LANES];

#pragma GCC unroll 8
  for (int i = 0; i < LANES; i += 2) {
    s[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < LANES; i += 4) {
    r[i] = _mm512_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm512_shuffle_ps(s[i], s[i + 2], 0xee);
    r[i + 2] = _mm512_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm512_shuffle_ps(s[i + 1], s[i + 3], 0xee);
  }
  /* Each of r now has the same column of 4 rows in its four quarters. */
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    __m512 a = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
    __m512 b = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
    __m512 c = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    __m512 d = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);

    s[i] = _mm512_shuffle_f32x4(a, b, 0x88);
    s[i + 4] = _mm512_shuffle_f32x4(c, d, 0x88);
    s[i + 8] = _mm512_shuffle_f32x4(a, b, 0xdd);
    s[i + 12] = _mm512_shuffle_f32x4(c, d, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++)
    r[i] = s[i];
}

/* @n <= 16 columns of @k terms from rows of @b to every COLS floats of @out;
 * what is missing is zero. */
TARGET static void
pack_turned(size_t k, size_t n, const float *b, size_t ldb, float *out)
{
  for (size_t p = 0; p < k; p += LANES) {
    __mmask16 mask = first_lanes(k - p);
    __m512 r[LANES];

#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
      r[i] = _mm512_maskz_loadu_ps(i < n ? mask : 0,
                                   b + least(i, n ? n - 1 : 0) * ldb + p);
    transpose(r);
    if (k - p >= LANES) {
#pragma GCC unroll 16
      for (size_t i = 0; i < LANES; i++)
        _mm512_store_ps(out + (p + i) * COLS, r[i]);
    } else {
      for (size_t i = 0; i < k - p; i++)
        _mm512_store_ps(out + (p + i) * COLS, r[i]);
    }
  }
}

/* @k terms of @n columns of @b, from its first. */
TARGET static void
pack_b(RaCpuOrder order, size_t k, size_t n, const float *b, size_t ldb)
{
  for (size_t col = 0; col < n; col += COLS) {
    size_t low = least(n - col, LANES), high = least(n - col, COLS) - low;
    float *out = packed.b + col * k;

    if (order == RA_CPU_TRANSPOSED) {
      pack_turned(k, low, b + col * ldb, ldb, out);
      pack_turned(k, high, b + (col + (high ? LANES : 0)) * ldb, ldb,
                  out + LANES);
      continue;
    }
    for (size_t p = 0; p < k; p++) {
      const float *row = b + p * ldb + col;

      _mm512_store_ps(out + p * COLS,
                      _mm512_maskz_loadu_ps(first_lanes(low), row));
      _mm512_store_ps(out + p * COLS + LANES,
                      _mm512_maskz_loadu_ps(first_lanes(high), row + LANES));
    }
  }
}

/* --- products --- */

int
ra_cpu_gemm_has_avx512(void)
{
  return __builtin_cpu_supports("avx512f") != 0;
}

/* One block of terms and columns, for all rows of c. */
static void
block(RaCpuOrder order_a, size_t m, size_t n, size_t k, const float *a,
      size_t lda, int adds, float *c, size_t ldc)
{
  size_t n_strips = (m + ROWS - 1) / ROWS;
  size_t at_once = order_a == RA_CPU_PLAIN ? 1 : STRIPS_AT_ONCE;

  for (size_t i = 0; i < n_strips; i += at_once) {
    size_t count = least(at_once, n_strips - i);
    size_t first[STRIPS_AT_ONCE + 1];

    for (size_t s = 0; s <= count; s++)
      first[s] = m * (i + s) / n_strips;
    pack_a(order_a, count, first, k, a, lda);
    for (size_t s = 0; s < count; s++)
      strips[first[s + 1] - first[s] - 1][order_a == RA_CPU_PLAIN](
          k, n, packed.a[s], packed.b, adds, c + first[s] * ldc, ldc);
  }
}

void
ra_cpu_gemm_avx512(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
                   size_t k, const float *a, size_t lda, const float *b,
                   size_t ldb, float beta, float *c, size_t ldc)
{
  size_t n_blocks = (k + TERMS - 1) / TERMS;

  for (size_t col = 0; col < n; col += COLUMNS)
    for (size_t i = 0; i < n_blocks; i++) {
      size_t first = k * i / n_blocks, terms = k * (i + 1) / n_blocks - first;
      size_t cols = least(n - col, COLUMNS);

      pack_b(order_b, terms, cols,
             order_b == RA_CPU_PLAIN ? b + first * ldb + col
                                     : b + col * ldb + first,
             ldb);
      block(order_a, m, cols, terms,
            a + (order_a == RA_CPU_PLAIN ? first : first * lda), lda,
            i > 0 || beta > 0, c + col, ldc);
    }
}

/* --- few rows --- */

/* @rows x @cols dot products of rows of @a and of @b, both constants where this
 * is expanded.  Each load of @b serves all rows. */
INLINE void
dots(int rows, int cols, size_t k, const float *a, size_t lda, const float *b,
     size_t ldb, float *c, size_t ldc)
{
  __m512 sum[8][8];

#pragma GCC unroll 8
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
    for (int j = 0; j < cols; j++)
      sum[i][j] = _mm512_setzero_ps();
  for (size_t p = 0; p < k; p += LANES) {
    __mmask16 mask = first_lanes(k - p);
    __m512 y[8];

#pragma GCC unroll 8
    for (int j = 0; j < cols; j++) {
      y[j] = _mm512_maskz_loadu_ps(mask, b + (size_t)j * ldb + p);
      __builtin_prefetch(b + (size_t)(j + cols) * ldb + p);
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
      __m512 x = _mm512_maskz_loadu_ps(mask, a + (size_t)i * lda + p);

#pragma GCC unroll 8
      for (int j = 0; j < cols; j++)
        sum[i][j] = _mm512_fmadd_ps(x, y[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
    for (int j = 0; j < cols; j++)
      c[(size_t)i * ldc + (size_t)j] = _mm512_reduce_add_ps(sum[i][j]);
}

#define DOTS(rows, cols)                                                       \
  TARGET static void dots_##rows##_##cols(size_t k, const float *a,            \
                                          size_t lda, const float *b,          \
                                          size_t ldb, float *c, size_t ldc)    \
  {                                                                            \
    dots(rows, cols, k, a, lda, b, ldb, c, ldc);                               \
  }

DOTS(1, 1)
DOTS(2, 1)
DOTS(3, 1)
DOTS(4, 1)
DOTS(5, 1)
DOTS(6, 1)
DOTS(7, 1)
DOTS(8, 1)
DOTS(1, 3)
DOTS(2, 3)
DOTS(3, 3)
DOTS(4, 3)
DOTS(5, 3)
DOTS(6, 3)
DOTS(7, 3)
DOTS(8, 3)

#define DOT_ROWS 8
#define DOT_COLS 3
#define DOT_BOTH(rows)                                                         \
  {                                                                            \
    dots_##rows##_1, dots_##rows##_3                                           \
  }

typedef void (*Dots)(size_t k, const float *a, size_t lda, const float *b,
                     size_t ldb, float *c, size_t ldc);

/* By rows less one, and whether there are DOT_COLS columns or one. */
static const Dots all_dots[DOT_ROWS][2] = {
    DOT_BOTH(1), DOT_BOTH(2), DOT_BOTH(3), DOT_BOTH(4),
    DOT_BOTH(5), DOT_BOTH(6), DOT_BOTH(7), DOT_BOTH(8)};

void
ra_cpu_gemm_thin_avx512(size_t m, size_t n, size_t k, const float *a,
                        size_t lda, const float *b, size_t ldb, float *c,
                        size_t ldc)
{
  for (size_t col = 0; col < n;) {
    int many = n - col >= DOT_COLS;

    for (size_t row = 0; row < m; row += DOT_ROWS)
      all_dots[least(m - row, DOT_ROWS) - 1][many](
          k, a + row * lda, lda, b + col * ldb, ldb, c + row * ldc + col, ldc);
    col += many ? DOT_COLS : 1;
  }
}

#else

int
ra_cpu_gemm_has_avx512(void)
{
  return 0;
}

void
ra_cpu_gemm_avx512(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
                   size_t k, const float *a, size_t lda, const float *b,
                   size_t ldb, float beta, float *c, size_t ldc)
{
  /* Nobody calls it where ra_cpu_gemm_has_avx512() says 0. */
}

void
ra_cpu_gemm_thin_avx512(size_t m, size_t n, size_t k, const float *a,
                        size_t lda, const float *b, size_t ldb, float *c,
                        size_t ldc)
{
  /* Nor this. */
}

#endif
