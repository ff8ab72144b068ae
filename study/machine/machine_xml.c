/* Reader of NCCL's topology file. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/machine/machine.h"

/* Deep enough for any bus; what is deeper is no topology. */
enum { MAX_DEPTH = 64 };

/* A bridge or device that is open. */
typedef struct {
  const char *device;  /* interned; NULL: not said */
  double bytes_per_s;  /* of its link */
  uint32_t first_card; /* cards and GPUs when it began */
  uint32_t first_gpu;
  gboolean is_pci;
} Level;

typedef struct {
  RaMachine *machine;
  Level levels[MAX_DEPTH];
  guint depth;
  uint32_t n_links;   /* of the GPU that is open */
  gboolean is_switch; /* all of them go to switches */
  gboolean in_gpu;
  uint32_t cpu_gpus; /* GPUs when the CPU began */
  uint32_t n_peers;  /* GPUs that it has links to */
} Reader;

static const char *
attribute(const char **names, const char **values, const char *name)
{
  for (guint i = 0; names[i]; i++)
    if (strcmp(names[i], name) == 0)
      return values[i];
  return NULL;
}

static gboolean
fail(Reader *r, GMarkupParseContext *context, const char *what, GError **error)
{
  int line;

  g_markup_parse_context_get_position(context, &line, NULL);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%d: %s", r->machine->path,
              line, what);
  return FALSE;
}

/* GT/s of a lane to bytes/s of a slot: 8b/10b up to 5 GT/s, 128b/130b above
 * (PCI Express base specification); a width of 0 is one that is hidden. */
static double
slot_bytes_per_s(const char *speed, const char *width)
{
  double rate = speed ? g_ascii_strtod(speed, NULL) : 0;
  double lanes = width ? g_ascii_strtod(width, NULL) : 0;

  if (!(rate > 0) || !(lanes > 0) || rate > 1000 || lanes > 64)
    return (double)NAN;
  return rate * 1e9 / 8 * lanes * (rate <= 5 ? 0.8 : 128.0 / 130.0);
}

static void
begin_pci(Reader *r, const char **names, const char **values)
{
  Level *level = &r->levels[r->depth];
  const char *device = attribute(names, values, "device");

  level->is_pci = TRUE;
  level->device = device ? g_intern_string(device) : NULL;
  level->bytes_per_s = slot_bytes_per_s(attribute(names, values, "link_speed"),
                                        attribute(names, values, "link_width"));
}

static gboolean
begin_gpu(Reader *r, GMarkupParseContext *context, GError **error)
{
  RaMachine *m = r->machine;
  const Level *slot = r->depth > 0 ? &r->levels[r->depth - 1] : NULL;

  if (!slot || !slot->is_pci)
    return fail(r, context, "a gpu outside of a pci, expected one around it",
                error);
  if (r->in_gpu)
    return fail(r, context, "a gpu inside a gpu", error);
  if (slot->device && m->device && strcmp(slot->device, m->device) != 0)
    return fail(r, context,
                "GPUs of several kinds, expected one kind a machine", error);
  if (slot->device && !m->device)
    m->device = g_strdup(slot->device);
  m->pcie_bytes_per_s = slot->bytes_per_s;
  r->in_gpu = TRUE;
  r->n_links = r->n_peers = 0;
  r->is_switch = TRUE;
  return TRUE;
}

static gboolean
begin_link(Reader *r, GMarkupParseContext *context, const char **names,
           const char **values, GError **error)
{
  const char *count = attribute(names, values, "count");
  const char *class_of = attribute(names, values, "tclass");
  uint64_t n;

  if (!r->in_gpu)
    return fail(r, context, "an nvlink outside of a gpu", error);
  if (!count || !ra_text_uint64(count, &n) || n < 1 || n > 1000)
    return fail(r, context, "an nvlink's count, expected 1 to 1000", error);
  r->n_links += (uint32_t)n;
  r->n_peers++;
  if (!class_of || !g_str_has_prefix(class_of, "0x0680"))
    r->is_switch = FALSE;
  return TRUE;
}

static gboolean
begin_net(Reader *r, GMarkupParseContext *context, const char **names,
          const char **values, GError **error)
{
  const char *name = attribute(names, values, "name");
  const char *speed = attribute(names, values, "speed");
  RaMachineCard card = {NULL, (double)NAN, 0, FALSE};
  uint64_t mbit_per_s = 0;

  if (speed && (!ra_text_uint64(speed, &mbit_per_s) || mbit_per_s > 100000000))
    return fail(r, context, "a net's speed, expected Mbit/s", error);
  card.name = g_strdup(name ? name : "net");
  if (mbit_per_s > 0)
    card.bytes_per_s = (double)mbit_per_s * 1e6 / 8;
  g_array_append_val(r->machine->cards, card);
  return TRUE;
}

static void
begin(GMarkupParseContext *context, const char *element, const char **names,
      const char **values, gpointer data, GError **error)
{
  Reader *r = data;
  Level *level;
  gboolean ok = TRUE;

  if (r->depth == 0 && strcmp(element, "system") != 0) {
    fail(r, context, "expected <system> of an NCCL topology", error);
    return;
  }
  if (r->depth == MAX_DEPTH) {
    fail(r, context, "nested deeper than any bus is", error);
    return;
  }
  level = &r->levels[r->depth];
  *level = (Level){.first_card = r->machine->cards->len,
                   .first_gpu = r->machine->n_gpus};
  if (strcmp(element, "pci") == 0)
    begin_pci(r, names, values);
  else if (strcmp(element, "gpu") == 0)
    ok = begin_gpu(r, context, error);
  else if (strcmp(element, "nvlink") == 0)
    ok = begin_link(r, context, names, values, error);
  else if (strcmp(element, "net") == 0)
    ok = begin_net(r, context, names, values, error);
  else if (strcmp(element, "cpu") == 0)
    r->cpu_gpus = r->machine->n_gpus;
  if (ok)
    r->depth++;
}

/* Cards and GPUs below one bridge are near each other: a bridge that has both,
 * counted where they first meet. */
static void
end_pci(Reader *r, const Level *level)
{
  RaMachine *m = r->machine;
  uint32_t n_gpus = m->n_gpus - level->first_gpu;

  for (uint32_t i = level->first_card; n_gpus > 0 && i < m->cards->len; i++) {
    RaMachineCard *card = &g_array_index(m->cards, RaMachineCard, i);

    if (card->n_near == 0)
      card->n_near = n_gpus;
  }
}

static void
end_gpu(Reader *r)
{
  RaMachine *m = r->machine;
  gboolean first = m->n_gpus++ == 0;

  m->n_nvlinks = first ? r->n_links : MIN(m->n_nvlinks, r->n_links);
  m->is_switched = (first || m->is_switched) && r->n_peers > 0 && r->is_switch;
  r->in_gpu = FALSE;
}

static void
end(GMarkupParseContext *context, const char *element, gpointer data,
    GError **error)
{
  Reader *r = data;

  (void)context;
  (void)error;
  r->depth--;
  if (strcmp(element, "gpu") == 0)
    end_gpu(r);
  else if (strcmp(element, "pci") == 0)
    end_pci(r, &r->levels[r->depth]);
  else if (strcmp(element, "cpu") == 0 && r->machine->n_gpus > r->cpu_gpus)
    r->machine->n_numa++;
}

gboolean
ra_machine_read_xml(RaMachine *machine, const char *text, gsize n_bytes,
                    GError **error)
{
  static const GMarkupParser parser = {.start_element = begin,
                                       .end_element = end};
  Reader *r = g_new0(Reader, 1);
  GMarkupParseContext *context;
  GError *local = NULL;
  gboolean ok;

  r->machine = machine;
  context = g_markup_parse_context_new(&parser, 0, r, NULL);
  ok = g_markup_parse_context_parse(context, text, (gssize)n_bytes, &local) &&
       g_markup_parse_context_end_parse(context, &local);
  if (!ok && local->domain == RA_ERROR) {
    g_propagate_error(error, local);
  } else if (!ok) {
    int line;

    g_error_free(local); /* says no more than where */
    g_markup_parse_context_get_position(context, &line, NULL);
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s:%d: damaged XML, expected an NCCL topology", machine->path,
                line);
  }
  g_markup_parse_context_free(context);
  g_free(r);
  machine->is_xml = TRUE;
  machine->profile = ra_machine_profile_of(machine->device);
  return ok;
}
