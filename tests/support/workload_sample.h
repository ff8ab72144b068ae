/* The sample workload of check_workload and check_workload_bad.
 *
 *     RaWorkload *workload = workload_from(good, &error);
 */
#ifndef RA_TESTS_SUPPORT_WORKLOAD_SAMPLE_H
#define RA_TESTS_SUPPORT_WORKLOAD_SAMPLE_H

#include <stdio.h>
#include <string.h>

#include "graph/input/workload.h"
#include "tests/support/check_edit.h"

/* PPO with two models and its calls in reverse order. */
static const char good[] = "[workload]\n"                             /* 1 */
                           "format = 1\n"                             /* 2 */
                           "algorithm = ppo\n"                        /* 3 */
                           "dataset = prompts\n"                      /* 4 */
                           "prompts = 96\n"                           /* 5 */
                           "samples-per-prompt = 2\n"                 /* 6 */
                           "prompt-length = fixed(100)\n"             /* 7 */
                           "response-length = uniform(1, 50)\n"       /* 8 */
                           "mini-batches = 24\n"                      /* 9 */
                           "staleness = 1\n"                          /* 10 */
                           "[model actor]\n"                          /* 11 */
                           "config = llama-2-7b.json\n"               /* 12 */
                           "trainable = true\n"                       /* 13 */
                           "[model ref]\n"                            /* 14 */
                           "config = llama-3-8b.json\n"               /* 15 */
                           "head = value\n"                           /* 16 */
                           "dtype = fp16\n"                           /* 17 */
                           "[call actor_train]\n"                     /* 18 */
                           "model = actor\n"                          /* 19 */
                           "kind = train\n"                           /* 20 */
                           "inputs = logprobs:chunk(6), sequences\n"  /* 21 */
                           "epochs = 3\n"                             /* 22 */
                           "[call ref_inference]\n"                   /* 23 */
                           "model = ref\n"                            /* 24 */
                           "kind = inference\n"                       /* 25 */
                           "inputs = prompts, sequences : chunk(4)\n" /* 26 */
                           "outputs = logprobs, scores\n"             /* 27 */
                           "[call check]\n"                           /* 28 */
                           "kind = host\n"                            /* 29 */
                           "host-time = 250 ms\n"                     /* 30 */
                           "inputs = sequences:whole\n"               /* 31 */
                           "outputs = verdicts\n"                     /* 32 */
                           "[call actor_generate]\n"                  /* 33 */
                           "model = actor\n"                          /* 34 */
                           "kind = generate\n"                        /* 35 */
                           "inputs = prompts\n"                       /* 36 */
                           "outputs = sequences\n"                    /* 37 */
    ;

static inline RaWorkload *
workload_from(const char *text, GError **error)
{
  RaKeyFile *file = ra_key_file_parse("x.workload", text, strlen(text), error);
  RaWorkload *workload;

  if (!file)
    return NULL;
  workload = ra_workload_load(file, error);
  ra_key_file_unref(file);
  return workload;
}

static inline gboolean
load(const char *text, GError **error)
{
  RaWorkload *workload = workload_from(text, error);
  gboolean good_text = workload != NULL;

  ra_workload_free(workload);
  return good_text;
}

#endif
