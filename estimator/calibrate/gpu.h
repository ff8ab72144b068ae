/* GPUs: classes for which profiles are made, measured or not.
 *
 * What a profile's transfer from one class to another needs beside the data
 * sheet: multiprocessors, clock, architecture, and whose measurements stand
 * for those that nobody made.
 *
 *     const RaGpu *gpu = ra_gpu_find("NVIDIA H100 SXM");
 *     gpu->name -> "h100-sxm"
 *
 * Typical sizes: 16 classes.
 */
#ifndef RA_ESTIMATOR_CALIBRATE_GPU_H
#define RA_ESTIMATOR_CALIBRATE_GPU_H

#include <glib.h>

/* A data sheet as misc/hardware_specs.csv has it; 0: not published. */
typedef struct {
  double memory_bytes, memory_bytes_per_s, bf16_flop_per_s, fp8_flop_per_s;
  double intra_bytes_per_s, host_bytes_per_s, latency_s;
} RaSheet;

typedef struct {
  const char *name;  /* of its profile: "h100-sxm" */
  const char *rows;  /* in files and columns of measurements: "h100" */
  const char *links; /* whose collectives of a node are its own: "h100" */
  const char *bases; /* classes that laws without rows are transferred from, the
                        nearest first, blanks between; NULL: it must have rows
                        of every law */
  const char *architecture; /* "hopper": of its kernels */
  guint sms;                /* multiprocessors */
  double clock_hz;          /* boost, of the multiprocessors */
  guint fp32_lanes;         /* fp32 operations a cycle and multiprocessor */
  double cache_mib;         /* last level; 0: nothing stays in it */
  guint flash;              /* generation of its FlashAttention kernels in
                               vLLM (vllm/v1/attention/backends/fa_utils.py) */
  double power_w;           /* limit */
  gboolean nvls;            /* switches reduce in the node first */
  const char *also;         /* further names, blanks between; "" none */
  const char *cited; /* of @sheet; NULL: misc/hardware_specs.csv has it */
  RaSheet sheet;     /* where it has not */
} RaGpu;

guint ra_gpu_n(void);
/* Class @index in the manual's order, < ra_gpu_n(). */
const RaGpu *ra_gpu_at(guint index);

/**
 * ra_gpu_find:
 * @name: a profile's ("h100-sxm"), a data sheet's ("h100_sxm"), that of files
 *   of measurements ("h100") or a person's ("NVIDIA H100 80GB HBM3"); case,
 *   blanks and punctuation do not count
 *
 * Returns: (nullable): the class; %NULL where none is called so
 */
const RaGpu *ra_gpu_find(const char *name);

/* The class whose profile is @name; @error (%RA_ERROR_INPUT) lists those that
 * are known. */
const RaGpu *ra_gpu_named(const char *name, GError **error);

/**
 * ra_gpu_sheet:
 * @data: folder of measurements
 * @out_sheet: (out): from @data's misc/hardware_specs*.csv, or as cited
 * @error: %RA_ERROR_INPUT: neither has it
 */
gboolean ra_gpu_sheet(const RaGpu *gpu, const char *data, RaSheet *out_sheet,
                      GError **error);

#endif
