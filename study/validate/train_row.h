/* Published training runs: their configuration, parallelization and measured
 * step time.
 *
 * The rows come from train_vtrain/ (one node and several, Megatron-DeepSpeed)
 * and from train_tables/train_bench.csv (13 sources) in a folder of
 * measurements.  Any folder with this layout works; `*_heldout.csv` files may
 * be added or replace them.
 *
 *     g_autoptr(GPtrArray) rows = ra_train_rows("../shared/data",
 *                                               RA_TRAIN_VTRAIN_NODE, &error);
 *     const RaTrainRow *first = g_ptr_array_index(rows, 0);
 *
 * A field that the source omits is 0 or "". The convention of the framework
 * (ra_train_convention()) then applies.
 *
 * Typical sizes: 864, 55 and 486 rows.
 */
#ifndef RA_STUDY_VALIDATE_TRAIN_ROW_H
#define RA_STUDY_VALIDATE_TRAIN_ROW_H

#include <glib.h>
#include <stdint.h>

typedef enum {
  RA_TRAIN_VTRAIN_NODE,  /* train_vtrain/single_node*.csv */
  RA_TRAIN_VTRAIN_NODES, /* train_vtrain/multi_node*.csv */
  RA_TRAIN_TABLES        /* train_tables/train_bench*.csv */
} RaTrainSet;

typedef struct {
  char *id;        /* "bloom-prequel-001", "vtrain-g8-b16-..." */
  char *source;    /* "bloom-prequel", "vtrain", "vtrain-nodes" */
  char *gpu;       /* as the source names it: "A100-80GB" */
  char *task;      /* "pretrain", "sft", "lora" */
  char *sharding;  /* as written */
  char *recompute; /* as written */
  char *precision; /* as written */
  uint32_t gpus;
  uint32_t layers, hidden, heads, kv_heads, ffn, vocab; /* 0: not given */
  uint32_t gated_mlp;                                   /* 0 or 1 */
  uint32_t seq;                                         /* tokens */
  uint32_t batch;                   /* sequences a step; 0: not given */
  uint32_t micro_batch;             /* sequences; 0: not given */
  uint32_t tp, pp, vpp, cp, ep, dp; /* 0: not given */
  double measured_s;                /* of a step; 0: not given */
  const char *file;                 /* interned: path */
  guint line;                       /* line in it, from 1 */
} RaTrainRow;

/**
 * ra_train_rows:
 * @data: folder of published measurements
 * @set: which of its tables
 * @error: as ra_csv_read()
 *
 * Returns: (transfer full) (element-type RaTrainRow): in the order of the
 * files; empty if
 * @data has none; %NULL on error
 */
GPtrArray *ra_train_rows(const char *data, RaTrainSet set, GError **error);

#endif
