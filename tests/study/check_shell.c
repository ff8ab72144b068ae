/* The shell's evaluator where bash is no oracle: what is unknown, which branch
 * is taken, limits.  shell_bash.sh has the rest. */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "study/shell/launch.h"
#include "study/shell/shell.h"
#include "tests/support/check_main.h"

/* (transfer full): `<a><b>` of each command's words behind the first, a line
 * each. */
static char *
words_of(const RaShellRun *run)
{
  GString *out = g_string_new(NULL);

  for (guint i = 0; i < run->commands->len; i++) {
    const RaShellCommand *command = run->commands->pdata[i];

    for (guint k = 1; k < command->n_words; k++) {
      g_autofree char *plain = ra_shell_plain(command->words[k].text);

      g_string_append_printf(out, "<%s>", plain);
    }
    g_string_append_c(out, '\n');
  }
  return g_string_free(out, FALSE);
}

/* Words that `show` gets. */
static const struct {
  const char *text, *want;
} unknown[] = {
    /* the environment, arguments and programs stay as they are written */
    {"show $HOME/x ${A}y $1 $(nproc)", "<${HOME}/x><${A}y><$1><$(nproc)>\n"},
    {"N=$(wc -l < hosts); show $((N * 2)) ${#N}", "<$((N * 2))><${#N}>\n"},
    /* "$@" of the script are no words, ${A:-} is nothing */
    {"show a \"$@\" b${A:-}", "<a><b>\n"},
    /* what is behind the unknown is known */
    {"P=$HOME/m/Qwen.v1; show ${P##*/} ${P%.*} $(basename $P) $(dirname $P)",
     "<Qwen.v1><${HOME}/m/Qwen><Qwen.v1><${HOME}/m>\n"},
    {"P=$1; show ${P:-d} ${1:-e} ${P##*/}", "<d><e><${P##...}>\n"},
    /* an unknown in a pattern: it matches where a known part does */
    {"[[ $HOME/Qwen == *Qwen ]] && show 1; [ -n \"x$A\" ] && show 2",
     "<1>\n<2>\n"},
    /* unset, as far as the environment goes */
    {"if [ -z \"$A\" ]; then show d; else show s; fi", "<d>\n"},
    {"if [ \"$A\" = x ]; then show x; else show other; fi", "<other>\n"},
    {"if (( $# > 1 )); then show many; else show few; fi", "<few>\n"},
    /* a check that ends the script is not taken */
    {"if [ $# -lt 2 ]; then echo usage; exit 1; fi; show on", "<on>\n"},
    {"[ -n \"$A\" ] || { echo no; exit 1; }; show on", "<on>\n"},
    {"u() { exit 1; }; [ -z \"$1\" ] && u; show on", "<on>\n"},
    {"if [ -z \"${A:-}\" ]; then exit 1; fi; show on", "<on>\n"},
    /* the branch that starts something */
    {"if [ \"$RANK\" = 0 ]; then python a.py; else show w; fi", "<a.py>\n"},
    {"case $D in npu) show n;; gpu) show g;; esac", "<g>\n"},
    {"case $D in a) show a;; *) exit 1;; esac", "<a>\n"},
    {"while [ $# -gt 0 ]; do show $1; shift; done; show end", "<end>\n"},
    /* programs are taken to work, those of other accelerators not */
    {"mkdir -p x && show a; D=$(python3 -c 'import torch_npu' 2>/dev/null && "
     "echo npu || echo gpu); show $D",
     "<-p><x>\n<a>\n<gpu>\n"},
    /* text of other shells */
    {"A=3; bash -c \"show $A\"; ssh host \"show b c\"; srun -N 2 bash -lc "
     "'show "
     "d'",
     "<3>\n<b><c>\n<d>\n"},
    {"show $(cat <<X\nk\nX\n) <(ls)", "<k><<(ls)>\n"},
    /* capitals are the environment's; what is set later is not nothing */
    {"show a=${lower} ${UPPER} $late; late=1", "<a=><${UPPER}><${late}>\n"},
    {"show ${lower:-d} $((lower + 1)); source gone.sh; show $other",
     "<d><$((lower + 1))>\n<${other}>\n"},
    /* what a template leaves open, where bash has a syntax error */
    {"P=<A_PATH>\nshow --path $P/x <NAME>\nshow <in >out",
     "<--path><<A_PATH>/x><<NAME>>\n\n"},
    /* Slurm tells what the lines on top say: 2 nodes, the last number of GPUs;
     * no range, and nothing behind the first command */
    {"#!/bin/bash\n#SBATCH --nodes=2  # all\n#SBATCH --gres=gpu:h100:8\n"
     "#SBATCH --ntasks-per-node 4\n\nshow $SLURM_NNODES "
     "$SLURM_JOB_NUM_NODES $SLURM_GPUS_ON_NODE $SLURM_NTASKS_PER_NODE\n",
     "<2><2><8><4>\n"},
    {"#SBATCH -N2-4\n#SBATCH -n 16\nset -x\n#SBATCH --cpus-per-task=9\n"
     "show $SLURM_NNODES $SLURM_NTASKS $SLURM_CPUS_PER_TASK",
     "<${SLURM_NNODES}><16><${SLURM_CPUS_PER_TASK}>\n"},
};

START_TEST(test_unknown)
{
  GError *error = NULL;
  const char *text = unknown[_i].text;
  g_autoptr(RaShell) shell =
      ra_shell_parse("run.sh", text, strlen(text), &error);
  g_autoptr(RaShellRun) run =
      shell ? ra_shell_run(shell, NULL, NULL, &error) : NULL;
  g_autofree char *got = NULL;

  ck_assert_msg(run != NULL, "%s: %s", text, error ? error->message : "?");
  got = words_of(run);
  ck_assert_msg(g_str_equal(got, unknown[_i].want), "%s: %s", text, got);
}
END_TEST

/* A log of `set -x` has the commands that ran; other lines are output. */
START_TEST(test_log)
{
  static const char text[] = "+ A=5\n"
                             "+ '[' 1 -eq 1 ']'\n"
                             "+ python3 -m x.y 'a.b=[\"p q\"]' c.d=1\n"
                             "INFO + no command\n"
                             "++ date\n"
                             "+ show 'two\nlines'\n"
                             "+ exit 0\n"
                             "+ show last\n";
  g_autoptr(RaShell) shell = ra_shell_parse("x.log", text, strlen(text), NULL);
  g_autoptr(RaShellRun) run = ra_shell_run(shell, NULL, NULL, NULL);
  g_autofree char *got = words_of(run);

  ck_assert_str_eq(got, "<-m><x.y><a.b=[\"p q\"]><c.d=1>\n\n<two\nlines>\n"
                        "<last>\n");
  ck_assert_uint_eq(((RaShellCommand *)run->commands->pdata[0])->line, 3);
}
END_TEST

/* Whatever is no script, and what would go on for ever: a line each. */
static const struct {
  const char *text, *message;
} bad[] = {
    {"a 'b\nc", "x:1: a quote is not closed: 'b"},
    {"\na \"b", "x:2: a quote is not closed: \"b"},
    {"a ${b", "x:1: '${' is not closed: ${b"},
    {"a $(b", "x:1: '$(' is not closed: $(b"},
    {"a ${b c}", "x:1: no expansion of a shell: ${b c}"},
    {"if a; then b", "x:1: expected 'fi'"},
    {"if a; b; fi", "x:1: expected 'then': fi"},
    {"for 1 in a; do b; done", "x:1: expected a variable"},
    {"a=(b", "x:1: '(' is not closed: (b"},
    {"a\nfi\n", "x:2: unexpected: fi"},
    {"a | | b", "x:1: expected a command: | b"},
    {"f() { g", "x:1: '{' is not closed"},
    {"a <", "x:1: expected a file to redirect to"},
    {"\001", "x:1: a control character, expected a script"},
    {"\xff", "x: neither YAML nor a script in UTF-8"},
    {"a=$((1 / 0))", "x:1: a division by 0 in '1 / 0'"},
    {"a=$((1 +))", "x:1: no arithmetic in '1 +'"},
    {"a=b; b=a; show $((a))", "x:1: variables that stand for each other"},
    {"f() { f; }; f", "x:1: calls nested deeper than 500"},
    {"\nwhile true; do :; done",
     "x:2: the script takes more than 1000000 steps"},
    {"for ((;;)); do :; done", "x:1: the script takes more than 1000000 steps"},
    {"a=xxxxxxxx; while true; do a=$a$a; done", "x:1: a value has more than 1 "
                                                "MiB"},
    {"a=(1 2 3); while true; do a+=(\"${a[@]}\"); done",
     "x:1: an array of more than 100000 items"},
    {"show $(seq 1 1000000)", "x:1: "},
    {"a=xxxxxxxxxxxxxxxx; for i in {1..15}; do a=$a$a; done; show ${a//x*y/z}",
     "x:1: the patterns of the script take too long"},
    {"eval 'eval \"$x\"; '; x='eval \"$x\"'; eval \"$x\"",
     "x:1: calls nested deeper than 500"},
};

START_TEST(test_bad)
{
  const char *text = bad[_i].text;
  GError *error = NULL;
  g_autoptr(RaShell) shell = ra_shell_parse("x", text, strlen(text), &error);
  g_autoptr(RaShellRun) run =
      shell ? ra_shell_run(shell, NULL, NULL, &error) : NULL;

  ck_assert_msg(run == NULL && error != NULL, "%s", text);
  ck_assert_msg(g_str_has_prefix(error->message, bad[_i].message), "%s: %s",
                text, error->message);
  ck_assert_ptr_null(strchr(error->message, '\n'));
  g_clear_error(&error);
}
END_TEST

/* 199 levels are parsed, 201 are not. */
START_TEST(test_deep)
{
  static const guint depths[] = {40, 100000};

  for (guint i = 0; i < G_N_ELEMENTS(depths); i++) {
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(RaShell) shell = NULL;
    GError *error = NULL;

    for (guint k = 0; k < depths[i]; k++)
      g_string_append(text, "$(");
    for (guint k = 0; k < depths[i]; k++)
      g_string_append(text, ")");
    shell = ra_shell_parse("x", text->str, text->len, &error);
    ck_assert(!shell == (i > 0));
    if (!shell)
      ck_assert_msg(strstr(error->message, "nested deeper than 200") != NULL,
                    "%s", error->message);
    g_clear_error(&error);
  }
}
END_TEST

/* A decision is listed, and can be made otherwise. */
START_TEST(test_flip)
{
  static const char text[] = "if [ \"$A\" = x ]; then N=4; else N=2; fi\n"
                             "case $B in p) M=1;; q|r) M=2;; esac\n"
                             "show $N $M";
  g_autoptr(RaShell) shell = ra_shell_parse("run.sh", text, strlen(text), NULL);
  g_autoptr(RaShellRun) run = ra_shell_run(shell, NULL, NULL, NULL);
  static const char *const want[] = {"<4><1>\n", "<2><2>\n"};

  ck_assert_uint_eq(run->decisions->len, 2);
  for (guint i = 0; i < 2; i++) {
    const RaShellDecision *decision = run->decisions->pdata[i];
    RaShellFlip flip = {decision->key, 1 - decision->chosen};
    g_autoptr(RaShellRun) other = ra_shell_run(shell, NULL, &flip, NULL);
    g_autofree char *got = words_of(other);

    ck_assert_uint_eq(decision->line, i + 1);
    ck_assert_str_eq(got, want[i]);
  }
  ck_assert_str_eq(((RaShellDecision *)run->decisions->pdata[1])->options[1],
                   "q|r");
}
END_TEST

/* A variable that is set from outside keeps its value. */
START_TEST(test_sets)
{
  static const char text[] = "N=${N:-1}; M=3; M=4; show $N $M $((M * 2)) $K";
  static const char *const sets[] = {"N=8", "M=5", "a.b=2", NULL};
  g_autoptr(RaShell) shell = ra_shell_parse("run.sh", text, strlen(text), NULL);
  g_autoptr(RaShellRun) run = ra_shell_run(shell, sets, NULL, NULL);
  g_autofree char *got = words_of(run);

  ck_assert_str_eq(got, "<8><5><10><${K}>\n");
  ck_assert(g_hash_table_contains(run->used, "N"));
  ck_assert(!g_hash_table_contains(run->used, "Z"));
}
END_TEST

/* Files next to the script are sourced; where one sources itself, it is
 * told. */
START_TEST(test_source)
{
  g_autofree char *folder = g_dir_make_tmp("check_shell_XXXXXX", NULL);
  static const char *const files[][2] = {
      {"a.sh", "X=from-a; F() { show in-$1; }; return; X=no"},
      {"b.sh", "show b $1 $#"},
      {"c.sh", ". ./d.sh"},
      {"d.sh", "source \"$(dirname \"${BASH_SOURCE[0]}\")/c.sh\""},
  };
  g_autofree char *base = g_path_get_basename(folder);
  g_autofree char *text = g_strdup_printf(
      "D=\"$(cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" && pwd)\"\n"
      "source \"$D/a.sh\"; show $X; F y; . ./nothing.sh\n"
      "bash b.sh p; X=; source /elsewhere/%s/a.sh; show $X",
      base);
  g_autofree char *name = g_build_filename(folder, "run.sh", NULL);
  g_autofree char *got = NULL;
  g_autoptr(RaShell) shell = NULL, cycle = NULL;
  g_autoptr(RaShellRun) run = NULL;
  GError *error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = g_build_filename(folder, files[i][0], NULL);

    ck_assert(g_file_set_contents(path, files[i][1], -1, NULL));
  }
  shell = ra_shell_parse(name, text, strlen(text), NULL);
  run = ra_shell_run(shell, NULL, NULL, &error);
  ck_assert_msg(run != NULL, "%s", error ? error->message : "?");
  got = words_of(run);
  ck_assert_str_eq(got, "<from-a>\n<in-y>\n<b><p><1>\n<from-a>\n");
  ck_assert_uint_eq(run->notes->len, 1);
  ck_assert_ptr_nonnull(strstr(run->notes->pdata[0], "'./nothing.sh'"));
  cycle = ra_shell_parse(name, "source c.sh", 11, NULL);
  ck_assert_ptr_null(ra_shell_run(cycle, NULL, NULL, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "sources itself"));
  g_clear_error(&error);
  for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = g_build_filename(folder, files[i][0], NULL);

    ck_assert_int_eq(g_remove(path), 0);
  }
  ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

/* Entry, number of arguments and launcher's flags of a command. */
static const struct {
  const char *text, *entry;
  guint n_settings;
  const char *flags;
} launches[] = {
    {"python3 -m a.b c.d=1 --e 2 -f", "a.b", 2, ""},
    {"python -u -X dev x/y.py k=v", "x/y.py", 1, ""},
    {"A=b CUDA_VISIBLE_DEVICES=0 python y.py a.b=1", "y.py", 1, ""},
    {"uv run --frozen --extra vllm python3 -m a.b c.d=1", "a.b", 1, ""},
    {"uv run --isolated --extra fsdp -m a.b c.d=1 e.f=2", "a.b", 2, ""},
    {"uv run examples/run.py --config c.yaml a.b=1", "examples/run.py", 2, ""},
    {"ray job submit --no-wait --runtime-env=r.yaml -- python3 -m a.b c.d=1",
     "a.b", 1, ""},
    {"torchrun --nnodes=2 --nproc-per-node 8 --standalone -m a.b c.d=1", "a.b",
     1, "program=torchrun nnodes=2 nproc_per_node=8 "},
    {"python -m torch.distributed.run --nnodes 2 t.py --x 1", "t.py", 1,
     "program=torch.distributed.run nnodes=2 "},
    {"accelerate launch --num_processes 4 --multi_gpu t.py --x", "t.py", 1,
     "program=accelerate num_processes=4 "},
    {"deepspeed --num_gpus 8 --module o.cli --x 1 --y 2", "o.cli", 2,
     "program=deepspeed num_gpus=8 "},
    {"srun -N 2 --ntasks-per-node=1 nohup env Q=1 python3 -m a.b c.d=1", "a.b",
     1, "program=srun N=2 ntasks_per_node=1 "},
    {"mpirun -np 16 python t.py a.b=1", "t.py", 1, "program=mpirun np=16 "},
    {"numactl --cpunodebind 0 stdbuf -oL time python t.py a.b=1", "t.py", 1,
     ""},
    {"docker exec box bash -c 'cd /x && python t.py a.b=1'", "t.py", 1, ""},
    {"${PYTHON} t.py a.b=1", "t.py", 1, ""},
    {"trl grpo --x 1 --y", "trl grpo", 2, ""},
    {"accelerate launch --num_processes 4 trl sft --x 1", "trl sft", 1,
     "program=accelerate num_processes=4 "},
    {"/isaac/python.sh -m a.b c.d=1", "a.b", 1, ""},
    {"exec python3 -m a.b c.d=1", "a.b", 1, ""},
    {"prog a.b=1 c=2", "prog", 2, ""},
    /* the one with most settings; of Python before others */
    {"python p.py --out x\npython t.py a.b=1 c.d=2\npython e.py --in y", "t.py",
     2, ""},
    {"python t.py --x 1\nprog a.b=1 c.d=2", "t.py", 1, ""},
    /* none */
    {"pip install x; python -m pip install --y; python -c 'a.b=1'", NULL, 0,
     ""},
    {"git commit -m x.y; ray start --num-gpus 8", NULL, 0, ""},
};

START_TEST(test_launch)
{
  const char *text = launches[_i].text;
  g_autoptr(RaShell) shell = ra_shell_parse("run.sh", text, strlen(text), NULL);
  g_autoptr(RaShellRun) run = ra_shell_run(shell, NULL, NULL, NULL);
  g_autoptr(RaLaunch) launch = ra_launch_find(run, NULL);
  g_autoptr(GString) flags = g_string_new(NULL);

  if (!launches[_i].entry) {
    ck_assert_msg(launch == NULL, "%s: %s", text, launch ? launch->entry : "");
    return;
  }
  ck_assert_msg(launch != NULL, "%s", text);
  ck_assert_str_eq(launch->entry, launches[_i].entry);
  ck_assert_uint_eq(launch->n_settings, launches[_i].n_settings);
  for (guint i = 0; i < launch->flags->len; i++) {
    const RaLaunchFlag *flag = &g_array_index(launch->flags, RaLaunchFlag, i);

    g_string_append_printf(flags, "%s=%s ", flag->key, flag->text);
  }
  ck_assert_str_eq(flags->str, launches[_i].flags);
}
END_TEST

int
main(void)
{
  Suite *suite = suite_create("shell");
  TCase *tcase = tcase_create("shell");

  tcase_add_loop_test(tcase, test_unknown, 0, G_N_ELEMENTS(unknown));
  tcase_add_test(tcase, test_log);
  tcase_add_loop_test(tcase, test_bad, 0, G_N_ELEMENTS(bad));
  tcase_add_test(tcase, test_deep);
  tcase_add_test(tcase, test_flip);
  tcase_add_test(tcase, test_sets);
  tcase_add_test(tcase, test_source);
  tcase_add_loop_test(tcase, test_launch, 0, G_N_ELEMENTS(launches));
  suite_add_tcase(suite, tcase);
  return ra_check_run(suite);
}
