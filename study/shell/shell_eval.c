/* Evaluation of a shell's tree: commands, conditions, loops, functions. */
#include "config.h"

#include "base/text.h"
#include "study/shell/launch.h"
#include "study/shell/shell_impl.h"

#define SHOWN_MAX 80 /* bytes of a source that stands for a value */
#define LOOK_DEPTH 3 /* functions that are looked into */

/* ---- What a branch would do ---------------------------------------------- */

static const char *
literal(const RaShellText *text)
{
  return text && text->parts && !text->parts->next &&
                 text->parts->kind == RA_SHELL_PART_TEXT
             ? text->parts->text
             : "";
}

/* TRUE if running @node ends the script or the function. */
static gboolean
ends(RaShellEval *e, const RaShellNode *node, guint depth)
{
  const char *name;
  const RaShellNode *body;

  if (!node || depth > LOOK_DEPTH)
    return FALSE;
  switch (node->kind) {
  case RA_SHELL_LIST:
  case RA_SHELL_GROUP:
    for (const RaShellNode *child = node->a; child; child = child->next) {
      if (ends(e, child, depth))
        return TRUE;
    }
    return FALSE;
  case RA_SHELL_SIMPLE:
    name = literal(node->words);
    if (g_str_equal(name, "exit"))
      return TRUE;
    if (g_str_equal(name, "return")) /* with what is a failure */
      return strspn(literal(node->words->next), "0") !=
             strlen(literal(node->words->next));
    body = g_hash_table_lookup(e->functions, name);
    return body && ends(e, body, depth + 1);
  default:
    return FALSE;
  }
}

static gboolean launches(RaShellEval *e, const RaShellNode *node, guint depth);

static gboolean
words_launch(RaShellEval *e, const RaShellNode *node, guint depth)
{
  static const char *const signs[] = {"python", "torchrun", "deepspeed",
                                      "accelerate", ".py"};
  const RaShellNode *body =
      g_hash_table_lookup(e->functions, literal(node->words));

  if (body && launches(e, body, depth + 1))
    return TRUE;
  for (const RaShellText *text = node->words; text; text = text->next) {
    for (const RaShellPart *part = text->parts; part; part = part->next) {
      for (guint i = 0;
           part->kind == RA_SHELL_PART_TEXT && i < G_N_ELEMENTS(signs); i++) {
        if (strstr(part->text, signs[i]))
          return TRUE;
      }
    }
    if (g_str_equal(literal(text), "-m"))
      return TRUE;
  }
  return FALSE;
}

/* TRUE if @node may start a program of Python. */
static gboolean
launches(RaShellEval *e, const RaShellNode *node, guint depth)
{
  if (depth > LOOK_DEPTH)
    return FALSE;
  for (; node; node = node->next) {
    if (node->kind == RA_SHELL_SIMPLE) {
      if (words_launch(e, node, depth))
        return TRUE;
      continue;
    }
    for (const RaShellCase *item = node->cases; item; item = item->next) {
      if (launches(e, item->body, depth))
        return TRUE;
    }
    if (node->kind != RA_SHELL_FUNCTION &&
        (launches(e, node->a, depth) || launches(e, node->b, depth) ||
         launches(e, node->c, depth)))
      return TRUE;
  }
  return FALSE;
}

/* ---- Decisions ----------------------------------------------------------- */

static char *
shown(RaShellEval *e, const char *begin, gsize n_bytes)
{
  g_autofree char *text = g_strndup(begin, n_bytes);
  g_autofree char *plain = ra_shell_plain(text);
  g_autoptr(GString) out = g_string_new(NULL);

  for (const char *p = plain; *p; p++) {
    gboolean is_blank = g_ascii_isspace(*p) || g_ascii_iscntrl(*p);

    if (!is_blank)
      g_string_append_c(out, *p);
    else if (out->len > 0 && out->str[out->len - 1] != ' ')
      g_string_append_c(out, ' ');
  }
  if (out->len > SHOWN_MAX) {
    g_string_truncate(out, (gsize)ra_text_head(out->str, SHOWN_MAX));
    g_string_append(out, "...");
  }
  return ra_arena_strdup(e->arena, out->str);
}

/* Branch chosen: one that was chosen before or is wanted by the caller counts,
 * else @chosen. */
static guint
decide(RaShellEval *e, const RaShellNode *node, const char *what,
       const char **options, guint n_options, guint chosen)
{
  const char *key =
      ra_shell_printf(e->arena, "%s:%u:%" G_GSIZE_FORMAT, node->file,
                      node->line, node->offset + node->n_bytes);
  RaShellDecision *decision;

  if (e->flip && g_str_equal(e->flip->key, key) && e->flip->option < n_options)
    return e->flip->option;
  if (!g_hash_table_add(e->decided, (gpointer)key))
    return chosen;
  decision = ra_arena_alloc(e->arena, 1, sizeof *decision);
  *decision = (RaShellDecision){key,    what,       options,   n_options,
                                chosen, node->file, node->line};
  g_ptr_array_add(e->run->decisions, decision);
  return chosen;
}

/* TRUE if @yes is run, else @no (both nullable). */
static gboolean
decide_branch(RaShellEval *e, const RaShellNode *node,
              const RaShellNode *condition, const RaShellNode *yes,
              const RaShellNode *no, RaShellTruth truth)
{
  static const char *options[] = {"true", "false"};
  gboolean yes_starts = launches(e, yes, 0), no_starts = launches(e, no, 0);
  gboolean yes_ends = ends(e, yes, 0) && !yes_starts;
  gboolean no_ends = ends(e, no, 0) && !no_starts;
  gboolean chosen;

  if (yes_ends != no_ends)
    chosen = no_ends;
  else if (yes_starts != no_starts)
    chosen = yes_starts;
  else
    chosen = truth != RA_SHELL_MAYBE_NO;
  return decide(e, node, shown(e, condition->begin, condition->n_bytes),
                options, 2, chosen ? 0 : 1) == 0;
}

/* ---- Subshells, functions ------------------------------------------------ */

/* State that a subshell may change: its changes are lost. */
typedef struct {
  GHashTable *variables;
  RaShellWords args;
  const char *cwd;
} Subshell;

static void
subshell_begin(RaShellEval *e, Subshell *saved)
{
  GHashTable *copy = g_hash_table_new(g_str_hash, g_str_equal);
  GHashTableIter iter;
  gpointer name, value;

  g_hash_table_iter_init(&iter, e->variables);
  while (g_hash_table_iter_next(&iter, &name, &value))
    g_hash_table_insert(copy, name, value);
  *saved = (Subshell){e->variables, e->args, e->cwd};
  e->variables = copy;
}

static void
subshell_end(RaShellEval *e, Subshell *saved)
{
  g_hash_table_unref(e->variables);
  e->variables = saved->variables;
  e->args = saved->args;
  e->cwd = saved->cwd;
  e->flow = RA_SHELL_FLOW_NONE;
}

static void
restore_locals(RaShellEval *e, guint n)
{
  while (e->locals->len > n) {
    const char *name = e->locals->pdata[e->locals->len - 2];
    gpointer value = e->locals->pdata[e->locals->len - 1];

    if (value)
      g_hash_table_replace(e->variables, (gpointer)name, value);
    else
      g_hash_table_remove(e->variables, name);
    g_ptr_array_set_size(e->locals, (gint)e->locals->len - 2);
  }
}

static void
call(RaShellEval *e, const RaShellNode *body, const RaShellWord *words, guint n)
{
  RaShellWords args = e->args;
  gboolean args_unknown = e->args_unknown;
  guint n_locals = e->locals->len;

  e->args = (RaShellWords){(RaShellWord *)words + 1, n - 1, n - 1};
  e->args_unknown = FALSE;
  ra_shell_done(e, RA_SHELL_YES, 0);
  ra_shell_eval(e, body);
  restore_locals(e, n_locals);
  e->args = args;
  e->args_unknown = args_unknown;
  if (e->flow == RA_SHELL_FLOW_RETURN)
    e->flow = RA_SHELL_FLOW_NONE;
}

const char *
ra_shell_substitute(RaShellEval *e, const RaShellPart *part)
{
  g_autoptr(GString) text = g_string_new(NULL);
  GString *out = e->out;
  gboolean is_impure = e->is_impure, was_impure;
  Subshell saved;

  if (!ra_shell_step(e))
    return "";
  e->out = text;
  e->is_impure = FALSE;
  e->n_substitutions++;
  subshell_begin(e, &saved);
  ra_shell_eval(e, part->body);
  subshell_end(e, &saved);
  e->n_substitutions--;
  was_impure = e->is_impure;
  e->out = out;
  e->is_impure = is_impure;
  if (was_impure) {
    ra_shell_done(e, RA_SHELL_MAYBE_YES, 0);
    return ra_shell_unknown(e, shown(e, part->text, strlen(part->text)), NULL);
  }
  while (text->len > 0 && text->str[text->len - 1] == '\n')
    g_string_truncate(text, text->len - 1);
  return ra_arena_strdup(e->arena, text->str);
}

void
ra_shell_eval_text(RaShellEval *e, const char *text)
{
  gsize n = strlen(text);
  RaShellNode *tree;

  if (e->depth++ > RA_SHELL_CALLS_MAX) {
    ra_shell_fail(e, "calls nested deeper than %d", RA_SHELL_CALLS_MAX);
    e->depth--;
    return;
  }
  tree = ra_shell_tree(e->arena, e->file, text, n, e->line,
                       e->error ? NULL : &e->error);
  if (tree)
    ra_shell_eval(e, tree);
  e->depth--;
}

/* ---- Simple commands ----------------------------------------------------- */

static void
record(RaShellEval *e, const RaShellNode *node, const RaShellWords *words)
{
  RaShellCommand *command = ra_arena_alloc(e->arena, 1, sizeof *command);

  *command = (RaShellCommand){words->at, words->n, node->file, node->line};
  g_ptr_array_add(e->run->commands, command);
}

/* Programs of another make of accelerators are not there: its scripts look for
 * it so. */
static gboolean
is_npu(const RaShellWords *words)
{
  for (guint i = 0; i < words->n; i++) {
    if (strstr(words->at[i].text, "torch_npu") ||
        strstr(words->at[i].text, "npu-smi"))
      return TRUE;
  }
  return FALSE;
}

static void
run_program(RaShellEval *e, const RaShellNode *node, const RaShellWords *words)
{
  guint i = ra_launch_shell(words->at, words->n);
  gboolean is_text =
      i < words->n && i > 0 && g_str_has_prefix(words->at[i - 1].text, "-");

  if (is_npu(words) && words->n <= 4) {
    ra_shell_done(e, RA_SHELL_MAYBE_NO, 1);
    return;
  }
  ra_shell_done(e, RA_SHELL_MAYBE_YES, 0);
  e->is_impure = TRUE;
  if (e->n_substitutions > 0)
    return;
  if (i < words->n) {
    Subshell saved;

    subshell_begin(e, &saved);
    if (is_text || strpbrk(words->at[i].text, " \n"))
      ra_shell_eval_text(e, words->at[i].text);
    else
      ra_shell_read_file(e, words->at + i, words->n - i, TRUE);
    subshell_end(e, &saved);
    ra_shell_done(e, RA_SHELL_MAYBE_YES, 0);
    return;
  }
  record(e, node, words);
}

/* `command -v X`, `type X` */
static gboolean
is_look_up(const RaShellWords *words)
{
  static const char *const names[] = {"type", "which", NULL};

  return g_strv_contains(names, words->at[0].text) ||
         (words->n > 1 && g_str_equal(words->at[0].text, "command") &&
          g_ascii_strcasecmp(words->at[1].text, "-v") == 0);
}

static void
run_words(RaShellEval *e, const RaShellNode *node, RaShellWords words)
{
  const RaShellNode *body;

  while (words.n > 1 &&
         (g_str_equal(words.at[0].text, "builtin") ||
          (g_str_equal(words.at[0].text, "command") && !is_look_up(&words)))) {
    words.at++;
    words.n--;
  }
  body = g_hash_table_lookup(e->functions, words.at[0].text);
  if (body) {
    call(e, body, words.at, words.n);
  } else if (is_look_up(&words)) {
    e->is_impure = TRUE;
    ra_shell_done(e, is_npu(&words) ? RA_SHELL_MAYBE_NO : RA_SHELL_MAYBE_YES,
                  0);
  } else if (!ra_shell_builtin(e, node, words.at, words.n) &&
             !ra_shell_program(e, words.at, words.n)) {
    run_program(e, node, &words);
    if (g_str_equal(words.at[0].text, "exec") && words.n > 1 &&
        e->flow == RA_SHELL_FLOW_NONE)
      e->flow = RA_SHELL_FLOW_EXIT;
  }
}

static void
eval_assigns(RaShellEval *e, const RaShellNode *node)
{
  ra_shell_done(e, RA_SHELL_YES, 0);
  for (const RaShellAssign *a = node->assigns; a; a = a->next)
    ra_shell_assign(e, a);
  if (!node->assigns && node->redirects && e->n_substitutions > 0)
    e->is_impure = TRUE; /* $(<file) */
}

static void
eval_simple(RaShellEval *e, const RaShellNode *node)
{
  g_autoptr(GPtrArray) before = g_ptr_array_new();
  RaShellWords words = {NULL, 0, 0};
  guint i = 0;

  if (!node->words) {
    eval_assigns(e, node);
    return;
  }
  ra_shell_expand(e, node->words, &words);
  if (e->error || words.n == 0) {
    eval_assigns(e, node);
    return;
  }
  for (const RaShellAssign *a = node->assigns; a; a = a->next) {
    g_ptr_array_add(before, g_hash_table_lookup(e->variables, a->name));
    ra_shell_assign(e, a);
  }
  e->line = node->line;
  run_words(e, node, words);
  for (const RaShellAssign *a = node->assigns; a; a = a->next) {
    if (before->pdata[i])
      g_hash_table_replace(e->variables, (gpointer)a->name, before->pdata[i]);
    else
      g_hash_table_remove(e->variables, a->name);
    i++;
  }
}

/* ---- Compound commands --------------------------------------------------- */

/* Nothing but tests: both sides of && can be evaluated. */
static gboolean
is_test(const RaShellNode *node)
{
  const char *name;

  if (!node)
    return FALSE;
  switch (node->kind) {
  case RA_SHELL_TEST:
  case RA_SHELL_ARITH:
    return TRUE;
  case RA_SHELL_NOT:
    return is_test(node->a);
  case RA_SHELL_AND:
  case RA_SHELL_OR:
    return is_test(node->a) && is_test(node->b);
  case RA_SHELL_LIST:
  case RA_SHELL_GROUP:
    return node->a && !node->a->next && is_test(node->a);
  case RA_SHELL_SIMPLE:
    name = literal(node->words);
    return g_str_equal(name, "[") || g_str_equal(name, "test") ||
           g_str_equal(name, "true") || g_str_equal(name, "false");
  default:
    return FALSE;
  }
}

/* Three values: @is_or of a and b. */
static RaShellTruth
combine(RaShellTruth a, RaShellTruth b, gboolean is_or)
{
  if (is_or)
    return ra_shell_not(combine(ra_shell_not(a), ra_shell_not(b), FALSE));
  if (a == RA_SHELL_NO || b == RA_SHELL_NO)
    return RA_SHELL_NO;
  if (a == RA_SHELL_MAYBE_NO || b == RA_SHELL_MAYBE_NO)
    return RA_SHELL_MAYBE_NO;
  if (a == RA_SHELL_MAYBE || b == RA_SHELL_MAYBE)
    return RA_SHELL_MAYBE;
  return a == RA_SHELL_YES ? b : a;
}

static void
eval_and_or(RaShellEval *e, const RaShellNode *node)
{
  gboolean is_or = node->kind == RA_SHELL_OR, runs;
  RaShellTruth left;

  ra_shell_eval(e, node->a);
  left = e->status;
  if (e->flow || e->error)
    return;
  if (left == (is_or ? RA_SHELL_YES : RA_SHELL_NO))
    return;
  if (RA_SHELL_IS_KNOWN(left)) {
    ra_shell_eval(e, node->b);
    return;
  }
  if (is_test(node->b)) {
    ra_shell_eval(e, node->b);
    ra_shell_done(e, combine(left, e->status, is_or), 1);
    return;
  }
  runs = is_or ? !decide_branch(e, node, node->a, NULL, node->b, left)
               : decide_branch(e, node, node->a, node->b, NULL, left);
  if (runs)
    ra_shell_eval(e, node->b);
}

static void
eval_if(RaShellEval *e, const RaShellNode *node)
{
  RaShellTruth truth;
  gboolean is_true;

  ra_shell_eval(e, node->a);
  if (e->flow || e->error)
    return;
  truth = e->status;
  ra_shell_done(e, RA_SHELL_YES, 0);
  is_true = RA_SHELL_IS_KNOWN(truth)
                ? truth == RA_SHELL_YES
                : decide_branch(e, node, node->a, node->b, node->c, truth);
  if (is_true)
    ra_shell_eval(e, node->b);
  else if (node->c)
    ra_shell_eval(e, node->c);
}

/* Behind a pass of a loop: TRUE if the loop ends. */
static gboolean
ends_loop(RaShellEval *e)
{
  gboolean is_break = e->flow == RA_SHELL_FLOW_BREAK;

  if (!is_break && e->flow != RA_SHELL_FLOW_CONTINUE)
    return e->flow != RA_SHELL_FLOW_NONE || e->error;
  if (e->flow_levels-- > 1)
    return TRUE;
  e->flow = RA_SHELL_FLOW_NONE;
  return is_break;
}

/* An unknown condition does not hold, but for a body that starts something: it
 * is evaluated once. */
static void
eval_while(RaShellEval *e, const RaShellNode *node)
{
  while (ra_shell_step(e)) {
    RaShellTruth truth;

    ra_shell_eval(e, node->a);
    if (e->flow || e->error)
      return;
    truth = node->flag ? ra_shell_not(e->status) : e->status;
    if (!RA_SHELL_IS_KNOWN(truth)) {
      if (launches(e, node->b, 0)) {
        ra_shell_eval(e, node->b);
        ends_loop(e);
      }
      break;
    }
    if (truth == RA_SHELL_NO)
      break;
    ra_shell_eval(e, node->b);
    if (ends_loop(e))
      return;
  }
  ra_shell_done(e, RA_SHELL_YES, 0);
}

static void
eval_for(RaShellEval *e, const RaShellNode *node)
{
  RaShellWords words = {NULL, 0, 0};

  if (node->flag)
    words = e->args;
  else
    ra_shell_expand(e, node->words, &words);
  ra_shell_done(e, RA_SHELL_YES, 0);
  for (guint i = 0; i < words.n && ra_shell_step(e); i++) {
    ra_shell_set_text(e, node->name, words.at[i].text);
    ra_shell_eval(e, node->a);
    if (ends_loop(e))
      break;
  }
}

static void
eval_cfor(RaShellEval *e, const RaShellNode *node)
{
  const RaShellText *test = node->words->next, *next = test->next;
  gint64 n;

  ra_shell_arith(e, ra_shell_expand_one(e, node->words), &n);
  while (ra_shell_step(e)) {
    const char *text = ra_shell_expand_one(e, test);

    if (text[strspn(text, " \t\n")]) {
      gboolean is_known = ra_shell_arith(e, text, &n);

      if (is_known && !n)
        break;
      if (!is_known) { /* one pass */
        ra_shell_eval(e, node->a);
        ends_loop(e);
        break;
      }
    }
    ra_shell_eval(e, node->a);
    if (ends_loop(e))
      break;
    ra_shell_arith(e, ra_shell_expand_one(e, next), &n);
  }
  if (!e->flow)
    ra_shell_done(e, RA_SHELL_YES, 0);
}

/* Index of the item of @subject; n: none. */
static guint
find_case(RaShellEval *e, const RaShellNode *node, const char *subject)
{
  guint i = 0;

  for (const RaShellCase *item = node->cases; item; item = item->next, i++) {
    for (const RaShellText *p = item->patterns; p; p = p->next) {
      if (ra_shell_match(e, ra_shell_expand_pattern(e, p, FALSE), subject,
                         NULL))
        return i;
    }
  }
  return i;
}

/* The item of an unknown subject: as with branches. */
static guint
guess_case(RaShellEval *e, const RaShellNode *node, const char *subject,
           const char **options, guint n)
{
  const char *guess = ra_shell_guess(e, subject);
  guint guessed = guess ? find_case(e, node, guess) : n, i = 0;
  guint first = n, chosen, n_starting = 0, starting = n;
  gboolean guess_ends = FALSE;

  for (const RaShellCase *item = node->cases; item; item = item->next, i++) {
    gboolean starts = launches(e, item->body, 0);
    gboolean is_end = ends(e, item->body, 0) && !starts;

    options[i] = item->label;
    n_starting += starts;
    if (starts && starting == n)
      starting = i;
    if (!is_end && (first == n || strstr(options[first], "npu")))
      first = i; /* profiles are of GPUs */
    guess_ends |= is_end && i == guessed;
  }
  options[n] = "none of them";
  chosen = guessed < n && !guess_ends ? guessed : first;
  if (n_starting == 1 || (n_starting > 0 && n_starting < n))
    chosen = starting;
  return decide(e, node, shown(e, node->begin, strcspn(node->begin, "\n")),
                options, n + 1, chosen);
}

static void
eval_case(RaShellEval *e, const RaShellNode *node)
{
  const char *subject = ra_shell_expand_one(e, node->words);
  guint n = 0, at;
  const RaShellCase *item = node->cases;

  for (; item; item = item->next)
    n++;
  at = find_case(e, node, subject);
  if (ra_shell_has_region(subject)) {
    const char **options = ra_arena_alloc(e->arena, n + 1, sizeof *options);

    at = guess_case(e, node, subject, options, n);
  }
  ra_shell_done(e, RA_SHELL_YES, 0);
  for (item = node->cases; item && at > 0; at--)
    item = item->next;
  for (; item && !e->flow && !e->error; item = item->next) {
    ra_shell_eval(e, item->body);
    if (!item->falls_through)
      break;
  }
}

/* The output of a stage is the input of the next. */
static void
eval_pipe(RaShellEval *e, const RaShellNode *node)
{
  const char *input = e->input;
  gboolean is_impure = e->is_impure, known = TRUE;

  for (const RaShellNode *stage = node->a; stage && !e->error;
       stage = stage->next) {
    g_autoptr(GString) text = g_string_new(NULL);
    GString *out = e->out;
    Subshell saved;

    e->is_impure = FALSE;
    if (stage->next)
      e->out = text;
    subshell_begin(e, &saved);
    ra_shell_eval(e, stage);
    subshell_end(e, &saved);
    e->out = out;
    known = !e->is_impure;
    e->input = known ? ra_arena_strdup(e->arena, text->str) : NULL;
  }
  e->is_impure = is_impure || !known;
  e->input = input;
}

static void
dispatch(RaShellEval *e, const RaShellNode *node)
{
  Subshell saved;

  switch (node->kind) {
  case RA_SHELL_SIMPLE:
    eval_simple(e, node);
    break;
  case RA_SHELL_LIST:
  case RA_SHELL_GROUP:
    for (const RaShellNode *child = node->a; child && !e->flow && !e->error;
         child = child->next)
      ra_shell_eval(e, child);
    break;
  case RA_SHELL_AND:
  case RA_SHELL_OR:
    eval_and_or(e, node);
    break;
  case RA_SHELL_NOT:
    ra_shell_eval(e, node->a);
    ra_shell_done(e, ra_shell_not(e->status), 1);
    break;
  case RA_SHELL_PIPE:
    eval_pipe(e, node);
    break;
  case RA_SHELL_IF:
    eval_if(e, node);
    break;
  case RA_SHELL_WHILE:
    eval_while(e, node);
    break;
  case RA_SHELL_FOR:
    eval_for(e, node);
    break;
  case RA_SHELL_CFOR:
    eval_cfor(e, node);
    break;
  case RA_SHELL_CASE:
    eval_case(e, node);
    break;
  case RA_SHELL_FUNCTION:
    g_hash_table_replace(e->functions, (gpointer)node->name, node->a);
    ra_shell_done(e, RA_SHELL_YES, 0);
    break;
  case RA_SHELL_SUBSHELL:
    subshell_begin(e, &saved);
    ra_shell_eval(e, node->a);
    subshell_end(e, &saved);
    break;
  case RA_SHELL_ARITH:
    ra_shell_done(
        e, ra_shell_arith_truth(e, ra_shell_expand_one(e, node->words)), 1);
    break;
  case RA_SHELL_TEST:
  default:
    ra_shell_done(e, ra_shell_test_tree(e, node->test), 1);
  }
}

void
ra_shell_eval(RaShellEval *e, const RaShellNode *node)
{
  const char *input = e->input;
  GString *out = e->out;
  g_autoptr(GString) away = NULL;
  gboolean is_impure = e->is_impure, has_input = FALSE;

  if (!node || e->flow || !ra_shell_step(e))
    return;
  if (++e->depth > RA_SHELL_CALLS_MAX) {
    ra_shell_fail(e, "calls nested deeper than %d", RA_SHELL_CALLS_MAX);
    return;
  }
  e->file = node->file;
  e->line = node->line;
  for (const RaShellRedirect *r = node->redirects; r; r = r->next) {
    if (r->input) {
      g_autofree char *text = g_strconcat(ra_shell_expand_one(e, r->input),
                                          r->delimiter ? "" : "\n", NULL);

      e->input = ra_arena_strdup(e->arena, text);
      has_input = TRUE;
    } else if (r->is_stdin) {
      e->input = NULL;
      has_input = TRUE;
    }
    if (r->is_stdout && !away)
      e->out = away = g_string_new(NULL);
  }
  dispatch(e, node);
  if (has_input)
    e->input = input;
  e->out = out;
  if (away)
    e->is_impure = is_impure; /* nothing of it is seen */
  e->depth--;
}
