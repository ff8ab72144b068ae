/* The table of GPU classes, and their data sheets. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimator/calibrate/gpu.h"
#include "traces/csv.h"
#include "traces/measured.h"

#define GIB 1073741824.0
/* misc/hardware_specs.csv has one for all. */
#define LATENCY_S 1e-5
/* Data sheets round: 900 GB/s of NVLink 4 is 18 links of 25 GB/s each way. */
#define ALIKE_FRAC 0.01

/* Multiprocessors and boost clocks: NVIDIA's whitepapers (A100 V1.0; GA102
 * V2.1; Ada V2.1; H100 V1.04; RTX Blackwell V1.1) and data sheets; B200, B300,
 * GB200, GB300: what CUDA says of the device.  So are fp32 lanes of a
 * multiprocessor and the L2 cache, 0 where attention was measured amid a layer
 * whose weights pass through it.  PCIe cards take the collectives of the
 * a100-pcie (traces/measured_comm.c), for want of nodes of their own; the RTX
 * 4090, which reads no peer's memory, those of eight L40S in one box.  Of AMD's
 * (CDNA 3 and 4 whitepapers) a multiprocessor is a compute unit.
 *
 * Bases: the H100 for what came after it; for Ada's cards the A40's products
 * and layers (a card of their kind, whose law serves H100 and A100 best, too)
 * and the A100's attention (the same FlashAttention 2, over batches; the RTX
 * rows are of one prompt at a time). */
#define AMPERE "ampere"
#define ADA "ada"
#define HOPPER "hopper"
#define BLACKWELL RA_GPU_BLACKWELL
#define BLACKWELL_RTX "blackwell-rtx"
#define CDNA3 RA_GPU_AMD "3"
#define CDNA4 RA_GPU_AMD "4"

/* Bytes/s each way of a Grace's NVLink-C2C, 900 GB/s both ways, for each of the
 * two GPUs of a superchip. */
#define C2C_OF_TWO (450e9 / 2)

/* misc/hardware_specs.csv has the sheet. */
#define IN_MISC                                                                \
  NULL, { 0, 0, 0, 0, 0, 0, 0 }

/* clang-format off */
static const RaGpu gpus[] = {
  {"h100-sxm", "h100", "h100", NULL, HOPPER, 132, 1980e6, 128, 16, 50, 3, 700,
   TRUE, "h100-sxm5 h100-80gb-hbm3 h100-sxm5-80gb h100-80gb", IN_MISC},
  {"a100-sxm", "a100", "a100", NULL, AMPERE, 108, 1410e6, 64, 16, 40, 2, 400,
   FALSE, "a100-80gb a100-sxm4 a100-sxm4-80gb a100-80g a100-sxm-80gb", IN_MISC},
  {"a40", "a40", "a100-pcie", "a100-sxm", AMPERE, 84, 1740e6, 128, 16, 6, 2,
   300, FALSE, "a40-48gb", "NVIDIA A40 data sheet, 2021",
   {48 * GIB, 696e9, 149.7e12, 0, 32e9, 32e9, LATENCY_S}},
  {"rtx4090", "rtx4090", "l40s", "l40s h100-sxm", ADA, 128, 2520e6, 128, 16, 0,
   2, 450, FALSE,
   "geforce-rtx-4090 rtx-4090-24gb",
   "NVIDIA Ada GPU architecture V2.1, appendix A: fp32 accumulation",
   {24 * GIB, 1008e9, 165.2e12, 330.3e12, 32e9, 32e9, LATENCY_S}},
  {"rtx-pro-6000", "rtxpro6000", "rtxpro6000", "h100-sxm", BLACKWELL_RTX, 188,
   2617e6, 128, 16, 128, 2, 600, FALSE,
   "rtx-pro-6000-server rtx-pro-6000-blackwell rtx-6000-pro "
   "rtx-6000-pro-blackwell rtx-6000-pro-blackwell-se", IN_MISC},
  {"h200-sxm", "h200", "h200", "h100-sxm", HOPPER, 132, 1980e6, 128, 16, 50, 3,
   700, TRUE, "h200-141gb h200-sxm5", IN_MISC},
  {"h20", "h20", "h20", "h100-sxm", HOPPER, 78, 1980e6, 128, 16, 60, 3, 400,
   TRUE, "h20-96gb h20-sxm", "NVIDIA HGX H20 data sheet, 2023",
   {96 * GIB, 4000e9, 148e12, 296e12, 450e9, 64e9, LATENCY_S}},
  {"h100-pcie", "h100-pcie", "a100-pcie", "h100-sxm", HOPPER, 114, 1755e6, 128,
   16, 50, 3, 350, FALSE, "h100-pcie-80gb", IN_MISC},
  {"b200-sxm", "b200", "b200", "h100-sxm", BLACKWELL, 148, 1965e6, 128, 16,
   126, 4, 1000, TRUE, "b200-180gb b200-192gb", IN_MISC},
  {"b300-sxm", "b300", "b300", "h100-sxm", BLACKWELL, 148, 1965e6, 128, 32,
   126, 4, 1100, TRUE, "b300-288gb", IN_MISC},
  {"gb200", "gb200", "gb200", "h100-sxm", BLACKWELL, 152, 1965e6, 128, 16, 126,
   4, 1200, TRUE, "gb200-sxm gb200-nvl72",
   "NVIDIA GB200 NVL72 data sheet, 2025: NVLink-C2C to the host, shared by 2 "
   "GPUs; memory: misc/hardware_specs.csv",
   {198674743296.0, 8e12, 2500e12, 5000e12, 900e9, C2C_OF_TWO, LATENCY_S}},
  {"gb300", "gb300", "gb200", "b300-sxm gb200 h100-sxm", BLACKWELL, 152,
   1965e6, 128, 32, 126, 4, 1400, TRUE, "gb300-sxm gb300-nvl72",
   "NVIDIA GB300 NVL72 data sheet, 2025: NVLink-C2C to the host, shared by 2 "
   "GPUs; memory: misc/hardware_specs.csv",
   {298013687808.0, 8e12, 2500e12, 5000e12, 900e9, C2C_OF_TWO, LATENCY_S}},
  {"l40s", "l40s", "l40s",
   "a40 a100-sxm h100-sxm", ADA, 142, 2520e6, 128, 16, 96, 2, 350, FALSE,
   "l40s-48gb", IN_MISC},
  {"l4", "l4", "a100-pcie",
   "l40s a40 a100-sxm h100-sxm", ADA, 58, 2040e6, 128, 16, 48, 2, 72, FALSE,
   "l4-24gb", IN_MISC},
  {"a30", "a30", "a100-pcie", "a100-sxm", AMPERE, 56, 1440e6, 64, 16, 24, 2,
   165, FALSE, "a30-24gb", IN_MISC},
  {"a100-sxm-40g", "a100-40g", "a100", "a100-sxm", AMPERE, 108, 1410e6, 64,
   16, 40, 2, 400, FALSE, "a100-40gb a100-sxm4-40gb a100-sxm-40gb",
   "NVIDIA A100 data sheet, 2020",
   {40 * GIB, 1555e9, 312e12, 0, 300e9, 32e9, LATENCY_S}},
  {"a100-pcie", "a100-pcie", "a100-pcie", "a100-sxm", AMPERE, 108, 1410e6, 64,
   16, 40, 2, 300, FALSE, "a100-pcie-80gb",
   "NVIDIA A100 data sheet, 2021: 80 GB PCIe",
   {80 * GIB, 1935e9, 312e12, 0, 32e9, 32e9, LATENCY_S}},
  {"gh200", "gh200", "h100", "h100-sxm", HOPPER, 132, 1980e6, 128, 16, 50, 3,
   1000, FALSE, "gh200-96gb gh200-480gb",
   "NVIDIA GH200 Grace Hopper Superchip data sheet, 2023: 96 GB of HBM3, "
   "NVLink-C2C to the host",
   {96 * GIB, 4000e9, 989e12, 1978e12, 450e9, 450e9, LATENCY_S}},
  {"a6000", "a6000", "a100-pcie", "a40 a100-sxm", AMPERE, 84, 1800e6, 128, 16,
   6, 2, 300, FALSE, "rtx-a6000 rtx-a6000-48gb a6000-48gb",
   "NVIDIA RTX A6000 data sheet, 2020: fp32 accumulation",
   {48 * GIB, 768e9, 154.8e12, 0, 32e9, 32e9, LATENCY_S}},
  {"mi355x", "mi355x", "mi355x", "h100-sxm", CDNA4, 256, 2400e6, 128, 16, 256,
   2, 1400, FALSE, "mi355x-288gb",
   "AMD Instinct MI355X data sheet, 2025: 7 links of Infinity Fabric",
   {288e9, 8e12, 2516.6e12, 5033.2e12, 537.6e9, 64e9, LATENCY_S}},
  {"mi300x", "mi300x", "mi300x", "mi355x h100-sxm", CDNA3, 304, 2100e6, 128, 16,
   256, 2, 750, FALSE, "mi300x-192gb",
   "AMD Instinct MI300X data sheet, 2023: 7 links of Infinity Fabric",
   {192e9, 5.3e12, 1307.4e12, 2614.9e12, 448e9, 64e9, LATENCY_S}},
  {"l20", "l20", "a100-pcie", "l40s a40 a100-sxm h100-sxm", ADA, 92, 2520e6,
   128, 16, 96, 2, 275, FALSE, "l20-48gb", "NVIDIA L20 data sheet, 2023",
   {48 * GIB, 864e9, 119.5e12, 239e12, 32e9, 32e9, LATENCY_S}},
};
/* clang-format on */

guint
ra_gpu_n(void)
{
  return G_N_ELEMENTS(gpus);
}

const RaGpu *
ra_gpu_at(guint index)
{
  g_return_val_if_fail(index < G_N_ELEMENTS(gpus), NULL);
  return &gpus[index];
}

static gboolean
is_called(const RaGpu *gpu, const char *wanted)
{
  g_autofree char *all = g_strjoin(" ", gpu->name, gpu->rows, gpu->also, NULL);
  g_auto(GStrv) names = g_strsplit(all, " ", -1);

  for (guint i = 0; names[i]; i++) {
    g_autofree char *name = ra_measured_gpu_name(names[i]);

    if (*name && strcmp(name, wanted) == 0)
      return TRUE;
  }
  return FALSE;
}

const RaGpu *
ra_gpu_find(const char *name)
{
  g_autofree char *wanted = ra_measured_gpu_name(name);

  for (guint i = 0; i < G_N_ELEMENTS(gpus); i++)
    if (is_called(&gpus[i], wanted))
      return &gpus[i];
  return NULL;
}

const RaGpu *
ra_gpu_named(const char *name, GError **error)
{
  g_autoptr(GString) known = g_string_new(NULL);

  for (guint i = 0; i < G_N_ELEMENTS(gpus); i++) {
    if (strcmp(gpus[i].name, name) == 0)
      return &gpus[i];
    g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", gpus[i].name);
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "unknown GPU '%s', expected one of %s", name, known->str);
  return NULL;
}

static const char *const sheet_columns[] = {
    "system",     "mem_bytes",     "mem_bw_Bps",
    "bf16_flops", "fp8_flops",     "intra_node_Bps_per_gpu",
    "pcie_Bps",   "p2p_latency_s", NULL};

typedef struct {
  const RaGpu *gpu;
  RaSheet *sheet;
  gboolean found;
} SheetReader;

static gboolean
read_sheet(const RaCsvLine *line, gpointer data, GError **error)
{
  SheetReader *r = data;
  g_autofree char *name = ra_measured_gpu_name(line->field[0]);
  double v[7];

  if (!is_called(r->gpu, name))
    return TRUE;
  if (!ra_csv_numbers(line, 1, 7, v, error))
    return FALSE;
  *r->sheet = (RaSheet){v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
  r->found = v[0] > 0 && v[1] > 0 && v[2] > 0 && v[4] > 0 && v[5] > 0;
  return TRUE;
}

gboolean
ra_gpu_sheet(const RaGpu *gpu, const char *const *data, RaSheet *out_sheet,
             GError **error)
{
  SheetReader reader = {.gpu = gpu, .sheet = out_sheet};
  g_autoptr(GPtrArray) files = ra_csv_find_all(data, "misc", "hardware_specs");
  g_autofree char *names = NULL;

  *out_sheet = gpu->sheet;
  if (gpu->cited)
    return TRUE;
  for (guint i = 0; i < files->len; i++)
    if (!ra_csv_read(g_ptr_array_index(files, i), sheet_columns, read_sheet,
                     &reader, error))
      return FALSE;
  if (reader.found)
    return TRUE;
  names = g_strjoinv(", ", (char **)(gpointer)data);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: no data sheet of '%s', expected a row of "
              "misc/hardware_specs.csv with memory, bandwidth, bf16, links",
              names, gpu->name);
  return FALSE;
}

/* TRUE if messages between GPUs of both classes go alike. */
static gboolean
is_sibling(const RaGpu *gpu, double bytes_per_s, const RaGpu *other,
           const char *const *data)
{
  RaSheet sheet;

  /* A class on the links of another has no rows of its own. */
  return other != gpu && strcmp(other->links, other->rows) == 0 &&
         strcmp(other->architecture, gpu->architecture) == 0 && other->nvls &&
         ra_gpu_sheet(other, data, &sheet, NULL) &&
         fabs(sheet.intra_bytes_per_s / bytes_per_s - 1) < ALIKE_FRAC;
}

GPtrArray *
ra_gpu_siblings(const RaGpu *gpu, const char *const *data, const char *source,
                GError **error)
{
  g_autoptr(GPtrArray) out =
      g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  RaSheet sheet;

  if (!gpu->bases || !gpu->nvls || !ra_gpu_sheet(gpu, data, &sheet, NULL))
    return g_steal_pointer(&out);
  for (guint i = 0; i < G_N_ELEMENTS(gpus); i++) {
    GArray *rows;

    if (!is_sibling(gpu, sheet.intra_bytes_per_s, &gpus[i], data))
      continue;
    rows = ra_measured_rows(data, source, gpus[i].rows, error);
    if (!rows)
      return NULL;
    g_ptr_array_add(out, rows);
  }
  return g_steal_pointer(&out);
}
