/* A machine as its own tools describe it: `nvidia-smi topo -m`, or the topology
 * that NCCL writes with NCCL_TOPO_DUMP_FILE; and the cluster file that follows.
 *
 *     g_autoptr(RaMachine) machine = ra_machine_load("topo.xml", &error);
 *     GPtrArray *tables = ra_inspect_machine(machine);
 *     g_autofree char *text = ra_machine_cluster(machine, 4, NULL, &error);
 *
 * Neither says all that a cluster file needs.  What was found and what is
 * assumed stand in tables and in the file's comments, each with its reason.
 *
 * NCCL's file (src/graph/xml.cc of NCCL 2.28): `<system>` of `<cpu>` of nested
 * `<pci device class link_speed link_width>` with `<gpu>` of `<nvlink target
 * count tclass>` (class 0x068000: a switch), and `<nic>` of `<net name speed>`,
 * Mbit/s.  The matrix of nvidia-smi says of two devices NV# (# NVLinks), PIX
 * (one PCIe switch), PXB, PHB, NODE or SYS (ever further), and names its cards
 * below.
 */
#ifndef RA_STUDY_CONVERT_MACHINE_H
#define RA_STUDY_CONVERT_MACHINE_H

#include "base/table.h"

typedef struct {
  char *name;             /* "mlx5_0" or "NIC0", owned */
  double bytes_per_s;     /* one direction; NAN: not said */
  uint32_t n_near;        /* GPUs below the same PCIe switch or bridge */
  gboolean carries_ranks; /* of the cards that the cluster file counts */
} RaMachineCard;

typedef struct {
  char *path;           /* owned */
  gboolean is_xml;      /* NCCL's */
  const char *profile;  /* of the GPUs, static; NULL: not told */
  char *device;         /* PCI device of the GPUs, "0x2330"; NULL: not told */
  uint32_t n_gpus;      /* >= 1 */
  uint32_t n_nvlinks;   /* of the GPU with the fewest; 0: PCIe alone */
  gboolean is_switched; /* every GPU reaches every other at that rate */
  uint32_t n_numa;      /* domains that have GPUs; 0: not said */
  double pcie_bytes_per_s; /* of a GPU's slot, one direction; NAN: not said */
  GArray *cards;           /* of RaMachineCard, owned */
} RaMachine;

/* Whether @text looks like one of the two. */
gboolean ra_machine_is(const char *text);

/**
 * ra_machine_load:
 * @error: %RA_ERROR_IO; %RA_ERROR_INPUT `path:line: ...`: damaged, GPUs of
 *   several kinds, no GPU, a matrix that is not symmetric
 *
 * Cost: O(file).
 *
 * Returns: (transfer full): ra_machine_free() it
 */
RaMachine *ra_machine_load(const char *path, GError **error);
/* The same of @text, with a NUL behind @n_bytes; @path: of errors. */
RaMachine *ra_machine_parse(const char *path, const char *text, gsize n_bytes,
                            GError **error);
void ra_machine_free(RaMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMachine, ra_machine_free)

/* Tables `found` and `assumed` (a row a key of the cluster file, with the
 * reason), and `cards`. */
GPtrArray *ra_inspect_machine(const RaMachine *machine);

/**
 * ra_machine_cluster:
 * @n_nodes: alike
 * @gpu: (nullable): profile of the GPUs, where the file does not tell or is
 *   wrong
 * @error: %RA_ERROR_INPUT: the GPU is not told and @gpu is %NULL; several nodes
 *   without cards
 *
 * Returns: (transfer full): a cluster file, commented
 */
char *ra_machine_cluster(const RaMachine *machine, uint32_t n_nodes,
                         const char *gpu, GError **error);

/* study/convert/machine_*.c, the two readers: @machine has its path and empty
 * cards. */
gboolean ra_machine_read_xml(RaMachine *machine, const char *text,
                             gsize n_bytes, GError **error);
gboolean ra_machine_read_matrix(RaMachine *machine, const char *text,
                                GError **error);

/* (nullable): of PCI device "0x2330", static. */
const char *ra_machine_profile_of(const char *device);

#endif
