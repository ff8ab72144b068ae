/* The sample plan of check_plan and check_plan_bad, with its workload and
 * cluster.
 *
 *     tcase_add_checked_fixture(tcase, setup, teardown);
 *     ... plan_from(good, &error) ...
 */
#ifndef RA_TESTS_SUPPORT_PLAN_SAMPLE_H
#define RA_TESTS_SUPPORT_PLAN_SAMPLE_H

#include <stdio.h>
#include <string.h>

#include "graph/input/plan.h"
#include "tests/support/check_edit.h"

/* LLaMA-2-13B: 40 layers, 40 heads, as many kv heads, MLP 13,824 wide.
 * LLaMA-2-70B: 80 layers, 64 heads, 8 kv heads, MLP 28,672 wide.  All calls
 * but `score` work on 96 sequences; generate and score run in 3 parts. */
static const char workload_text[] =
    "[workload]\nalgorithm = x\ndataset = prompts\nprompts = 96\n"
    "prompt-length = fixed(100)\nresponse-length = fixed(50)\n"
    "mini-batches = 4\n"
    "[model actor]\nconfig = llama-2-13b.json\ntrainable = true\n"
    "[model judge]\nconfig = llama-2-70b.json\ndtype = fp16\n"
    "[call generate]\nmodel = actor\nkind = generate\ninputs = prompts\n"
    "outputs = sequences\n"
    "[call score]\nmodel = judge\nkind = inference\n"
    "inputs = sequences:chunk(3)\noutputs = scores\n"
    "[call verify]\nkind = host\nhost-time = 1 s\ninputs = sequences\n"
    "outputs = verdicts\n"
    "[call train]\nmodel = actor\nkind = train\n"
    "inputs = sequences, scores, verdicts\n";

static const char cluster_text[] =
    "[cluster]\nnodes = 4\ngpus-per-node = 8\ngpu = h100-sxm\n"
    "nics-per-node = 8\nnic = 400 Gbit/s\n";

static const char good[] = "[plan]\n"                        /* 1 */
                           "format = 1\n"                    /* 2 */
                           "workload = w.workload\n"         /* 3 */
                           "cluster = c.cluster\n"           /* 4 */
                           "[call generate]\n"               /* 5 */
                           "mesh = node[0-1]\n"              /* 6 */
                           "dp = 4\n"                        /* 7 */
                           "tp = 2\n"                        /* 8 */
                           "pp = 2\n"                        /* 9 */
                           "launch = graph\n"                /* 10 */
                           "[call score]\n"                  /* 11 */
                           "mesh = node2\n"                  /* 12 */
                           "tp = 8\n"                        /* 13 */
                           "micro-batches = 16\n"            /* 14 */
                           "[call train]\n"                  /* 15 */
                           "mesh = node[0-1]\n"              /* 16 */
                           "dp = 2\n"                        /* 17 */
                           "tp = 4  # of a node\n"           /* 18 */
                           "pp = 2\n"                        /* 19 */
                           "micro-batches = 6\n"             /* 20 */
                           "schedule = interleaved:2\n"      /* 21 */
                           "sequence-parallel = true\n"      /* 22 */
                           "recompute = selective\n"         /* 23 */
                           "zero = 1\n"                      /* 24 */
                           "grad-dtype = fp32\n"             /* 25 */
                           "overlap-grad-reduce = true\n"    /* 26 */
                           "rank-order = dp-tp-pp\n"         /* 27 */
                           "stage-layers = 11, 10, 10, 9\n"; /* 28 */

enum { GENERATE, SCORE, VERIFY, TRAIN };

static RaWorkload *workload;
static RaCluster *cluster;

static inline RaKeyFile *
key_file(const char *name, const char *text)
{
  GError *error = NULL;
  RaKeyFile *file = ra_key_file_parse(name, text, strlen(text), &error);

  ck_assert_msg(file != NULL, "%s", error ? error->message : "");
  return file;
}

static inline void
setup(void)
{
  RaKeyFile *file = key_file("w.workload", workload_text);
  GError *error = NULL;

  workload = ra_workload_load(file, &error);
  ck_assert_msg(workload != NULL, "%s", error ? error->message : "");
  ra_key_file_unref(file);
  file = key_file("c.cluster", cluster_text);
  cluster = ra_cluster_load(file, &error);
  ck_assert_msg(cluster != NULL, "%s", error ? error->message : "");
  ra_key_file_unref(file);
}

static inline void
teardown(void)
{
  ra_workload_free(workload);
  ra_cluster_free(cluster);
}

static inline RaPlan *
plan_from(const char *text, GError **error)
{
  RaKeyFile *file = ra_key_file_parse("x.plan", text, strlen(text), error);
  RaPlan *plan;

  if (!file)
    return NULL;
  plan = ra_plan_load(file, workload, cluster, error);
  ra_key_file_unref(file);
  return plan;
}

static inline gboolean
load(const char *text, GError **error)
{
  RaPlan *plan = plan_from(text, error);
  gboolean good_text = plan != NULL;

  ra_plan_free(plan);
  return good_text;
}

#endif
