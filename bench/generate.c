/* Continuous batching of 10^5 sequences of up to 32,768 tokens on one replica:
 * wall seconds to schedule and cost them, and how many events that is.
 *
 * Llama-3-8B on one H100 as its profile has it, answers lognormal around 4,000
 * tokens cut at 32,768 and, the worst case, all of 32,768; 512 at a time, as
 * many keys as 40 GB hold, reserved for whole sequences or not, or no limit.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "graph/input/length.h"
#include "graph/op/activation.h"
#include "sim/generate/serve.h"
#include "study/setup.h"

enum { MAX_RUNS = 5 };

typedef struct {
  const char *name;
  const char *response; /* a law of lengths */
  uint32_t n;
  uint32_t group;   /* samples of a prompt that share it */
  double kv_bytes;  /* 0: no limit */
  gboolean reserve; /* for whole sequences */
  double limit_s;   /* of the bar; 0: none */
} Case;

#define TAIL "lognormal(4000, 6000, 32768)"

/* Where keys are short and nothing is reserved, a sequence that was preempted
 * comes again after each other one, and each time is an event: no bar. */
static const Case cases[] = {
    {"lognormal", TAIL, 100000, 1, 0, FALSE, 1},
    {"lognormal, 40 GB, reserved", TAIL, 100000, 1, 40e9, TRUE, 1},
    {"lognormal, 40 GB", TAIL, 100000, 1, 40e9, FALSE, 0},
    {"lognormal, 40 GB, 8 share", TAIL, 100000, 8, 40e9, FALSE, 0},
    {"fixed", "fixed(32768)", 100000, 1, 0, FALSE, 1},
    {"fixed, 40 GB, reserved", "fixed(32768)", 100000, 1, 40e9, TRUE, 1},
};

/* One run; its wall seconds. */
static double
run(const Case *c, const RaServeSource *source, double token_bytes)
{
  RaLength prompt_law, response_law;
  g_autofree uint32_t *prompt = g_new(uint32_t, c->n);
  g_autofree uint32_t *response = g_new(uint32_t, c->n);
  RaBatching batching = {.max_sequences = 512,
                         .step_tokens = 8192,
                         .block_tokens = 16,
                         .n_blocks = (uint64_t)(c->kv_bytes / token_bytes / 16),
                         .group = c->group,
                         .reserve = c->reserve};
  RaServeResult result = {.n_parts = 0};
  g_autoptr(RaBatcher) batcher = NULL;
  const RaBatcherWork *work;
  double begin_s, wall_s;

  ra_length_parse("lognormal(600, 450, 2048)", NULL, &prompt_law, NULL);
  ra_length_parse(c->response, NULL, &response_law, NULL);
  for (uint32_t i = 0; i < c->n; i++) {
    prompt[i] = ra_length_draw(&prompt_law, 0, 0, i / c->group);
    response[i] = ra_length_draw(&response_law, 0, 1, i);
  }
  begin_s = bench_wall_s();
  batcher = ra_batcher_new(&batching, prompt, response, c->n);
  ra_serve_run(source, batcher, c->n, NULL, &result);
  wall_s = bench_wall_s() - begin_s;
  work = ra_batcher_work(batcher);
  printf("%s\t%u\t%.9g\t%" G_GUINT64_FORMAT "\t%" G_GUINT64_FORMAT
         "\t%" G_GUINT64_FORMAT "\t%" G_GUINT64_FORMAT "\t%.9g\n",
         c->name, c->n, result.makespan_s, work->n_steps, work->n_stretches,
         work->n_preempted, result.n_evaluated, wall_s);
  ra_length_clear(&prompt_law);
  ra_length_clear(&response_law);
  return wall_s;
}

int
main(int argc, char **argv)
{
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  guint n_runs = quick ? 1 : MAX_RUNS;
  RaSetupFlags flags = {.workload = "rloo-llama3-8b.workload",
                        .cluster = "h100-1n.cluster"};
  GError *error = NULL;
  g_autoptr(RaSetup) setup = ra_setup_load_pair(&flags, &error);
  RaShard shard = {.tp = 1, .sampling = 1, .launch = RA_LAUNCH_GRAPH};
  RaPiece piece = {.has_embedding = 1, .has_head = 1};
  RaServeReplica replica;
  RaServeSource source;
  double medians_s[G_N_ELEMENTS(cases)];

  if (!setup) {
    printf("# %s\n", error->message);
    bench_bar("generate_s", (double)NAN, BENCH_AT_MOST, 1);
    g_error_free(error);
    return 0;
  }
  shard.model = setup->workload->models[0].model;
  piece.n_layers = shard.model->n_layers;
  replica = (RaServeReplica){setup->estimator, &shard, &piece};
  source = ra_serve_source(&replica);
  printf("# wall seconds to schedule and cost one replica's generation\n");
  printf("case\tn_sequences\tmakespan_s\tn_steps\tn_stretches\tn_preempted\t"
         "n_evaluated\twall_s\n");
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    double times_s[MAX_RUNS];

    for (guint k = 0; k < n_runs; k++)
      times_s[k] =
          run(&cases[i], &source, (double)ra_kv_token_bytes(&shard, &piece));
    medians_s[i] = bench_median(times_s, n_runs);
  }
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    if (cases[i].limit_s > 0) {
      g_autofree char *name = g_strconcat("generate ", cases[i].name, NULL);

      bench_bar(name, medians_s[i], BENCH_AT_MOST, cases[i].limit_s);
    }
  return 0;
}
