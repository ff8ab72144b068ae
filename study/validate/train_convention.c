/* Conventions: what frameworks do where their tables do not say. */
#include "config.h"

#include <string.h>

#include "study/validate/train_run.h"

/* Constants and where their fit begins: a kernel's launch by Python takes tens
 * of microseconds (law host of the profiles: 39 us); factors are neutral at 1.
 */
#define LAUNCH                                                                 \
  {                                                                            \
    "train-launch", 50e-6, 5e-6, 500e-6                                        \
  }
#define COMPUTE                                                                \
  {                                                                            \
    "compute-factor", 1, 0.5, 4                                                \
  }
#define ATTENTION                                                              \
  {                                                                            \
    "attention-factor", 1, 0.3, 8                                              \
  }
#define COMM                                                                   \
  {                                                                            \
    "comm-factor", 1, 0.3, 4                                                   \
  }

/* A GPT-2 of Megatron-LM: learned positions, biases, tied. */
#define MEGATRON_GPT .position = RA_POSITION_LEARNED, .tied = TRUE, .bias = TRUE
/* Before flash attention and fused losses. */
#define MEGATRON_2021                                                          \
  .cross_entropy = RA_CROSS_ENTROPY_UNFUSED, .scatter_sends = TRUE

/* The first that a source's name begins with; the last is every other's. */
static const RaTrainConvention conventions[] = {
    {.source = "vtrain-nodes",
     .system = "megatron-deepspeed-cluster",
     .fitted = {COMPUTE},
     MEGATRON_GPT,
     MEGATRON_2021,
     .attention = RA_ATTENTION_CORE_DROPOUT,
     .grad_dtype = RA_DTYPE_FP16,
     .nics = 8,
     .nic_gbit_per_s = 100},
    {.source = "vtrain",
     .system = "megatron-deepspeed",
     .fitted = {LAUNCH, COMPUTE, COMM},
     MEGATRON_GPT,
     MEGATRON_2021,
     .attention = RA_ATTENTION_CORE_DROPOUT,
     .grad_dtype = RA_DTYPE_FP16,
     .nics = 8,
     .nic_gbit_per_s = 100},
    {.source = "bloom-prequel",
     .system = "megatron-deepspeed-2022",
     .fitted = {COMPUTE},
     .position = RA_POSITION_ALIBI,
     .tied = TRUE,
     .bias = TRUE,
     MEGATRON_2021,
     .attention = RA_ATTENTION_CORE,
     .grad_dtype = RA_DTYPE_FP16,
     .zero = 1,
     .nics = 4,
     .nic_gbit_per_s = 100},
    {.source = "megatron2021",
     .system = "megatron-lm",
     .fitted = {COMPUTE},
     MEGATRON_GPT,
     MEGATRON_2021,
     .attention = RA_ATTENTION_CORE_DROPOUT,
     .grad_dtype = RA_DTYPE_FP16,
     .nics = 8,
     .nic_gbit_per_s = 200},
    {.source = "megatron2022",
     .system = "megatron-lm",
     .fitted = {COMPUTE},
     MEGATRON_GPT,
     MEGATRON_2021,
     .attention = RA_ATTENTION_CORE_DROPOUT,
     .grad_dtype = RA_DTYPE_FP16,
     .nics = 8,
     .nic_gbit_per_s = 200},
    {.source = "internevo",
     .system = "internevo",
     .fitted = {COMPUTE},
     .attention = RA_ATTENTION_FLASH,
     .grad_dtype = -1,
     .overlap = TRUE,
     .zero = 1,
     .nics = 4,
     .nic_gbit_per_s = 100},
    {.source = "llm-foundry",
     .system = "llm-foundry",
     .fitted = {COMPUTE, ATTENTION},
     .position = RA_POSITION_ALIBI,
     .tied = TRUE,
     .attention = RA_ATTENTION_FLASH,
     .grad_dtype = -1,
     .overlap = TRUE,
     .zero = 3,
     .nics = 8,
     .nic_gbit_per_s = 200,
     .nic_hopper_gbit_per_s = 400},
    {.source = "torchtitan",
     .system = "torchtitan",
     .fitted = {COMPUTE, ATTENTION},
     .attention = RA_ATTENTION_FLASH,
     .grad_dtype = RA_DTYPE_FP32,
     .sequence_parallel = TRUE,
     .overlap = TRUE,
     .zero = 3,
     .nics = 8,
     .nic_gbit_per_s = 200,
     .nic_hopper_gbit_per_s = 400},
    {.source = "",
     .system = "nemo",
     .fitted = {COMPUTE},
     MEGATRON_GPT,
     .attention = RA_ATTENTION_FLASH,
     .grad_dtype = -1,
     .sequence_parallel = TRUE,
     .overlap = TRUE,
     .zero = 1,
     .nics = 8,
     .nic_gbit_per_s = 200,
     .nic_hopper_gbit_per_s = 400},
};

const RaTrainConvention *
ra_train_convention(const RaTrainRow *row)
{
  const RaTrainConvention *c = conventions;

  g_return_val_if_fail(row != NULL, NULL);
  while (!g_str_has_prefix(row->source, c->source))
    c++;
  return c;
}

char *
ra_train_gpu(const RaTrainRow *row)
{
  g_autofree char *name = NULL;

  g_return_val_if_fail(row != NULL, NULL);
  name = g_strndup(row->gpu, strcspn(row->gpu, "- ("));
  return g_ascii_strdown(name, -1);
}

double
ra_train_memory_bytes_per_s(const RaTrainRow *row)
{
  if (g_str_equal(row->gpu, "A100-40GB"))
    return 1555e9;
  return strstr(row->gpu, "HBM2e") && g_str_has_prefix(row->gpu, "H100")
             ? 2.4e12
             : 0;
}

gboolean
ra_train_row_is_full(const RaTrainRow *row)
{
  gboolean says = g_str_has_prefix(row->recompute, "full") ||
                  g_str_has_prefix(row->recompute, "selective") ||
                  g_str_equal(row->recompute, "none");

  if (strchr(row->recompute, '-') || strchr(row->recompute, '/'))
    says = FALSE; /* "full-where-needed", "none/selective" */
  return says && row->layers > 0 && row->hidden > 0 && row->heads > 0 &&
         row->seq > 0 && row->batch > 0 && row->micro_batch > 0 &&
         *row->precision != '\0' && row->measured_s > 0;
}
