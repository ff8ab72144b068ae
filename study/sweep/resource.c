/* Resources of a run, as changes of its files. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "sim/op_replay.h"
#include "study/sweep/resource.h"

static void
set_rate(GPtrArray *sets, const char *key, double value, const char *unit)
{
  if (value > 0) /* 0: the data sheet has none */
    g_ptr_array_add(sets, g_strdup_printf("%s=%.17g %s", key, value, unit));
}

static gboolean
change_flop(const RaSetup *setup, double scale, GPtrArray *sets, char **out_now)
{
  const RaDevice *d = &setup->cluster->device;

  set_rate(sets, "device.bf16", scale * d->bf16_flop_per_s, "FLOP/s");
  set_rate(sets, "device.fp8", scale * d->fp8_flop_per_s, "FLOP/s");
  set_rate(sets, "device.fp32", scale * d->fp32_flop_per_s, "FLOP/s");
  *out_now = ra_quantity_format(d->bf16_flop_per_s, RA_UNIT_FLOP_PER_S);
  return TRUE;
}

static gboolean
change_hbm(const RaSetup *setup, double scale, GPtrArray *sets, char **out_now)
{
  double rate = setup->cluster->device.memory_bytes_per_s;

  set_rate(sets, "device.memory-bandwidth", scale * rate, "B/s");
  *out_now = ra_quantity_format(rate, RA_UNIT_BYTES_PER_S);
  return TRUE;
}

static gboolean
change_memory(const RaSetup *setup, double scale, GPtrArray *sets,
              char **out_now)
{
  double bytes = setup->cluster->device.memory_bytes;

  set_rate(sets, "device.memory", scale * bytes, "B");
  *out_now = ra_quantity_format(bytes, RA_UNIT_BYTES);
  return TRUE;
}

static gboolean
change_host(const RaSetup *setup, double scale, GPtrArray *sets, char **out_now)
{
  double rate = setup->cluster->device.host_bytes_per_s;

  set_rate(sets, "device.host", scale * rate, "B/s");
  *out_now = ra_quantity_format(rate, RA_UNIT_BYTES_PER_S);
  return TRUE;
}

/* Links that have rates of their own: of GPUs, or of the network. */
static void
change_links(const RaSetup *setup, double scale, gboolean of_gpus,
             GPtrArray *sets)
{
  const RaKeyFile *file = setup->cluster->file;

  for (guint g = 0; g < ra_key_file_n_groups(file); g++) {
    const char *name = ra_key_file_group_name(file, g);
    const char *text = ra_key_file_get(file, g, "rate");
    g_autofree char *key = g_strdup_printf("link %s.rate", name);
    double rate;

    if (text && g_str_equal(ra_key_file_group_noun(file, g), "link") &&
        (strstr(name, "/gpu") != NULL) == of_gpus &&
        ra_quantity_parse(text, RA_UNIT_BYTES_PER_S, &rate, NULL))
      set_rate(sets, key, scale * rate, "B/s");
  }
}

static gboolean
change_intra(const RaSetup *setup, double scale, GPtrArray *sets,
             char **out_now)
{
  double rate = setup->cluster->device.intra_bytes_per_s;

  set_rate(sets, "device.intra-node", scale * rate, "B/s");
  change_links(setup, scale, TRUE, sets);
  *out_now = ra_quantity_format(rate, RA_UNIT_BYTES_PER_S);
  return setup->cluster->gpus_per_node > 1;
}

static gboolean
change_network(const RaSetup *setup, double scale, GPtrArray *sets,
               char **out_now)
{
  const RaCluster *cluster = setup->cluster;
  g_autofree char *rate =
      ra_quantity_format(cluster->nic_bytes_per_s, RA_UNIT_BYTES_PER_S);

  if (cluster->nics_per_node == 0)
    return FALSE;
  set_rate(sets, "cluster.nic", scale * cluster->nic_bytes_per_s, "B/s");
  for (uint32_t k = 1; k < cluster->n_kinds; k++) {
    const RaMachineKind *kind = &cluster->kinds[k];
    g_autofree char *key = g_strdup_printf("kind %s.nic", kind->name);

    set_rate(sets, key, scale * kind->nic_bytes_per_s, "B/s");
  }
  change_links(setup, scale, FALSE, sets);
  *out_now = g_strdup_printf("%u x %s", cluster->nics_per_node, rate);
  return TRUE;
}

/* TRUE if an op of @setup may be costed by @law: it is no other engine's. */
static gboolean
is_used(const RaSetup *setup, const RaLaw *law)
{
  RaKernels kernels = ra_law_kernels(law->name);

  return kernels == RA_KERNELS_COMMON ||
         (setup->system && setup->system->constants.kernels == kernels);
}

/* Every coefficient of @setup's laws that @counts. */
static gboolean
change_laws(const RaSetup *setup, double scale,
            gboolean (*counts)(const RaLaw *law, const char *name),
            GPtrArray *sets, char **out_now)
{
  double least = (double)INFINITY, most = 0;
  g_autofree char *from = NULL, *to = NULL;

  for (guint i = 0; i < setup->profile->n_laws; i++) {
    const RaLaw *law = &setup->profile->laws[i];

    for (guint j = 0; is_used(setup, law) && j < law->n_coefficients; j++) {
      const RaCoefficient *c = &law->coefficients[j];

      if (!(c->value > 0) || !counts(law, c->name))
        continue;
      g_ptr_array_add(sets, g_strdup_printf("law %s.%s=%.17g", law->name,
                                            c->name, scale * c->value));
      least = fmin(least, c->value);
      most = fmax(most, c->value);
    }
  }
  if (!(most > 0))
    return FALSE;
  from = ra_quantity_format(least, RA_UNIT_SECONDS);
  to = ra_quantity_format(most, RA_UNIT_SECONDS);
  *out_now = g_strdup_printf("%s to %s", from, to);
  return TRUE;
}

static gboolean
is_latency(const RaLaw *law, const char *name)
{
  return strstr(name, "latency") != NULL ||
         (g_str_equal(law->name, "realloc") && g_str_equal(name, "step-s"));
}

static gboolean
is_launch(const RaLaw *law, const char *name)
{
  return g_str_equal(law->name, "host") && g_str_has_suffix(name, "-s");
}

static gboolean
change_latency(const RaSetup *setup, double scale, GPtrArray *sets,
               char **out_now)
{
  return change_laws(setup, scale, is_latency, sets, out_now);
}

static gboolean
change_launch(const RaSetup *setup, double scale, GPtrArray *sets,
              char **out_now)
{
  return change_laws(setup, scale, is_launch, sets, out_now);
}

static uint32_t
scale_tokens(double tokens, double scale)
{
  return (uint32_t)CLAMP(tokens * scale + 0.5, 1, RA_LENGTH_MAX_TOKENS);
}

static gboolean
change_law(const RaLength *law, const char *key, double scale, GPtrArray *sets,
           char **out_now)
{
  uint32_t most = scale_tokens(law->max_tokens, scale);

  *out_now = g_strdup_printf("%.0f tokens", ra_length_mean(law));
  switch (law->kind) {
  case RA_LENGTH_FIXED:
    g_ptr_array_add(sets, g_strdup_printf("workload.%s=fixed(%u)", key, most));
    return TRUE;
  case RA_LENGTH_UNIFORM:
    g_ptr_array_add(sets, g_strdup_printf("workload.%s=uniform(%u, %u)", key,
                                          scale_tokens(law->min_tokens, scale),
                                          most));
    return TRUE;
  case RA_LENGTH_LOGNORMAL:
    g_ptr_array_add(
        sets, g_strdup_printf("workload.%s=lognormal(%.17g, %.17g, %u, %.17g)",
                              key, scale * law->mean_tokens,
                              scale * law->sd_tokens, most, law->full_frac));
    return TRUE;
  case RA_LENGTH_FILE:
    break;
  }
  return FALSE; /* a file is what it is */
}

static gboolean
change_prompts(const RaSetup *setup, double scale, GPtrArray *sets,
               char **out_now)
{
  return change_law(&setup->workload->prompt_length, "prompt-length", scale,
                    sets, out_now);
}

static gboolean
change_responses(const RaSetup *setup, double scale, GPtrArray *sets,
                 char **out_now)
{
  return change_law(&setup->workload->response_length, "response-length", scale,
                    sets, out_now);
}

static gboolean
change_spread(const RaSetup *setup, double scale, GPtrArray *sets,
              char **out_now)
{
  const RaLength *law = &setup->workload->response_length;
  double mean = law->mean_tokens;
  uint32_t most;

  if (law->kind != RA_LENGTH_LOGNORMAL)
    return FALSE;
  most = law->max_tokens > mean
             ? scale_tokens(mean + (law->max_tokens - mean) * scale, 1)
             : law->max_tokens;
  g_ptr_array_add(
      sets, g_strdup_printf(
                "workload.response-length=lognormal(%.17g, %.17g, %u, %.17g)",
                mean, scale * law->sd_tokens, most, law->full_frac));
  *out_now = g_strdup_printf("%.0f tokens", law->sd_tokens);
  return TRUE;
}

gboolean
ra_resource_stragglers(const RaSetup *setup, uint64_t seed, double scale,
                       GPtrArray *sets)
{
  double frac = fmin(setup->cluster->straggler_frac * scale, 1);

  if (!(frac > 0)) {
    if (scale < 1)
      return FALSE;
    frac = 1;
    for (uint32_t i = 0; i < ra_cluster_n_gpus(setup->cluster); i++)
      frac = fmin(frac, ra_op_replay_share(seed, i));
    frac = nextafter(frac, 1);
  }
  g_ptr_array_add(sets, g_strdup_printf("cluster.stragglers=%.17g", frac));
  return TRUE;
}

static gboolean
change_stragglers(const RaSetup *setup, double scale, GPtrArray *sets,
                  char **out_now)
{
  const RaCluster *cluster = setup->cluster;

  (void)scale;
  (void)sets; /* ra_resource_stragglers(), which asks for a seed */
  *out_now =
      cluster->straggler_frac > 0
          ? g_strdup_printf("%.3g %% by %.3g", 100 * cluster->straggler_frac,
                            cluster->straggler_slowdown)
          : g_strdup_printf("none; one by %.3g", cluster->straggler_slowdown);
  return TRUE;
}

const RaResource ra_resources[RA_N_RESOURCES] = {
    {"flop", "FLOP/s", change_flop, FALSE},
    {"hbm", "bandwidth of GPU memory", change_hbm, FALSE},
    {"memory", "size of GPU memory", change_memory, FALSE},
    {"intra-node", "bandwidth within a node", change_intra, FALSE},
    {"network", "bandwidth of NICs", change_network, FALSE},
    {"latency", "latency of communication", change_latency, FALSE},
    {"launch", "launch time of kernels", change_launch, FALSE},
    {"host-link", "bandwidth to the host", change_host, FALSE},
    {"prompts", "length of prompts", change_prompts, FALSE},
    {"responses", "length of responses", change_responses, FALSE},
    {"spread", "spread of response lengths", change_spread, FALSE},
    {"stragglers", "slow GPUs", change_stragglers, TRUE},
};
