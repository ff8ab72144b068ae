/* The GEMMs of exec/backend/cuda_gemm.h by their definition, in fp32 in the
 * order of k, rounded to bf16 once, in place of cuBLASLt on the emulated
 * device.  Like cuBLASLt it may lack algorithms with a bias
 * (ra_emu_set_fuses()). */
#include "config.h"

#include "exec/backend/cuda_device.h"
#include "exec/backend/cuda_gemm.h"
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu.h"
#include "tests/emulator/gemm.h"
#include "tests/emulator/graph.h"
#include "tests/emulator/memory.h"

struct _RaCudaGemm {
  void *workspace; /* of the device, as the library's: nobody works in it */
};

#define WORKSPACE_BYTES ((gsize)256 << 10)

static gboolean does_fuse = TRUE;
static gint n_fused[RA_CUDA_BIAS_GRADIENT + 1]; /* products, by bias */

void
ra_emu_set_fuses(gboolean fuses)
{
  does_fuse = fuses;
  for (guint i = 0; i < G_N_ELEMENTS(n_fused); i++)
    g_atomic_int_set(&n_fused[i], 0);
}

guint
ra_emu_n_fused(RaCudaBias bias)
{
  return (guint)g_atomic_int_get(&n_fused[bias]);
}

gboolean
ra_cuda_gemm_fuses(RaCudaGemm *gemm, const RaCudaProduct *product)
{
  (void)gemm, (void)product;
  return does_fuse;
}

gsize
ra_cuda_gemm_workspace_bytes(void)
{
  return WORKSPACE_BYTES;
}

RaCudaGemm *
ra_cuda_gemm_new(GError **error)
{
  RaCudaGemm *gemm = g_new(RaCudaGemm, 1);

  (void)error;
  gemm->workspace = ra_device_alloc(WORKSPACE_BYTES);
  return gemm;
}

void
ra_cuda_gemm_free(RaCudaGemm *gemm)
{
  if (gemm)
    ra_device_free(gemm->workspace);
  g_free(gemm);
}

enum { WIDE = 16 }; /* columns at once */

static gsize
padded(gsize cols)
{
  return (cols + WIDE - 1) / WIDE * WIDE;
}

/* (transfer full): a factor in fp32, @rows x padded(@cols), with zeroes;
 * @plain: as it stands, else columns first. */
static float *
factor(const uint16_t *x, gsize rows, gsize cols, gsize stride, gboolean plain)
{
  gsize wide = padded(cols);
  float *out = g_new0(float, rows *wide + 1);

  for (gsize i = 0; i < rows; i++)
    for (gsize j = 0; j < cols; j++)
      out[i * wide + j] =
          ra_bf16_to_f32(x[plain ? i * stride + j : j * stride + i]);
  return out;
}

/* sums (padded(n)): row @a (k) times @b, each in the order of k. */
RA_CPU_KERNEL static void
multiply_row(gsize k, gsize n, const float *restrict a, const float *restrict b,
             float *restrict sums)
{
  gsize wide = padded(n);

  for (gsize j = 0; j < wide; j += WIDE) {
    float some[WIDE] = {0};

    for (gsize i = 0; i < k; i++)
      for (gsize c = 0; c < WIDE; c++)
        some[c] += a[i] * b[i * wide + j + c];
    memcpy(sums + j, some, sizeof some);
  }
}

/* sums (m) of the rows of @a. */
static void
store_row_sums(const RaCudaProduct *p, const uint16_t *a, float *sums)
{
  for (gsize i = 0; i < p->m; i++) {
    sums[i] = 0;
    for (gsize k = 0; k < p->k; k++)
      sums[i] += ra_bf16_to_f32(
          a[p->order_a == RA_CPU_PLAIN ? i * p->lda + k : k * p->lda + i]);
  }
}

/* As cuBLASLt is told (exec/backend/cuda_gemm.c), which picks kernels by it. */
static void
check_aligned(const void *x, const char *what)
{
  if (GPOINTER_TO_SIZE(x) % 16 != 0)
    g_error("emulator: a product's %s does not begin at 16 bytes", what);
}

typedef struct {
  RaCudaProduct p;
  const void *a, *b;
  void *bias, *c;
} Begun;

static void
multiply(const void *data)
{
  const Begun *begun = data;
  const RaCudaProduct *p = &begun->p;
  const void *a = begun->a, *b = begun->b;
  void *bias = begun->bias, *c = begun->c;
  const uint16_t *added = p->bias == RA_CUDA_BIAS ? bias : NULL;
  gboolean adds = p->result == RA_CUDA_ADD || p->result == RA_CUDA_ADD_F32;
  g_autofree float *x = NULL, *y = NULL, *sums = NULL;

  ra_emu_enter();
  x = factor(a, p->m, p->k, p->lda, p->order_a == RA_CPU_PLAIN);
  y = factor(b, p->k, p->n, p->ldb, p->order_b == RA_CPU_PLAIN);
  sums = g_new(float, padded(p->n));
  if (p->bias == RA_CUDA_BIAS_GRADIENT)
    store_row_sums(p, a, bias);
  for (gsize i = 0; i < p->m; i++) {
    multiply_row(p->k, p->n, x + i * padded(p->k), y, sums);
    for (gsize j = 0; j < p->n; j++) {
      float sum = sums[j] + (added ? ra_bf16_to_f32(added[j]) : 0);

      if (p->result == RA_CUDA_ADD_F32 || p->result == RA_CUDA_STORE_F32) {
        float *out = (float *)c + i * p->ldc + j;

        *out = sum + (adds ? *out : 0);
      } else {
        uint16_t *out = (uint16_t *)c + i * p->ldc + j;

        *out = ra_bf16_from_f32(sum + (adds ? ra_bf16_to_f32(*out) : 0));
      }
    }
  }
  ra_emu_leave();
}

gboolean
ra_cuda_gemm(RaCudaGemm *gemm, const RaCudaProduct *p, const void *a,
             const void *b, void *bias, void *c, void *stream, GError **error)
{
  const Begun begun = {*p, a, b, bias, c};

  (void)gemm, (void)stream, (void)error;
  check_aligned(a, "left factor");
  check_aligned(b, "right factor");
  check_aligned(bias, "bias");
  check_aligned(c, "result");
  g_atomic_int_inc(&n_fused[p->bias]);
  if (!ra_emu_note_call(multiply, &begun, sizeof begun))
    multiply(&begun);
  return TRUE;
}
