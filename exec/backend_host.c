#include "config.h"

#include "base/error.h"
#include "exec/backend.h"
#include "kernels/cpu_norm.h"
#include "kernels/cpu_pointwise.h"

static const RaBackend host = {
    .name = "host",
    .gemm = ra_cpu_gemm,
    .copy_rect = ra_cpu_copy_rect,
    .add = ra_cpu_add,
    .add_bias = ra_cpu_add_bias,
    .add_columns = ra_cpu_add_columns,
    .norm = ra_cpu_norm,
    .norm_backward = ra_cpu_norm_backward,
    .rope = ra_cpu_rope,
    .swiglu = ra_cpu_swiglu,
    .swiglu_backward = ra_cpu_swiglu_backward,
    .embedding = ra_cpu_embedding,
    .embedding_backward = ra_cpu_embedding_backward,
    .attention = ra_cpu_attention,
    .attention_backward = ra_cpu_attention_backward,
    .decode_attention = ra_cpu_decode_attention,
    .log_sum = ra_cpu_log_sum,
    .log_prob = ra_cpu_log_prob,
    .log_prob_backward = ra_cpu_log_prob_backward,
    .sample = ra_cpu_sample,
    .adamw = ra_cpu_adamw,
    .sum_squares = ra_cpu_sum_squares,
};

const RaBackend *
ra_backend_host(GError **error)
{
  if (ra_cpu_gemm_open())
    return &host;
  g_set_error(error, RA_ERROR, RA_ERROR_NO_DEVICE,
              "libopenblas.so.0 cannot be loaded, expected it for the host "
              "back end (Debian: libopenblas0-pthread)");
  return NULL;
}
