/* Vision towers: FLOP against PyTorch, cuts, memory, images of prompts. */
#include "config.h"

#include "graph/input/model_vision.h"
#include "graph/input/plan.h"
#include "graph/op/activation.h"
#include "tests/support/check_main.h"
#include "tests/support/workload_sample.h"

/* Three towers of three layers of 64 elements and 4 heads before a text model
 * of 96, on one image of 16 x 24 patches.  `flop` is what PyTorch 2.15 counts
 * (torch.utils.flop_counter.FlopCounterMode) in a forward pass of transformers
 * 5.24's Qwen2VisionTransformerPretrainedModel,
 * Qwen2_5_VisionTransformerPretrainedModel and Qwen3VLVisionModel of these
 * sizes: convolution, addmm and scaled_dot_product_attention.  `n_params` are
 * their parameters. */
static const struct {
  RaVision vision;
  double flop;
  uint64_t n_params;
} towers[] = {
    {{RA_VISION_QWEN2, 3, 64, 4, 256, 3 * 2 * 14 * 14, 2, 0, 0, 0, 0},
     57802752.0 + 130547712 + 113246208,
     315808},
    {{RA_VISION_QWEN2_5, 3, 64, 4, 96, 3 * 2 * 14 * 14, 2, 0, 0, 64, 1},
     57802752.0 + 97517568 + 50331648,
     272160},
    {{RA_VISION_QWEN3, 3, 64, 4, 96, 3 * 2 * 16 * 16, 2, 64, 2, 0, 0},
     75497472.0 + 117964800 + 113246208,
     463040},
};

#define TOKENS 96 /* 16 x 24 / 2^2 */

static RaModel *
tower_model(guint i)
{
  RaModelShape shape;
  RaModel *model;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 2;
  shape.hidden = 96;
  shape.heads = 4;
  shape.vocab = 1000;
  model = ra_model_from_shape(&shape, NULL);
  ck_assert_ptr_nonnull(model);
  model->vision = towers[i].vision;
  model->image_tokens = TOKENS;
  model->n_images = 1;
  model->prompt_tokens = 128;
  return model;
}

static const RaPiece first = {.has_embedding = 1};

/* GEMMs and attention of @ops. */
static double
sum_flop(const RaOp *ops, guint n_ops)
{
  double flop = 0;

  for (guint i = 0; i < n_ops; i++) {
    if (ops[i].kind == RA_OP_GEMM || ops[i].kind == RA_OP_ATTENTION ||
        ops[i].kind == RA_OP_ATTENTION_BACKWARD)
      flop += ops[i].count * ra_op_flop(&ops[i]);
  }
  return flop;
}

/* Those of the first stage without layers, of @n prompts of 128 tokens. */
static double
list_flop(const RaShard *shard, RaPhase phase, uint32_t n)
{
  const RaBatch batch = {n, n * 128, n * 128, n * 128 * 129 / 2};
  RaOp ops[RA_OP_LIST_MAX];

  return sum_flop(ops, ra_op_list(shard, &first, phase, &batch, ops));
}

/* The same of a step of continuous batching with a chunk of 32 tokens. */
static double
chunk_flop(const RaShard *shard)
{
  const RaBatch chunk = {1, 32, 128, 32 * 112}, none = {0, 0, 0, 0};
  RaOp ops[RA_OP_LIST_MAX];

  return sum_flop(ops,
                  ra_op_list_step(shard, &first, &chunk, &chunk, &none, ops));
}

/* Forward: as PyTorch, of two prompts twice it.  Backward: two GEMMs for each,
 * and 2.5 times attention, whose scores are computed again (graph/op/op.h);
 * full recomputation adds the layers but neither patches nor mergers.  Cut by
 * 2 ranks: all but the patches' product is half.  Four chunks of a prompt have
 * the images of one.  No image: nothing. */
START_TEST(test_flop)
{
  for (guint i = 0; i < G_N_ELEMENTS(towers); i++) {
    g_autoptr(RaModel) model = tower_model(i);
    RaShard shard = {.model = model, .tp = 1}, full = shard, half = shard;
    double patches = 2.0 * 384 * 64 * towers[i].vision.patch_elements;
    double mergers =
        (1.0 + towers[i].vision.n_deep) * 2 * 96 * 256 * (256 + 96);
    double whole = list_flop(&shard, RA_PHASE_FORWARD, 1);
    double pairs = 384.0 * 384 * 3, back;

    if (i == 1)
      pairs = 384.0 * (384 + 2 * 64);
    ck_assert_double_eq(whole, towers[i].flop);
    ck_assert_double_eq(list_flop(&shard, RA_PHASE_FORWARD, 2), 2 * whole);
    back = 2 * whole + 0.5 * 4 * 64 * pairs;
    ck_assert_double_eq(list_flop(&shard, RA_PHASE_BACKWARD, 1), back);
    full.recompute = RA_RECOMPUTE_FULL;
    ck_assert_double_eq(list_flop(&full, RA_PHASE_BACKWARD, 1),
                        back + whole - patches - mergers);
    half.tp = 2;
    ck_assert_double_eq(list_flop(&half, RA_PHASE_FORWARD, 1),
                        (whole - patches) / 2 + patches);
    ck_assert_double_eq(4 * chunk_flop(&shard), whole);
    ck_assert_double_eq(list_flop(&shard, RA_PHASE_DECODE, 1), 0);
    model->image_tokens = 0;
    ck_assert_double_eq(list_flop(&shard, RA_PHASE_FORWARD, 1), 0);
  }
}
END_TEST

/* Model FLOP by which images add to @flop. */
static double
added_flop(RaModel *model, double (*flop)(const RaModel *, const RaBatch *))
{
  const RaBatch batch = {1, 128, 128, 128 * 129 / 2};
  double with = flop(model, &batch), without;

  model->image_tokens = 0;
  without = flop(model, &batch);
  model->image_tokens = TOKENS;
  return with - without;
}

/* Model FLOP have the tower's besides those of the text: three times in
 * training, once where adapters are trained and it is not, never in decode,
 * whose prompts have been computed. */
START_TEST(test_model_flop)
{
  for (guint i = 0; i < G_N_ELEMENTS(towers); i++) {
    g_autoptr(RaModel) model = tower_model(i);
    double flop = towers[i].flop;

    ck_assert_double_eq(added_flop(model, ra_model_forward_flop), flop);
    ck_assert_double_eq(added_flop(model, ra_model_prefill_flop), flop);
    ck_assert_double_eq(added_flop(model, ra_model_decode_flop), 0);
    ck_assert_double_eq(added_flop(model, ra_model_train_flop), 3 * flop);
    model->lora_rank = 8;
    ck_assert_double_eq(added_flop(model, ra_model_train_flop), flop);
  }
}
END_TEST

/* Tensors add up to PyTorch's parameters; those of a stage with the embedding
 * are all, or on one of 2 ranks half of what is cut. */
START_TEST(test_params)
{
  for (guint i = 0; i < G_N_ELEMENTS(towers); i++) {
    g_autoptr(RaModel) model = tower_model(i);
    RaShard shard = {.model = model, .tp = 1};
    uint64_t sum = 0, whole = 0;

    for (guint32 t = 0; t < ra_model_n_tensors(model); t++) {
      RaTensor tensor;

      ra_model_tensor(model, t, &tensor);
      if (tensor.kind != RA_TENSOR_VISION)
        continue;
      sum += tensor.rows * tensor.cols;
      whole += tensor.split == RA_SPLIT_NONE ? tensor.rows * tensor.cols : 0;
    }
    ck_assert_uint_eq(sum, towers[i].n_params);
    ck_assert_uint_eq(ra_model_vision_n_params(model, 1), sum);
    ck_assert_uint_eq(ra_piece_n_params(&shard, &first), sum + 1000 * 96);
    shard.tp = 2;
    ck_assert_uint_eq(ra_piece_n_params(&shard, &first),
                      (sum - whole) / 2 + whole + 1000 * 96 / 2);
  }
}
END_TEST

/* Kept for the backward with full recomputation, in elements of 2 bytes: the
 * input of each layer, 384 x 64; the patches; of the merger the input of its
 * norm with a root of 4 bytes a row, and three of 96 x 256, of its two products
 * and what stands between.  Its backward holds a layer more.  Of adapters'
 * models nothing. */
START_TEST(test_memory)
{
  const RaBatch batch = {1, 128, 128, 128 * 129 / 2};
  g_autoptr(RaModel) model = tower_model(0);
  RaShard shard = {.model = model, .tp = 1};
  uint64_t all = ra_activation_bytes(&shard, &first, &batch);

  shard.recompute = RA_RECOMPUTE_FULL;
  ck_assert_uint_eq(ra_activation_bytes(&shard, &first, &batch),
                    3 * 384 * 64 * 2 + 384 * 1176 * 2 + 384 * (64 * 2 + 4) +
                        3 * 96 * 256 * 2);
  ck_assert_uint_ge(
      ra_workspace_bytes(&shard, &first, RA_PHASE_BACKWARD, &batch),
      (all - 384 * 1176 * 2) / 4);
  ck_assert_uint_gt(all, 3 * 3 * 384 * 64 * 2);
  model->lora_rank = 8;
  shard.recompute = RA_RECOMPUTE_NONE;
  ck_assert_uint_eq(ra_activation_bytes(&shard, &first, &batch), 0);
}
END_TEST

/* Images are given to the models with a tower. */
START_TEST(test_workload)
{
  g_autofree char *seen = ra_edit(good, "config = llama-2-7b.json",
                                  "config = Qwen/Qwen2.5-VL-7B-Instruct");
  g_autofree char *text = ra_edit(seen, "prompt-length",
                                  "images = 2\nimage-tokens = 80\n"
                                  "prompt-length");
  g_autoptr(GError) error = NULL;
  RaWorkload *workload = workload_from(text, &error);

  ck_assert_msg(workload != NULL, "%s", error ? error->message : "");
  ck_assert_uint_eq(workload->models[0].model->image_tokens, 80);
  ck_assert_uint_eq(workload->models[1].model->image_tokens, 0);
  ck_assert_uint_eq(ra_vision_patches(workload->models[0].model, 3), 3 * 320);
  ck_assert_uint_eq(ra_vision_image_patches(workload->models[0].model), 160);
  ra_workload_free(workload);
}
END_TEST

static Suite *
vision_suite(void)
{
  Suite *suite = suite_create("vision");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_flop);
  tcase_add_test(tcase, test_model_flop);
  tcase_add_test(tcase, test_params);
  tcase_add_test(tcase, test_memory);
  tcase_add_test(tcase, test_workload);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(vision_suite)
