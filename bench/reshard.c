/* Cost to a host of moving parameters from layout to layout: the threads of two
 * ranks reallocate a model of 0.3 GB there and back, as ranks of a run do. CPU
 * seconds of all threads are compared with those of one memory copy of what
 * arrives, from another rank or from the rank itself. 1: a copy each, which is
 * the least; 4: data of others are packed, laid by for a rank that has not
 * asked yet, taken from there and unpacked. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "exec/comm/comm_local.h"
#include "exec/model/reshard.h"
#include "graph/input/plan.h"

#define N_RANKS 2
#define ROUNDS 7

static const char config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 1024,"
    " \"num_hidden_layers\": 6, \"num_attention_heads\": 16,"
    " \"num_key_value_heads\": 8, \"head_dim\": 64,"
    " \"intermediate_size\": 2816, \"vocab_size\": 8192,"
    " \"max_position_embeddings\": 512}";

typedef struct {
  const char *name;
  uint32_t dp, tp, pp;
  uint32_t layers[N_RANKS]; /* of each stage */
} Layout;

static Layout layouts[] = {
    {"dp 2", 2, 1, 1, {6}}, {"tp 2", 1, 2, 1, {6}}, {"pp 2", 1, 1, 2, {3, 3}}};

static const struct {
  uint32_t from, to;
} ways[] = {{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 0}};

typedef struct {
  RaModel *model;
  RaTensorTable *table;
  RaCluster cluster;
  RaCallPlan plans[G_N_ELEMENTS(layouts)];
} Bench;

typedef struct {
  const Bench *bench;
  RaLocalGroup *group;
  const GArray *slices;
  RaParams *source, *target;
  RaSlabs *slabs;
  uint32_t rank;
} Rank;

static void *
run_rank(void *data)
{
  static const uint32_t rank_of_gpu[N_RANKS] = {0, 1};
  const Rank *r = data;
  g_autoptr(RaComm) world = ra_local_comm_new(r->group, r->rank);
  RaReshard reshard = {.backend = ra_backend_host(NULL),
                       .world = world,
                       .rank_of_gpu = rank_of_gpu,
                       .gpu = r->rank,
                       .model = r->bench->model,
                       .slices = r->slices,
                       .slabs = r->slabs};

  ra_reshard(&reshard, r->source, r->target);
  return NULL;
}

/* CPU seconds of a reallocation by @ranks. */
static double
move_s(Rank *ranks)
{
  double begin_s = bench_cpu_s();
  pthread_t threads[N_RANKS];

  for (uint32_t i = 0; i < N_RANKS; i++)
    if (pthread_create(&threads[i], NULL, run_rank, &ranks[i]))
      exit(1);
  for (uint32_t i = 0; i < N_RANKS; i++)
    pthread_join(threads[i], NULL);
  return bench_cpu_s() - begin_s;
}

/* CPU seconds of copying what every target has. */
static double
copy_s(const Rank *ranks, void *to, const void *from)
{
  double begin_s = bench_cpu_s();

  for (uint32_t i = 0; i < N_RANKS; i++)
    memcpy(to, from, ranks[i].target->n * sizeof(float));
  return bench_cpu_s() - begin_s;
}

/* The middle of the ratios of a way, of all rounds but the first. */
static double
run_way(const Bench *b, const RaCallPlan *from, const RaCallPlan *to)
{
  g_autoptr(RaLocalGroup) group = ra_local_group_new(N_RANKS, FALSE);
  g_autoptr(GArray) slices = ra_reshard_slices(b->model, from, to, &b->cluster);
  gsize whole = ra_model_n_params(b->model) * sizeof(float);
  g_autofree char *one = g_malloc0(whole), *other = g_malloc0(whole);
  double ratios[ROUNDS];
  Rank ranks[N_RANKS];

  for (uint32_t i = 0; i < N_RANKS; i++) {
    ranks[i] = (Rank){b,
                      group,
                      slices,
                      ra_params_new(b->table, from, i),
                      ra_params_new(b->table, to, i),
                      ra_slabs_new(ra_backend_host_memory()),
                      i};
    ra_params_seed(ranks[i].source, 1);
  }
  for (guint k = 0; k <= ROUNDS; k++) {
    double moved_s = move_s(ranks), copied_s = copy_s(ranks, other, one);

    if (k > 0)
      ratios[k - 1] = moved_s / copied_s;
  }
  for (uint32_t i = 0; i < N_RANKS; i++) {
    ra_params_free(ranks[i].source);
    ra_params_free(ranks[i].target);
    ra_slabs_unref(ranks[i].slabs);
  }
  return bench_median(ratios, ROUNDS);
}

static RaCallPlan
plan_of(Layout *l)
{
  return (RaCallPlan){.set = TRUE,
                      .mesh = {.n_runs = 1,
                               .runs = {{.first = 0, .n = 1}},
                               .n_nodes = 1,
                               .gpus_per_node = N_RANKS},
                      .dp = l->dp,
                      .tp = l->tp,
                      .pp = l->pp,
                      .cp = 1,
                      .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                      .n_virtual = 1,
                      .stage_layers = l->layers,
                      .realloc = RA_REALLOC_P2P};
}

int
main(void)
{
  Bench b = {.cluster = {.n_nodes = 1, .gpus_per_node = N_RANKS}};
  double worst = 0;

  b.model = ra_model_parse("bench.json", config, strlen(config), NULL);
  b.table = ra_tensor_table_new(b.model);
  for (guint i = 0; i < G_N_ELEMENTS(layouts); i++)
    b.plans[i] = plan_of(&layouts[i]);
  printf("# CPU seconds of a reallocation over those of copying what "
         "arrives\nfrom\tto\tratio\n");
  for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
    double ratio = run_way(&b, &b.plans[ways[i].from], &b.plans[ways[i].to]);

    printf("%s\t%s\t%.2f\n", layouts[ways[i].from].name,
           layouts[ways[i].to].name, ratio);
    worst = MAX(worst, ratio);
  }
  bench_bar("reshard_copies", worst, BENCH_AT_MOST, 4);
  ra_tensor_table_free(b.table);
  ra_model_free(b.model);
  return 0;
}
