/* GPUs: the classes that profiles are made for, measured or not.
 *
 * A class has what the transfer of a profile needs in addition to the data
 * sheet: multiprocessors, clock, architecture, and the classes whose
 * measurements replace missing ones.
 *
 *     const RaGpu *gpu = ra_gpu_find("NVIDIA H100 SXM");
 *     gpu->name -> "h100-sxm"
 *
 * Typical sizes: 20 classes.
 */
#ifndef RA_ESTIMATOR_CALIBRATE_GPU_H
#define RA_ESTIMATOR_CALIBRATE_GPU_H

#include <glib.h>

/* A data sheet, as in misc/hardware_specs.csv; 0: not published. */
typedef struct {
  double memory_bytes, memory_bytes_per_s, bf16_flop_per_s, fp8_flop_per_s;
  double intra_bytes_per_s, host_bytes_per_s, latency_s;
} RaSheet;

#define RA_GPU_AMD "cdna"            /* with which AMD's architectures begin */
#define RA_GPU_BLACKWELL "blackwell" /* of servers */

typedef struct {
  const char *name;  /* name of its profile: "h100-sxm" */
  const char *rows;  /* name in files and columns of measurements: "h100" */
  const char *links; /* class with equal collectives in a node: "h100" */
  const char *bases; /* classes that laws without rows are transferred from,
                        nearest first, separated by blanks; NULL: it must have
                        rows of every law */
  const char *architecture; /* architecture of its kernels: "hopper" */
  guint sms;                /* multiprocessors */
  double clock_hz;          /* boost, of the multiprocessors */
  guint fp32_lanes;         /* fp32 operations a cycle and multiprocessor */
  guint exponentials;       /* likewise: 16 from Volta on in the whitepapers,
                               and taken for AMD's; twice as many on Blackwell
                               Ultra ("Inside NVIDIA Blackwell Ultra", 2025) */
  double cache_mib;         /* last-level cache; 0: nothing stays in it */
  guint flash;              /* generation of its FlashAttention kernels in
                               vLLM (vllm/v1/attention/backends/fa_utils.py) */
  double power_w;           /* power limit */
  gboolean nvls;            /* switches of the node reduce first */
  const char *also;         /* further names, separated by blanks; "" none */
  const char *cited; /* source of sheet; NULL: misc/hardware_specs.csv has it */
  RaSheet sheet;     /* data sheet, if misc/hardware_specs.csv lacks it */
} RaGpu;

guint ra_gpu_n(void);
/* Class @index in the manual's order, < ra_gpu_n(). */
const RaGpu *ra_gpu_at(guint index);

/**
 * ra_gpu_find:
 * @name: name of a profile ("h100-sxm"), of a data sheet ("h100_sxm"), in files
 *   of measurements ("h100") or as people write it ("NVIDIA H100 80GB HBM3");
 *   case, blanks and punctuation are ignored
 *
 * Returns: (nullable): the class; %NULL if no class has this name
 */
const RaGpu *ra_gpu_find(const char *name);

/* The class whose profile is @name; @error (%RA_ERROR_INPUT) lists the known
 * ones. */
const RaGpu *ra_gpu_named(const char *name, GError **error);

/**
 * ra_gpu_siblings:
 * @data: (array zero-terminated=1): folders of measurements
 * @source: see ra_measured_rows()
 * @error: as ra_measured_rows()
 *
 * Rows of the other GPUs that are of @gpu's architecture and whose links are
 * alike, in nodes whose switches reduce (nvls).  A GPU without bases is
 * measured whole, and has none; nor has one whose links no data sheet tells.
 *
 * Returns: (transfer full) (element-type GArray): an array of RaMeasured for
 * each that has rows; %NULL on error
 */
GPtrArray *ra_gpu_siblings(const RaGpu *gpu, const char *const *data,
                           const char *source, GError **error);

/**
 * ra_gpu_sheet:
 * @data: (array zero-terminated=1): folders of measurements
 * @out_sheet: (out): from @data's misc/hardware_specs*.csv, or as cited
 * @error: %RA_ERROR_INPUT: neither has it
 */
gboolean ra_gpu_sheet(const RaGpu *gpu, const char *const *data,
                      RaSheet *out_sheet, GError **error);

#endif
