/* The plan of the residency tests: PPO on one node. */
#ifndef RA_TESTS_SUPPORT_RESIDENCY_SAMPLE_H
#define RA_TESTS_SUPPORT_RESIDENCY_SAMPLE_H

#include <glib.h>

#define HEAD                                                                   \
  "[workload]\nformat = 1\nalgorithm = ppo\ndataset = prompts\n"               \
  "prompts = 32\nprompt-length = fixed(16)\nresponse-length = fixed(48)\n"     \
  "mini-batches = 2\n"

#define CALL(name, keys) "[call " name "]\n" keys "\n"
#define TP4 "mesh = node0\ndp = 2\ntp = 4\n"
#define TP2 "mesh = node0\ndp = 4\ntp = 2\n"
#define HOST "residency = host\n"
#define KEEP "residency = keep\n"

/* One node; gen and val in tp 4, training in tp 2: both are reallocated. */
static inline char *
plan_text(const char *gen, const char *ref, const char *rew, const char *atrain)
{
  return g_strconcat("[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                     "[call gen]\n" TP4,
                     gen, "[call ref]\n" TP4, ref, "[call rew]\n" TP4, rew,
                     CALL("val", TP4) "[call atrain]\n" TP2, atrain,
                     CALL("ctrain", TP2), NULL);
}

#endif
