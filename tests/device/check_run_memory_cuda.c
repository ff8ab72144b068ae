/* Tests of the memory of bf16 runs on the emulated device, against the account.
 */
#include "config.h"

#include <stdio.h>

#include "exec/backend/backend_cuda.h"
#include "graph/input/plan.h"
#include "graph/op/activation.h"
#include "kernels/sample.h"
#include "tests/emulator/memory.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define GPU "mesh = node0:gpu0\n"

#define WORKLOAD(PROMPT, RESPONSE)                                             \
  "[workload]\nformat = 1\nalgorithm = test\ndataset = prompts\n"              \
  "prompts = 3\nprompt-length = " PROMPT "\nresponse-length = " RESPONSE       \
  "\nmini-batches = 1\n"
#define FIXED WORKLOAD("fixed(1)", "fixed(12)")
#define DRAWN WORKLOAD("uniform(1, 24)", "uniform(1, 40)")

static const struct {
  const char *algorithm, *generate, *workload;
} layouts[] = {
    {"sft", NULL, FIXED},
    {"grpo", NULL, FIXED},
    {"grpo", GPU "launch = graph\n", FIXED},
    {"grpo", NULL, DRAWN},
    {"grpo", GPU "launch = graph\n", DRAWN},
    {"grpo", GPU "kv-block = 3\n", DRAWN},
    {"ppo", NULL, DRAWN},
};

/* Each part of a slab is rounded up, and there are some ten; a region has 2 KiB
 * more for its arrays. */
#define ROUNDED_BYTES (16 * 256 + 2048)

/* Memory of the emulated device that a process takes, and the pages around an
 * array (tests/emulator/memory.cc), of some twenty arrays. */
#define CONTEXT_BYTES ((guint64)64 << 20)
#define PAGES_BYTES (24 * 2 * 4096)

/* The memory in use on the device is that without a rank, what the rank says
 * that it took, and its tables of positions, which are less than a page. Its
 * ops have a workspace, and in twice the room that they need sums of 256 rows
 * of 64 and what the blocks that sample 12 sequences leave each other; besides,
 * six rooms of a page or little more, each with smaller ones that it replaced,
 * which together are no larger. The fault: without the workspace, 256 KiB, it
 * would not be. */
static void
check_device(const RaRunMemory *m)
{
  guint64 taken = m->slab_bytes + m->beyond_bytes + m->ops_bytes;
  gsize workspace = ra_backend_cuda()->workspace_bytes();
  gsize rooms = 2 * 256 * 64 * 4 + 2 * ra_k_sample_workspace(12) + 2 * 6 * 4096;

  ck_assert_uint_ge(m->ops_bytes, workspace);
  ck_assert_uint_le(m->ops_bytes, workspace + rooms);
  ck_assert_uint_ge(m->device_bytes, CONTEXT_BYTES + taken);
  ck_assert_uint_le(m->device_bytes, CONTEXT_BYTES + taken + PAGES_BYTES);
  ck_assert_uint_gt(m->device_bytes,
                    CONTEXT_BYTES + taken - workspace + PAGES_BYTES);
}

/* 12 sequences of 12 tokens: a captured step is of 16 and in one piece.  (A
 * fault: of an account of 12, or with the cache in the middle of its region, 62
 * to 70 KiB of the steps are beside the slab; with room for the longest of the
 * drawn lengths for all of them, 256 to 320 KiB of the cache; with what a layer
 * makes apart until it has ended, 320 KiB of prefills.) */
START_TEST(test_slab)
{
  RunSpec spec = {.algorithm = layouts[_i].algorithm,
                  .config = "run-memory.json",
                  .all = GPU,
                  .generate = layouts[_i].generate,
                  .train = "grad-dtype = fp32\n",
                  .n_iterations = 2,
                  .seed = 1,
                  .head = layouts[_i].workload,
                  .dtype = "dtype = bf16"};
  const RaAccelerator device = {.backend = ra_backend_cuda(),
                                .name = "emulated GPU",
                                .memory_bytes = RA_EMU_MEMORY_BYTES,
                                .probe = ra_probe_machine_cuda()};
  RunFixture *f = run_fixture_new(&spec);
  RaRunMemory m;

  f->options.backend = ra_backend_cuda();
  f->options.accelerator = &device;
  run_fixture_go(f);
  ra_run_memory(f->run, 0, &m);
  fprintf(stderr,
          "# %s: account %.3f MiB, slab %.3f, beside it %.3f, states %.3f, "
          "passes %.3f; ops %.3f, device %.3f\n",
          layouts[_i].algorithm, (double)m.account_bytes / 0x1p20,
          (double)m.slab_bytes / 0x1p20, (double)m.beyond_bytes / 0x1p20,
          (double)m.states_bytes / 0x1p20, (double)m.passes_bytes / 0x1p20,
          (double)m.ops_bytes / 0x1p20, (double)m.device_bytes / 0x1p20);
  ck_assert_uint_ge(m.slab_bytes, m.account_bytes);
  ck_assert_uint_le(m.slab_bytes, m.account_bytes + ROUNDED_BYTES);
  ck_assert_uint_eq(m.beyond_bytes, 0);
  check_device(&m);
  run_fixture_free(f);
}
END_TEST

/* A step's sample of 5 sequences: a residual stream of 16 elements of bf16 and
 * 64 logits, which are drawn from in fp32: 5 x (32 + 128 + 256).  As a graph it
 * is of 8; of 8 it is as it is; a prefill, prompts among the sequences and rows
 * that ranks share leave it of 5. */
START_TEST(test_graph_step)
{
  const RaPiece head = {.n_layers = 0, .has_head = 1};
  const RaBatch five = {5, 5, 0, 0}, eight = {8, 8, 0, 0}, mixed = {5, 9, 0, 0};
  static const uint32_t launched[] = {1, 2, 4, 4, 8, 8, 8, 8, 16};
  const uint64_t sequence_bytes = 32 + 128 + 256;
  RaModelShape shape;
  g_autoptr(RaModel) model = NULL;
  RaShard s = {.tp = 1, .sampling = 1, .dtype = RA_DTYPE_BF16};
  uint64_t mixed_bytes;

  for (uint32_t i = 0; i < G_N_ELEMENTS(launched); i++)
    ck_assert_uint_eq(ra_graph_sequences(i + 1), launched[i]);
  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 2;
  shape.hidden = 16;
  shape.heads = 2;
  shape.kv_heads = 2;
  shape.ffn = 32;
  shape.vocab = 64;
  s.model = model = ra_model_from_shape(&shape, NULL);
  ck_assert_uint_eq(ra_workspace_bytes(&s, &head, RA_PHASE_DECODE, &five),
                    5 * sequence_bytes);
  mixed_bytes = ra_workspace_bytes(&s, &head, RA_PHASE_DECODE, &mixed);
  s.launch = RA_LAUNCH_GRAPH;
  ck_assert_uint_eq(ra_workspace_bytes(&s, &head, RA_PHASE_DECODE, &five),
                    8 * sequence_bytes);
  ck_assert_uint_eq(ra_workspace_bytes(&s, &head, RA_PHASE_DECODE, &eight),
                    8 * sequence_bytes);
  ck_assert_uint_eq(ra_workspace_bytes(&s, &head, RA_PHASE_FORWARD, &five),
                    5 * sequence_bytes);
  ck_assert_uint_eq(ra_workspace_bytes(&s, &head, RA_PHASE_DECODE, &mixed),
                    mixed_bytes);
  s.sequence_parallel = TRUE;
  ck_assert_uint_eq(ra_workspace_bytes(&s, &head, RA_PHASE_DECODE, &five),
                    5 * sequence_bytes);
}
END_TEST

/* The backward of a layer holds most in attention: of each of 3 tokens a
 * residual stream of 16 elements of bf16, gradients of 48 of q, k and v and of
 * 16 of the output, and what the device's kernel asks for, in floats: gradients
 * of q in fp32 and two more for each of 2 heads.  The MLP has fewer, 128 + 64
 * bytes against 96 + 32 + 80. */
START_TEST(test_attention_backward)
{
  static const uint32_t begin[] = {0, 3};
  const RaPiece layer = {.n_layers = 1};
  const RaBatch batch = {1, 3, 3, 6};
  const RaCpuAttention attention = {.n_sequences = 1,
                                    .begin = begin,
                                    .q_heads = 2,
                                    .kv_heads = 2,
                                    .head_dim = 8,
                                    .stride = 48};
  gsize n = ra_backend_cuda()->attention_workspace(&attention, TRUE);
  RaModelShape shape;
  g_autoptr(RaModel) model = NULL;
  RaShard s = {.tp = 1, .loss = TRUE, .dtype = RA_DTYPE_BF16};

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 2;
  shape.hidden = 16;
  shape.heads = 2;
  shape.kv_heads = 2;
  shape.ffn = 32;
  shape.vocab = 64;
  s.model = model = ra_model_from_shape(&shape, NULL);
  ck_assert_uint_eq(n, 3 * (16 + 2 * 2));
  ck_assert_uint_eq(ra_workspace_bytes(&s, &layer, RA_PHASE_BACKWARD, &batch),
                    3 * (16 + 48 + 16) * 2 + n * sizeof(float));
}
END_TEST

static Suite *
run_memory_cuda_suite(void)
{
  Suite *suite = suite_create("run_memory_cuda");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_slab, 0, G_N_ELEMENTS(layouts));
  tcase_add_test(tcase, test_graph_step);
  tcase_add_test(tcase, test_attention_backward);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(run_memory_cuda_suite)
