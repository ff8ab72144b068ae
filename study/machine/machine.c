/* Machine: its tables and its cluster file. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "study/machine/machine.h"

#define MAX_BYTES ((gsize)4 << 20) /* a machine of many bridges has 100 kB */

/* The id database of the PCI utilities (pci.ids, vendor 10de). */
static const struct {
  const char *device;
  const char *profile;
} devices[] = {
    {"0x20b0", "a100-sxm-40g"}, {"0x20b2", "a100-sxm"},
    {"0x20b5", "a100-pcie"},    {"0x20b7", "a30"},
    {"0x2235", "a40"},          {"0x2329", "h20"},
    {"0x2330", "h100-sxm"},     {"0x2331", "h100-pcie"},
    {"0x2335", "h200-sxm"},     {"0x2684", "rtx4090"},
    {"0x26b9", "l40s"},         {"0x27b8", "l4"},
    {"0x2230", "a6000"},        {"0x2342", "gh200"},
    {"0x26ba", "l20"},          {"0x2901", "b200-sxm"},
    {"0x2941", "gb200"},        {"0x31c2", "gb300"},
};

const char *
ra_machine_profile_of(const char *device)
{
  for (guint i = 0; device && i < G_N_ELEMENTS(devices); i++)
    if (g_ascii_strcasecmp(devices[i].device, device) == 0)
      return devices[i].profile;
  return NULL;
}

static void
card_clear(gpointer data)
{
  g_free(((RaMachineCard *)data)->name);
}

void
ra_machine_free(RaMachine *machine)
{
  if (!machine)
    return;
  g_free(machine->path);
  g_free(machine->device);
  g_array_unref(machine->cards);
  g_free(machine);
}

gboolean
ra_machine_is(const char *text)
{
  const char *at = text + strspn(text, " \t\r\n");

  g_return_val_if_fail(text != NULL, FALSE);
  if (*at == '<')
    return strstr(at, "<system") != NULL;
  return strstr(text, "GPU0") != NULL && strstr(text, " X ") != NULL;
}

/* Cards that carry what ranks say to each other: as NCCL, the fastest, where
 * rates are known; else those that are near a GPU; else all. */
static void
choose_cards(RaMachine *m)
{
  double fastest = 0;
  gboolean some_near = FALSE;

  for (guint i = 0; i < m->cards->len; i++) {
    const RaMachineCard *card = &g_array_index(m->cards, RaMachineCard, i);

    fastest = fmax(fastest, card->bytes_per_s);
    some_near |= card->n_near > 0;
  }
  for (guint i = 0; i < m->cards->len; i++) {
    RaMachineCard *card = &g_array_index(m->cards, RaMachineCard, i);

    card->carries_ranks = fastest > 0 ? card->bytes_per_s >= fastest
                                      : !some_near || card->n_near > 0;
  }
}

RaMachine *
ra_machine_parse(const char *path, const char *text, gsize n_bytes,
                 GError **error)
{
  g_autoptr(RaMachine) machine = g_new0(RaMachine, 1);
  gboolean ok;

  machine->path = g_strdup(path);
  machine->pcie_bytes_per_s = (double)NAN;
  machine->cards = g_array_new(FALSE, FALSE, sizeof(RaMachineCard));
  g_array_set_clear_func(machine->cards, card_clear);
  ok = text[strspn(text, " \t\r\n")] == '<'
           ? ra_machine_read_xml(machine, text, n_bytes, error)
           : ra_machine_read_matrix(machine, text, error);
  if (!ok)
    return NULL;
  if (machine->n_gpus == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no GPU, expected a topology that has some", path);
    return NULL;
  }
  choose_cards(machine);
  return g_steal_pointer(&machine);
}

RaMachine *
ra_machine_load(const char *path, GError **error)
{
  g_autofree char *text = NULL;
  gsize n_bytes;

  if (!ra_file_read(path, MAX_BYTES, &text, &n_bytes, error))
    return NULL;
  return ra_machine_parse(path, text, n_bytes, error);
}

static guint
n_carriers(const RaMachine *m, double *out_bytes_per_s)
{
  guint n = 0;

  *out_bytes_per_s = (double)NAN;
  for (guint i = 0; i < m->cards->len; i++) {
    const RaMachineCard *card = &g_array_index(m->cards, RaMachineCard, i);

    if (!card->carries_ranks)
      continue;
    n++;
    *out_bytes_per_s = card->bytes_per_s;
  }
  return n;
}

/* ---- As tables ------------------------------------------------------------*/

static RaTable *
make_found(const RaMachine *m)
{
  RaTable *table = ra_table_new("found");

  ra_table_column(table, "source", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "gpus", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "device", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "profile", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "nvlinks", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "all_to_all", RA_UNIT_NONE, RA_CELL_TRUTH);
  ra_table_column(table, "numa", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "pcie", RA_UNIT_BYTES_PER_S, RA_CELL_REAL);
  ra_table_row(table);
  ra_table_text(table, m->is_xml ? "NCCL topology" : "nvidia-smi topo -m");
  ra_table_integer(table, m->n_gpus);
  ra_table_text(table, m->device ? m->device : "-");
  ra_table_text(table, m->profile ? m->profile : "-");
  ra_table_integer(table, m->n_nvlinks);
  ra_table_truth(table, m->is_switched);
  ra_table_integer(table, m->n_numa);
  ra_table_real(table, m->pcie_bytes_per_s);
  return table;
}

static RaTable *
make_cards(const RaMachine *m)
{
  RaTable *table = ra_table_new("cards");

  ra_table_column(table, "card", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "rate", RA_UNIT_BYTES_PER_S, RA_CELL_REAL);
  ra_table_column(table, "near_gpus", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "counted", RA_UNIT_NONE, RA_CELL_TRUTH);
  for (guint i = 0; i < m->cards->len; i++) {
    const RaMachineCard *card = &g_array_index(m->cards, RaMachineCard, i);

    ra_table_row(table);
    ra_table_text(table, card->name);
    ra_table_real(table, card->bytes_per_s);
    ra_table_integer(table, card->n_near);
    ra_table_truth(table, card->carries_ranks);
  }
  return table;
}

static void
add_assumed(RaTable *table, const char *key, const char *value, const char *why)
{
  ra_table_row(table);
  ra_table_text(table, key);
  ra_table_text(table, value);
  ra_table_text(table, why);
}

static RaTable *
make_assumed(const RaMachine *m)
{
  RaTable *table = ra_table_new("assumed");
  double rate;
  guint n = n_carriers(m, &rate);

  ra_table_column(table, "key", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "value", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "why", RA_UNIT_NONE, RA_CELL_TEXT);
  if (!m->profile)
    add_assumed(table, "gpu", "-",
                m->device ? "no shipped profile has this PCI device: --gpu"
                          : "no GPU name in the matrix: --gpu");
  if (n > 0 && !(rate > 0))
    add_assumed(table, "nic", "400 Gbit/s", "no rates in the matrix");
  if (n > 0)
    add_assumed(table, "fabric", "flat", "no switch in the file of one node");
  if (m->n_nvlinks > 0 && !m->is_switched)
    add_assumed(table, "links", "as the profile's",
                "GPUs have unequal numbers of NVLinks, or none to some");
  return table;
}

GPtrArray *
ra_inspect_machine(const RaMachine *machine)
{
  GPtrArray *tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  g_return_val_if_fail(machine != NULL, tables);
  g_ptr_array_add(tables, make_found(machine));
  g_ptr_array_add(tables, make_cards(machine));
  g_ptr_array_add(tables, make_assumed(machine));
  return tables;
}

/* ---- As a cluster file ----------------------------------------------------*/

char *
ra_machine_cluster(const RaMachine *machine, uint32_t n_nodes, const char *gpu,
                   GError **error)
{
  GString *out = g_string_new(NULL);
  double rate;
  guint n = n_carriers(machine, &rate);
  const char *profile = gpu ? gpu : machine->profile;
  const char *source =
      machine->is_xml ? "NCCL's topology" : "nvidia-smi topo -m";

  if (!profile || (n == 0 && n_nodes > 1)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: %s", machine->path,
                profile ? "no NIC, expected some for several nodes"
                        : "unknown GPU, expected --gpu=PROFILE");
    g_string_free(out, TRUE);
    return NULL;
  }
  ra_quote_comment(
      out, "From %s of one node.  What it does not say is an assumption.",
      source);
  g_string_append(out, "\n[cluster]\nformat = 1\n");
  g_string_append_printf(out, "nodes = %u\ngpus-per-node = %u\n", n_nodes,
                         machine->n_gpus);
  if (!ra_quote_key(out, "gpu", profile, error)) {
    g_string_free(out, TRUE);
    return NULL;
  }
  if (!gpu) {
    g_string_truncate(out, out->len - 1);
    g_string_append(out, "   # by its PCI device\n");
  }
  if (n == 0)
    return g_string_free(out, FALSE);
  g_string_append_printf(out, "nics-per-node = %u   # of %u NICs\n", n,
                         machine->cards->len);
  if (rate > 0)
    g_string_append_printf(out, "nic = %g Gbit/s\n", rate * 8e-9);
  else
    g_string_append(out, "nic = 400 Gbit/s   # assumed: it gives no rates\n");
  g_string_append(out, "fabric = flat   # assumed: one node shows no switch\n");
  return g_string_free(out, FALSE);
}
