/* Machine: hardware as reported by `nvidia-smi topo -m`, or by the topology
 * file that NCCL writes with NCCL_TOPO_DUMP_FILE; and the cluster file that
 * results.
 *
 *     g_autoptr(RaMachine) machine = ra_machine_load("topo.xml", &error);
 *     GPtrArray *tables = ra_inspect_machine(machine);
 *     g_autofree char *text = ra_machine_cluster(machine, 4, NULL, &error);
 *
 * Neither source has everything that a cluster file needs.  Tables and the
 * file's comments list what was found and what is assumed, each with its
 * reason.
 *
 * NCCL's file (src/graph/xml.cc of NCCL 2.28): `<system>` of `<cpu>` of nested
 * `<pci device class link_speed link_width>` with `<gpu>` of `<nvlink target
 * count tclass>` (class 0x068000: a switch), and `<nic>` of `<net name speed>`,
 * Mbit/s.  The matrix of nvidia-smi gives the connection of two devices as NV#
 * (# NVLinks), PIX (one PCIe switch), PXB, PHB, NODE or SYS (increasingly
 * distant), and lists its NICs below.
 */
#ifndef RA_STUDY_MACHINE_MACHINE_H
#define RA_STUDY_MACHINE_MACHINE_H

#include "base/table.h"

typedef struct {
  char *name;             /* "mlx5_0" or "NIC0", owned */
  double bytes_per_s;     /* one direction; NAN: not given */
  uint32_t n_near;        /* GPUs below the same PCIe switch or bridge */
  gboolean carries_ranks; /* the cluster file counts this NIC */
} RaMachineCard;

typedef struct {
  char *path;           /* owned */
  gboolean is_xml;      /* NCCL's file, else nvidia-smi's matrix */
  const char *profile;  /* of the GPUs, static; NULL: not given */
  char *device;         /* PCI device of the GPUs, "0x2330"; NULL: not given */
  uint32_t n_gpus;      /* >= 1 */
  uint32_t n_nvlinks;   /* of the GPU with the fewest; 0: PCIe only */
  gboolean is_switched; /* every GPU reaches every other at that rate */
  uint32_t n_numa;      /* domains that have GPUs; 0: not given */
  double pcie_bytes_per_s; /* of a GPU's slot, one direction; NAN: not given */
  GArray *cards;           /* NICs (RaMachineCard), owned */
} RaMachine;

/* TRUE if @text looks like one of the two formats. */
gboolean ra_machine_is(const char *text);

/**
 * ra_machine_load:
 * @error: %RA_ERROR_IO; %RA_ERROR_INPUT `path:line: ...`: damaged, GPUs of
 *   several kinds, no GPU, a matrix that is not symmetric
 *
 * Cost: O(file).
 *
 * Returns: (transfer full): free with ra_machine_free()
 */
RaMachine *ra_machine_load(const char *path, GError **error);
/* As ra_machine_load(), from @text, which has a NUL after @n_bytes; @path is
 * the name in errors. */
RaMachine *ra_machine_parse(const char *path, const char *text, gsize n_bytes,
                            GError **error);
void ra_machine_free(RaMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMachine, ra_machine_free)

/* Tables `found` and `assumed` (a row per key of the cluster file, with the
 * reason), and `cards` (the NICs). */
GPtrArray *ra_inspect_machine(const RaMachine *machine);

/**
 * ra_machine_cluster:
 * @n_nodes: number of equal nodes
 * @gpu: (nullable): profile of the GPUs, if the file does not give it or is
 *   wrong
 * @error: %RA_ERROR_INPUT: the GPU is unknown and @gpu is %NULL; several nodes
 *   without NICs
 *
 * Returns: (transfer full): a cluster file, with comments
 */
char *ra_machine_cluster(const RaMachine *machine, uint32_t n_nodes,
                         const char *gpu, GError **error);

/* The two readers, study/machine/machine_*.c.  @machine has its path and no
 * NICs yet. */
gboolean ra_machine_read_xml(RaMachine *machine, const char *text,
                             gsize n_bytes, GError **error);
gboolean ra_machine_read_matrix(RaMachine *machine, const char *text,
                                GError **error);

/* Profile of a PCI device such as "0x2330" (nullable), static. */
const char *ra_machine_profile_of(const char *device);

#endif
