#include "config.h"

#include <math.h>
#include <stdio.h>

#include "tests/support/check_edit.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"
#include "traces/system.h"

/* A device whose memory and products take no time. */
#define TIMELESS "device.memory-bandwidth=1e100 B/s", "device.bf16=1e100 FLOP/s"

static const char good[] = "[system]\n"               /* 1 */
                           "format = 1\n"             /* 2 */
                           "release = Tortoise 1.0\n" /* 3 */
                           "derived = by hand\n"      /* 4 */
                           "source = a test\n"        /* 5 */
                           "rows = 3\n"               /* 6 */
                           "range = all\n"            /* 7 */
                           "error-median = 0.25\n"    /* 8 */
                           "[constants]\n"            /* 9 */
                           "decode-layer = 1.5 ms\n"  /* 10 */
                           "decode-stage = 2 ms\n"    /* 11 */
                           "compute-factor = 3\n";    /* 12 */

static RaSystem *
load(const char *text, GError **error)
{
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("s.system", text, strlen(text), error);

  return file ? ra_system_load(file, error) : NULL;
}

static gboolean
is_good(const char *text, GError **error)
{
  g_autoptr(RaSystem) system = load(text, error);

  return system != NULL;
}

START_TEST(test_fields)
{
  g_autoptr(RaSystem) s = load(good, NULL);
  g_autofree char *half = ra_edit(good,
                                  "decode-layer = 1.5 ms\n"
                                  "decode-stage = 2 ms\n",
                                  "");
  g_autofree char *unknown =
      ra_edit(half, "error-median = 0.25", "error-median = -");
  g_autoptr(RaSystem) factor = load(unknown, NULL);

  ck_assert_ptr_nonnull(s);
  ck_assert_str_eq(s->release, "Tortoise 1.0");
  ck_assert_str_eq(s->derived, "by hand");
  ck_assert_str_eq(s->source, "a test");
  ck_assert_str_eq(s->range, "all");
  ck_assert_uint_eq(s->n_rows, 3);
  ck_assert(s->error_median_frac == 0.25);
  bench_check(s->constants.decode_layer_s, 1.5e-3);
  bench_check(s->constants.decode_stage_s, 2e-3);
  ck_assert(s->constants.compute_factor == 3);
  ck_assert(ra_system_sets(s, "decode-layer"));
  /* Constants that are left out are neutral. */
  ck_assert_ptr_nonnull(factor);
  ck_assert(isnan(factor->error_median_frac));
  ck_assert(factor->constants.decode_layer_s == 0);
  ck_assert(factor->constants.decode_stage_s == 0);
  ck_assert(!ra_system_sets(factor, "decode-layer"));
}
END_TEST

static RaSystem *
shipped(const char *name)
{
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *path = g_strdup_printf("%s/share/systems/%s.system",
                                          srcdir ? srcdir : ".", name);
  g_autoptr(RaKeyFile) file = ra_key_file_load(path, NULL);
  RaSystem *system = file ? ra_system_load(file, NULL) : NULL;

  ck_assert_msg(system != NULL, "%s", path);
  return system;
}

/* verl of 2025 differs from today's in the host time of its engine alone, which
 * it has with either trainer, as the files say: what was copied into them stays
 * what it was copied from.  The fault: that time is the same. */
START_TEST(test_releases)
{
  static const char *const trainers[] = {"verl-fsdp", "verl-megatron"};
  g_autoptr(RaSystem) first = shipped("verl-megatron-2025");
  gsize n;
  const RaKeySpec *specs = ra_system_constant_specs(&n);

  for (guint t = 0; t < G_N_ELEMENTS(trainers); t++) {
    g_autofree char *name = g_strconcat(trainers[t], "-2025", NULL);
    g_autoptr(RaSystem) then = shipped(name), now = shipped(trainers[t]);

    ck_assert_mem_eq(&then->habits, &now->habits, sizeof now->habits);
    ck_assert_int_eq(then->constants.kernels, now->constants.kernels);
    for (gsize i = 0; i < n; i++) {
      double was = *ra_system_constant(&then->constants, specs[i].key);
      double is = *ra_system_constant(&now->constants, specs[i].key);
      double engine = *ra_system_constant(&first->constants, specs[i].key);

      if (g_str_equal(specs[i].key, "decode-step") ||
          g_str_equal(specs[i].key, "decode-sequence"))
        ck_assert_msg(was > is && !(was < engine) && !(was > engine),
                      "%s of %s", specs[i].key, name);
      else
        ck_assert_msg(!(was < is) && !(was > is), "%s of %s", specs[i].key,
                      name);
    }
  }
}
END_TEST

/* Habits alone: times of kernels.  What is left out is the executor's. */
START_TEST(test_habits)
{
  g_autofree char *text =
      ra_edit(good,
              "[constants]\ndecode-layer = 1.5 ms\ndecode-stage = 2 ms\n"
              "compute-factor = 3\n",
              "[memory]\nparameter-shards = fp32\ngeneration = engine\n");
  g_autoptr(RaSystem) system = load(text, NULL);
  g_autoptr(RaSystem) without = load(good, NULL);

  ck_assert_ptr_nonnull(system);
  ck_assert_int_eq(system->habits.fp32_shards, 1);
  ck_assert_int_eq(system->habits.engine, 1);
  ck_assert_int_eq(system->habits.drop_gradients, 0);
  ck_assert_int_eq(system->habits.in_place_loss, 0);
  ck_assert(system->constants.compute_factor == 1);
  ck_assert(!ra_system_sets(system, "compute-factor"));
  ck_assert_int_eq(without->habits.fp32_shards, 0);
  ck_assert_int_eq(without->habits.engine, 0);
}
END_TEST

/* The engine whose kernels are taken: common ones where nothing is said, with
 * and without constants.  TensorRT-LLM has a second stream. */
START_TEST(test_kernels)
{
  g_autofree char *text =
      ra_edit(good, "format = 1", "format = 1\nkernels = trtllm");
  g_autofree char *habits =
      ra_edit(text,
              "[constants]\ndecode-layer = 1.5 ms\ndecode-stage = 2 ms\n"
              "compute-factor = 3\n",
              "[memory]\ngeneration = engine\n");
  g_autoptr(RaSystem) without = load(good, NULL);
  g_autoptr(RaSystem) with = load(text, NULL);
  g_autoptr(RaSystem) other = load(habits, NULL);
  RaCluster cluster = {0};

  ck_assert_int_eq(without->constants.kernels, RA_KERNELS_COMMON);
  ck_assert_int_eq(with->constants.kernels, RA_KERNELS_TRTLLM);
  ck_assert_int_eq(other->constants.kernels, RA_KERNELS_TRTLLM);
  ra_system_apply(with, &cluster);
  ck_assert(cluster.second_stream && !cluster.habits.engine);
  ra_system_apply(other, &cluster);
  ck_assert(cluster.second_stream && cluster.habits.engine);
  ra_system_apply(without, &cluster);
  ck_assert(!cluster.second_stream && !cluster.habits.engine);
}
END_TEST

static const RaFault faults[] = {
    {"format = 1", "format = 2", "s.system:2: 'format' is '2', expected 1"},
    {"format = 1", "format = 1\nkernels = hf",
     "s.system:3: 'kernels' is 'hf', expected one of common, trtllm, sglang, "
     "vllm"},
    {"release = Tortoise 1.0\n", "",
     "s.system:1: missing key 'release' in [system], expected system and "
     "release"},
    {"rows = 3", "rows = some",
     "s.system:6: 'rows' is 'some', expected an integer of at least 0"},
    {"error-median = 0.25", "error-median = 1e308",
     "s.system:8: 'error-median' is '1e308', expected a ratio of 0 to 100, "
     "or '-' where it was not measured"},
    {"error-median = 0.25", "error-median = -0.25",
     "s.system:8: 'error-median' is '-0.25', expected a ratio of 0 to 100, "
     "or '-' where it was not measured"},
    {"decode-layer", "decode-layers",
     "s.system:10: unknown key 'decode-layers' in [constants], did you mean "
     "'decode-layer'?"},
    {"1.5 ms", "1.5",
     "s.system:10: 'decode-layer': '1.5' has no unit, expected a time in one "
     "of ns, us, ms, s, min, h, d"},
    {"2 ms", "2 s",
     "s.system:11: 'decode-stage' is '2 s', expected a quantity in [0 s, 1 "
     "s]"},
    {"compute-factor = 3", "compute-factor = 0",
     "s.system:12: 'compute-factor' is 0, expected a number in [0.1, 30]"},
    {"decode-layer = 1.5 ms\ndecode-stage = 2 ms\ncompute-factor = 3\n", "",
     "s.system:9: 0 constants of a phase, expected 1 to 4"},
    {"[constants]", "[constant]",
     "s.system:9: unknown group 'constant', did you mean 'constants'?"},
    {"[constants]\ndecode-layer = 1.5 ms\ndecode-stage = 2 ms\n"
     "compute-factor = 3\n",
     "",
     "s.system: no [constants], no [memory] and no kernels, expected one "
     "of them"},
    {"[constants]", "[memory]\ngradients = lost\n[constants]",
     "s.system:10: 'gradients' is 'lost', expected one of kept, dropped"},
};

START_TEST(test_faults)
{
  ck_assert(is_good(good, NULL));
  ra_check_faults(good, faults, G_N_ELEMENTS(faults), is_good);
}
END_TEST

/* A model of 4 equal layers, all on one GPU: no part of it is sent. */
static RaModel *
make_model(void)
{
  static const char text[] = "{\"layers\": 4, \"hidden\": 64, \"heads\": 4, "
                             "\"ffn\": 128, \"vocab\": 100}";
  RaModel *model = ra_model_parse("m.json", text, strlen(text), NULL);

  ck_assert_ptr_nonnull(model);
  return model;
}

static void
set(Bench *bench, double layer_s, double stage_s, double factor)
{
  RaSystemConstants constants = {.decode_layer_s = layer_s,
                                 .decode_stage_s = stage_s,
                                 .compute_factor = factor};

  ra_estimator_set_system(bench->estimator, &constants);
}

/* One decode step of @piece. */
static RaDecodeLine
piece_line(const Bench *bench, const RaModel *model, const RaPiece *piece,
           int launch)
{
  RaShard shard = {.model = model,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 1,
                   .dtype = RA_DTYPE_BF16,
                   .launch = (uint8_t)launch,
                   .sampling = TRUE};
  RaDecodeLine line;

  ra_estimator_decode(bench->estimator, &shard, piece, 1, 10, &line);
  return line;
}

/* Line of @n_layers layers without embedding and head. */
static RaDecodeLine
decode_line(const Bench *bench, const RaModel *model, uint32_t n_layers,
            int launch)
{
  RaPiece piece = {.n_layers = n_layers};

  return piece_line(bench, model, &piece, launch);
}

/* And with the head. */
static RaDecodeLine
head_decode(const Bench *bench, const RaModel *model, uint32_t n_layers,
            int launch)
{
  RaPiece piece = {.n_layers = n_layers, .has_head = 1};

  return piece_line(bench, model, &piece, launch);
}

static RaCost
decode(const Bench *bench, const RaModel *model, uint32_t n_layers, int launch)
{
  return decode_line(bench, model, n_layers, launch).cost;
}

/* On a device whose kernels take no time but for an attention of 1 ms a layer
 * at an empty cache, 3 layers take 3 ms.  A host of 2 ms a layer and 5 ms a
 * stage needs 3 x 2 + 5 = 11 ms, of which the device waits 8; one of 0.5 ms a
 * layer and 1 ms a stage needs 2.5 ms, which hide behind the device. */
START_TEST(test_decode)
{
  g_autoptr(Bench) bench = bench_new(
      profile_text_load("decode-attention.floor-s=1e-3", TIMELESS, NULL));
  g_autoptr(RaModel) model = make_model();
  const RaSystemConstants constants = {.decode_layer_s = 2e-3,
                                       .decode_stage_s = 5e-3,
                                       .decode_adapter_s = 1e-3,
                                       .compute_factor = 1};
  RaCost cost;

  bench_check(decode(bench, model, 3, RA_LAUNCH_EAGER).total_s, 3e-3);
  set(bench, 2e-3, 5e-3, 1);
  cost = decode(bench, model, 3, RA_LAUNCH_EAGER);
  bench_check(cost.total_s, 11e-3);
  bench_check(cost.compute_s, 3e-3);
  bench_check(cost.host_s, 8e-3);
  /* The fault: a stage counted for every layer would be 21 ms. */
  bench_check_differs(21e-3, cost.total_s);
  /* A captured graph does not come back to the host between kernels. */
  bench_check(decode(bench, model, 3, RA_LAUNCH_GRAPH).total_s, 3e-3);
  set(bench, 0.5e-3, 1e-3, 1);
  cost = decode(bench, model, 3, RA_LAUNCH_EAGER);
  bench_check(cost.total_s, 3e-3);
  ck_assert(cost.host_s == 0);
  /* 1 ms more for each layer of a model with adapters: 3 x 3 + 5 = 14 ms.  The
   * fault: as much for a model without. */
  ra_estimator_set_system(bench->estimator, &constants);
  bench_check(decode(bench, model, 3, RA_LAUNCH_EAGER).total_s, 11e-3);
  model->lora_rank = 1;
  bench_check(decode(bench, model, 3, RA_LAUNCH_EAGER).total_s, 14e-3);
  model->lora_rank = 0;
  /* No factor on what is generated. */
  set(bench, 0, 0, 4);
  bench_check(decode(bench, model, 3, RA_LAUNCH_EAGER).total_s, 3e-3);
}
END_TEST

/* The device's 3 x 1 ms, and an engine that needs 4 ms between two steps: 7
 * ms where the piece has the head, 3 on the stages before it. */
START_TEST(test_step)
{
  g_autoptr(Bench) bench = bench_new(
      profile_text_load("decode-attention.floor-s=1e-3", TIMELESS, NULL));
  g_autoptr(RaModel) model = make_model();
  const RaSystemConstants constants = {.compute_factor = 1,
                                       .decode_step_s = 4e-3};
  RaCost cost;

  ra_estimator_set_system(bench->estimator, &constants);
  cost = decode(bench, model, 3, RA_LAUNCH_GRAPH);
  bench_check(cost.total_s, 3e-3);
  cost = head_decode(bench, model, 3, RA_LAUNCH_GRAPH).cost;
  bench_check(cost.total_s, 7e-3);
  bench_check(cost.host_s, 4e-3);
  bench_check_differs(4e-3, cost.total_s); /* hidden behind the device */
  /* It needs them between two eager steps as well. */
  bench_check(head_decode(bench, model, 3, RA_LAUNCH_EAGER).cost.total_s, 7e-3);
}
END_TEST

/* The device's 3 x 1 ms and 2 ms of each of the running sequences, which
 * nothing hides: n sequences of head_decode() are 3 + 2 n ms, with a graph as
 * without. */
START_TEST(test_sequences)
{
  g_autoptr(Bench) bench = bench_new(
      profile_text_load("decode-attention.floor-s=1e-3", TIMELESS, NULL));
  g_autoptr(RaModel) model = make_model();
  const RaSystemConstants constants = {.compute_factor = 1,
                                       .decode_sequence_s = 2e-3};
  double graph_s, eager_s;

  graph_s = head_decode(bench, model, 3, RA_LAUNCH_GRAPH).cost.total_s;
  ra_estimator_set_system(bench->estimator, &constants);
  eager_s = head_decode(bench, model, 3, RA_LAUNCH_EAGER).cost.total_s;
  bench_check(head_decode(bench, model, 3, RA_LAUNCH_GRAPH).cost.total_s,
              eager_s);
  ck_assert_double_lt(fabs(remainder(eager_s - graph_s, 2e-3)), 1e-9);
  ck_assert_double_gt(eager_s, graph_s + 1e-3);
  /* Stages before the last have no engine. */
  bench_check(decode(bench, model, 3, RA_LAUNCH_GRAPH).total_s, 3e-3);
}
END_TEST

/* A batched step with a prompt of 8 tokens: norms of 2 ms, 2 a layer of 3, are
 * 12 ms of the device; a host of 5 ms a layer makes it 15, one of 3 ms a layer
 * is hidden.  Steps without prompts are of a graph and know no such host. */
START_TEST(test_prompts)
{
  g_autoptr(Bench) bench =
      bench_new(profile_text_load("memory.norm.base-s=2e-3", TIMELESS, NULL));
  g_autoptr(RaModel) model = make_model();
  RaSystemConstants constants = {.compute_factor = 1, .prefill_layer_s = 3e-3};
  RaShard shard = {.model = model,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 1,
                   .launch = RA_LAUNCH_GRAPH,
                   .sampling = TRUE};
  RaPiece piece = {.n_layers = 3};
  RaMixedBatch batch = {.chunks = {1, 8, 8, 36}, .n_sampled = 1};
  RaCost cost;

  ra_estimator_set_system(bench->estimator, &constants);
  ra_estimator_mixed(bench->estimator, &shard, &piece, &batch, &cost);
  bench_check(cost.total_s, 12e-3);
  constants.prefill_layer_s = 5e-3;
  ra_estimator_set_system(bench->estimator, &constants);
  ra_estimator_mixed(bench->estimator, &shard, &piece, &batch, &cost);
  bench_check(cost.total_s, 15e-3);
  bench_check(cost.host_s, 3e-3);
  bench_check_differs(27e-3, cost.total_s); /* after the device */
  bench_check(decode(bench, model, 3, RA_LAUNCH_GRAPH).total_s, 12e-3);
}
END_TEST

/* The wire takes 1 MB / (1e8 B/s) = 10 ms in the node; software of 5e7 B/s
 * another 20 ms.  A gradient reduction is none of its business. */
START_TEST(test_weight_sync)
{
  g_autoptr(Bench) bench = bench_new(profile_text_load(NULL, NULL));
  const RaSystemConstants constants = {.compute_factor = 1,
                                       .weight_sync_bytes_per_s = 5e7};
  RaWork works[2] = {
      {.shard = RA_NONE, .op = bench_op(RA_OP_REALLOC, 1000000, 0, 1, 0)},
      {.shard = RA_NONE, .op = bench_op(RA_OP_SEND, 1000000, 0, 1, 0)}};
  RaTaskGraph graph = {.works = works, .n_works = 2};
  RaCost before, after;

  ra_estimator_work(bench->estimator, &graph, 0, &before);
  bench_check(before.total_s, 10e-3);
  ra_estimator_set_system(bench->estimator, &constants);
  ra_estimator_work(bench->estimator, &graph, 0, &after);
  bench_check(after.total_s, 30e-3);
  bench_check_differs(20e-3, after.total_s); /* instead of the wire */
  ra_estimator_work(bench->estimator, &graph, 1, &after);
  bench_check(after.total_s, 10e-3);
}
END_TEST

/* 163,840 weights are cast in 491,560 bytes at 1e9 B/s, whatever software or
 * collectives take: 10 ms on the wire thrice, or 20 ms of software behind it.
 * The fault: a factor of collectives on the cast. */
START_TEST(test_weight_cast)
{
  g_autoptr(Bench) bench = bench_new(profile_text_load(NULL, NULL));
  const RaSystemConstants slow = {.compute_factor = 1, .comm_factor = 3};
  const RaSystemConstants sync = {.compute_factor = 1,
                                  .weight_sync_bytes_per_s = 5e7};
  const double cast_s = 491560e-9;
  RaWork work = {.shard = RA_NONE,
                 .op = bench_op(RA_OP_REALLOC, 1000000, 0, 1, 163840)};
  RaTaskGraph graph = {.works = &work, .n_works = 1};
  RaLinkUse use;
  RaCost cost;

  ra_estimator_set_system(bench->estimator, &slow);
  ra_estimator_work(bench->estimator, &graph, 0, &cost);
  bench_check(cost.total_s, 30e-3 + cast_s);
  bench_check_differs(30e-3 + 3 * cast_s, cost.total_s);
  ra_estimator_set_system(bench->estimator, &sync);
  ra_estimator_work(bench->estimator, &graph, 0, &cost);
  bench_check(cost.total_s, 30e-3 + cast_s);
  ra_estimator_link_use(bench->estimator, &work.op, FALSE, &use);
  bench_check(use.total_s, 10e-3 + cast_s);
  bench_check(use.intra_s, 10e-3);
}
END_TEST

/* A copy of 100 kB to the host, 40 kB of it the optimizer's state: those take
 * 40 ms at 1 MB/s, the other 60 kB what a copy of 60 kB takes.  The fault: the
 * state over the link as well. */
START_TEST(test_optimizer_copy)
{
  g_autoptr(Bench) bench = bench_new(profile_text_load(NULL, NULL));
  const RaSystemConstants constants = {.compute_factor = 1,
                                       .optimizer_copy_bytes_per_s = 1e6};
  const RaOp all = {.kind = RA_OP_OFFLOAD, .count = 1, .dim = {100000, 40000}};
  const RaOp rest = {.kind = RA_OP_OFFLOAD, .count = 1, .dim = {60000}};
  double all_s = ra_estimator_op_s(bench->estimator, &all);
  double rest_s = ra_estimator_op_s(bench->estimator, &rest);
  RaLinkUse use;

  ck_assert_double_gt(all_s, rest_s);
  ra_estimator_set_system(bench->estimator, &constants);
  bench_check(ra_estimator_op_s(bench->estimator, &all), rest_s + 40e-3);
  bench_check_differs(all_s + 40e-3, rest_s + 40e-3);
  bench_check(ra_estimator_op_s(bench->estimator, &rest), rest_s);
  ra_estimator_link_use(bench->estimator, &all, FALSE, &use);
  bench_check(use.total_s, rest_s + 40e-3);
}
END_TEST

/* On a device with a memory, the step of one sequence of 10 tokens grows with
 * the cache.  Behind a host that is 1 ms slower it does not, until the growth
 * has used that up: floor(1 ms / slope) tokens later. */
START_TEST(test_line)
{
  g_autoptr(Bench) bench = bench_new(profile_text_load(NULL, NULL));
  g_autoptr(RaModel) model = make_model();
  RaDecodeLine alone = decode_line(bench, model, 2, RA_LAUNCH_EAGER);
  RaDecodeLine line;

  ck_assert(alone.s_per_token > 0);
  set(bench, 0, alone.cost.total_s + 1e-3, 1);
  line = decode_line(bench, model, 2, RA_LAUNCH_EAGER);
  ck_assert(line.s_per_token == 0);
  ck_assert_uint_eq(line.until_tokens,
                    10 + (uint64_t)(line.cost.host_s / alone.s_per_token));
  bench_check(line.cost.compute_s, alone.cost.compute_s);
}
END_TEST

/* The slower of launches and system counts, not their sum: a layer of this
 * model launches L kernels of 1 ms each, so a system of half that a layer
 * changes nothing and one of twice that doubles the step. */
START_TEST(test_launches)
{
  g_autoptr(Bench) bench = bench_new(profile_text_load(
      "host.eager-launch-s=1e-3", "decode-attention.floor-s=1e-6",
      "memory.norm.base-s=1e-9", NULL));
  g_autoptr(RaModel) model = make_model();
  double alone_s = decode(bench, model, 2, RA_LAUNCH_EAGER).total_s;

  ck_assert(alone_s >= 2e-3);
  set(bench, alone_s / 4, 0, 1);
  bench_check(decode(bench, model, 2, RA_LAUNCH_EAGER).total_s, alone_s);
  set(bench, alone_s, 0, 1);
  bench_check(decode(bench, model, 2, RA_LAUNCH_EAGER).total_s, 2 * alone_s);
}
END_TEST

/* Works of a graph by hand: norms of 2 ms (4 layers x 2 norms x 2 ms = 16 ms
 * forward) take 3 times that in a call that does not sample, and as ever in one
 * that does; a single op of no call (a send, a reduction) is never scaled. */
START_TEST(test_factor)
{
  g_autoptr(Bench) bench = bench_new(profile_text_load(
      "memory.norm.base-s=2e-3", "memory.other.base-s=1e-3", TIMELESS, NULL));
  g_autoptr(RaModel) model = make_model();
  RaShard shards[2] = {{.model = model,
                        .tp = 1,
                        .tp_ranks_per_node = 1,
                        .tp_groups_per_node = 1,
                        .dtype = RA_DTYPE_BF16}};
  RaWork works[3] = {{.shard = 0,
                      .phase = RA_PHASE_FORWARD,
                      .piece = {.n_layers = 4},
                      .batch = {1, 8, 8, 36}}};
  RaTaskGraph graph = {
      .works = works, .n_works = 3, .shards = shards, .n_shards = 2};
  RaCost cost;

  shards[1] = shards[0];
  shards[1].sampling = TRUE;
  works[1] = works[0];
  works[1].shard = 1;
  works[2] =
      (RaWork){.shard = RA_NONE, .op = bench_op(RA_OP_OPTIMIZER, 9, 0, 0, 0)};
  ra_estimator_work(bench->estimator, &graph, 0, &cost);
  bench_check(cost.total_s, 16e-3);
  set(bench, 1, 1, 3);
  ra_estimator_work(bench->estimator, &graph, 0, &cost);
  bench_check(cost.total_s, 48e-3);
  bench_check_differs(16e-3, cost.total_s);
  ra_estimator_work(bench->estimator, &graph, 1, &cost);
  bench_check(cost.total_s, 16e-3);
  ra_estimator_work(bench->estimator, &graph, 2, &cost);
  bench_check(cost.total_s, 1e-3);
}
END_TEST

static Suite *
system_suite(void)
{
  Suite *suite = suite_create("system");
  TCase *tcase = tcase_create("file");

  tcase_add_test(tcase, test_fields);
  tcase_add_test(tcase, test_releases);
  tcase_add_test(tcase, test_habits);
  tcase_add_test(tcase, test_kernels);
  tcase_add_test(tcase, test_faults);
  suite_add_tcase(suite, tcase);
  tcase = tcase_create("estimator");
  tcase_add_test(tcase, test_decode);
  tcase_add_test(tcase, test_launches);
  tcase_add_test(tcase, test_step);
  tcase_add_test(tcase, test_sequences);
  tcase_add_test(tcase, test_prompts);
  tcase_add_test(tcase, test_weight_sync);
  tcase_add_test(tcase, test_weight_cast);
  tcase_add_test(tcase, test_optimizer_copy);
  tcase_add_test(tcase, test_line);
  tcase_add_test(tcase, test_factor);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(system_suite)
