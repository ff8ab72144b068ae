/* Private parts of the shell, shared by study/shell/shell*.c: the tree, the
 * state of an evaluation. */
#ifndef RA_STUDY_SHELL_SHELL_IMPL_H
#define RA_STUDY_SHELL_SHELL_IMPL_H

#include <string.h>

#include "base/arena.h"
#include "study/shell/shell.h"

#define RA_SHELL_DEPTH_MAX 200       /* of the tree */
#define RA_SHELL_CALLS_MAX 500       /* nodes that are being evaluated */
#define RA_SHELL_STEPS_MAX 1000000   /* commands and expansions */
#define RA_SHELL_TEXT_MAX (1u << 20) /* bytes of one value */
#define RA_SHELL_BYTES_MAX (64u << 20)
#define RA_SHELL_MATCHED_MAX 20000000 /* characters: half a second */
#define RA_SHELL_ITEMS_MAX 100000     /* words of one command or array */
#define RA_SHELL_SOURCES_MAX 10       /* files that source each other */

typedef struct _RaShellNode RaShellNode;
typedef struct _RaShellPart RaShellPart;
typedef struct _RaShellText RaShellText;
typedef struct _RaShellTest RaShellTest;

typedef enum {
  RA_SHELL_PART_TEXT,
  RA_SHELL_PART_PARAM,   /* $a, ${a...} */
  RA_SHELL_PART_COMMAND, /* $(...) */
  RA_SHELL_PART_ARITH    /* $((...)) */
} RaShellPartKind;

struct _RaShellPart {
  RaShellPartKind kind;
  gboolean quoted;    /* neither split nor a pattern */
  const char *text;   /* TEXT; PARAM: name; else source */
  const char *op;     /* PARAM: "", ":-", "%%", "//", ":" ... */
  gboolean is_length; /* PARAM: ${#a} */
  gboolean is_indirect;
  char all;                    /* PARAM: '@' or '*' of ${a[@]} */
  RaShellText *index;          /* PARAM: nullable */
  RaShellText *first, *second; /* PARAM: nullable; ARITH: first */
  RaShellNode *body;           /* COMMAND */
  RaShellPart *next;
};

/* name=value, name[index]+=value, name=(items) */
typedef struct _RaShellAssign {
  const char *name;
  RaShellText *index; /* nullable */
  RaShellText *value; /* scalar: one; array: a list; nullable */
  gboolean is_array, is_append;
  guint line;
  struct _RaShellAssign *next;
} RaShellAssign;

/* Word as written. */
struct _RaShellText {
  RaShellPart *parts;
  RaShellAssign *assign; /* nullable: of declare, export ... */
  RaShellText *key;      /* nullable: [key]=... in an array */
  guint line;
  RaShellText *next;
};

typedef struct _RaShellRedirect {
  RaShellText *input;    /* nullable: here-document, here-string */
  const char *delimiter; /* here-document: waits for its body */
  gboolean is_literal, strips_tabs;
  gboolean is_stdout; /* of >, &>: what is printed is not seen */
  gboolean is_stdin;
  guint line;
  struct _RaShellRedirect *next;
} RaShellRedirect;

typedef struct _RaShellCase {
  RaShellText *patterns;
  RaShellNode *body;
  const char *label; /* source of the patterns */
  gboolean falls_through;
  struct _RaShellCase *next;
} RaShellCase;

/* Expression of [[ ]]. */
struct _RaShellTest {
  const char *op; /* "&&", "||", "!", "-z", "==", "=~" ... ; "": -n */
  RaShellTest *left, *right;
  RaShellText *a, *b;
};

typedef enum {
  RA_SHELL_SIMPLE,
  RA_SHELL_LIST, /* first, its siblings */
  RA_SHELL_AND,
  RA_SHELL_OR,
  RA_SHELL_NOT,
  RA_SHELL_PIPE,
  RA_SHELL_IF, /* a, b, c: condition, then, else */
  RA_SHELL_WHILE,
  RA_SHELL_FOR,
  RA_SHELL_CFOR, /* words: three expressions */
  RA_SHELL_CASE,
  RA_SHELL_FUNCTION,
  RA_SHELL_GROUP,
  RA_SHELL_SUBSHELL,
  RA_SHELL_ARITH,
  RA_SHELL_TEST
} RaShellNodeKind;

struct _RaShellNode {
  RaShellNodeKind kind;
  const char *file;
  guint line;
  const char *begin; /* source */
  gsize n_bytes;
  gsize offset; /* of the source in its file */
  RaShellNode *a, *b, *c;
  RaShellNode *next;      /* sibling in a list, pipeline */
  RaShellText *words;     /* SIMPLE, FOR, CASE, ARITH, CFOR */
  RaShellAssign *assigns; /* SIMPLE */
  RaShellCase *cases;
  RaShellRedirect *redirects;
  RaShellTest *test;
  const char *name; /* FOR, FUNCTION */
  gboolean flag;    /* WHILE: until; FOR: no list */
};

/* ---- Values -------------------------------------------------------------- */

typedef struct {
  const char *key; /* index in decimal, or key */
  RaShellWord word;
} RaShellItem;

/* Immutable: an assignment makes another.  n == 0 and no array: unset. */
typedef struct {
  RaShellItem *items;
  guint n;
  gboolean is_array, is_keyed;
  gboolean is_pinned; /* by an override */
} RaShellValue;

/* Three-valued, with a guess: what holds if the environment has nothing. */
typedef enum {
  RA_SHELL_NO,
  RA_SHELL_YES,
  RA_SHELL_MAYBE_NO,
  RA_SHELL_MAYBE_YES,
  RA_SHELL_MAYBE
} RaShellTruth;

#define RA_SHELL_IS_KNOWN(truth) ((truth) <= RA_SHELL_YES)

typedef enum {
  RA_SHELL_FLOW_NONE,
  RA_SHELL_FLOW_BREAK,
  RA_SHELL_FLOW_CONTINUE,
  RA_SHELL_FLOW_RETURN,
  RA_SHELL_FLOW_EXIT
} RaShellFlow;

/* Words, in the arena of the run. */
typedef struct {
  RaShellWord *at;
  guint n, n_max;
} RaShellWords;

typedef struct {
  RaShellRun *run;
  RaArena *arena;
  GHashTable *variables; /* name -> RaShellValue, borrowed */
  GHashTable *functions; /* name -> RaShellNode */
  GHashTable *decided;   /* keys of decisions */
  GPtrArray *locals;     /* names and old values, in pairs */
  const RaShellFlip *flip;
  const char *file, *script; /* of the current command; canonical, of $0 */
  const char *source;        /* canonical path of the current file */
  const char *text;          /* of the script */
  gboolean misses_file;      /* what it sources was not found */
  const char *folder;        /* what a sourced file must be below */
  guint line;
  RaShellWords args;     /* $1 ... */
  gboolean args_unknown; /* of the script itself */
  const char *cwd;
  RaShellTruth status;
  int exit_code;
  RaShellFlow flow;
  guint flow_levels;
  GString *out;          /* nullable: stdout is kept */
  gboolean is_impure;    /* stdout has what only a run can tell */
  guint n_substitutions; /* $( that this is in */
  const char *input;     /* nullable: stdin */
  gboolean guessing;     /* regions stand for their guesses */
  guint depth, arith_depth;
  GPtrArray *sources; /* canonical paths that are being read */
  guint n_steps;
  guint64 n_matched; /* characters that patterns looked at */
  GError *error;
} RaShellEval;

/* ---- Parser -------------------------------------------------------------- */

/* Tree of @text in @arena, with lines from @line; nested: of `eval`, which may
 * have regions.  NULL with @error, or for an empty script. */
RaShellNode *ra_shell_tree(RaArena *arena, const char *name, const char *text,
                           gsize n_bytes, guint line, GError **error);

typedef struct {
  RaArena *arena;
  const char *name;
  const char *text, *at, *end;
  guint line, depth;
  GPtrArray *pending; /* (element-type RaShellRedirect) here-documents */
  GError **error;
  gboolean failed;
} RaShellParser;

typedef enum {
  RA_SHELL_MODE_WORD,
  RA_SHELL_MODE_BRACE,   /* to } */
  RA_SHELL_MODE_PATTERN, /* to / or } */
  RA_SHELL_MODE_OFFSET,  /* to : or } */
  RA_SHELL_MODE_INDEX,   /* to ] */
  RA_SHELL_MODE_QUOTE,   /* to " */
  RA_SHELL_MODE_HERE,    /* to the end */
  RA_SHELL_MODE_ARITH,   /* to the end */
  RA_SHELL_MODE_REGEX    /* of =~, to a blank outside of parentheses */
} RaShellMode;

void ra_shell_parser_fail(RaShellParser *p, guint line, const char *at,
                          const char *what);
RaShellText *ra_shell_parse_text(RaShellParser *p, RaShellMode mode,
                                 gboolean in_quotes);
/* Bytes of `<NAME>` at the end of a line, where bash has a syntax error and a
 * template wants a name; 0: it is none. */
gsize ra_shell_placeholder(const RaShellParser *p);
/* Behind the `))` of the `((` that ends at @at; NULL: no arithmetic. */
const char *ra_shell_arith_end(const RaShellParser *p, const char *at);
RaShellNode *ra_shell_parse_list(RaShellParser *p);
RaShellTest *ra_shell_parse_test(RaShellParser *p);
void ra_shell_skip_blank(RaShellParser *p);
void ra_shell_skip_lines(RaShellParser *p);
#define RA_SHELL_IS_META(c) (strchr(" \t\r\n;&|()<>", (c)) != NULL)
gboolean ra_shell_is_at(const RaShellParser *p, const char *text);
gboolean ra_shell_is_word(const RaShellParser *p, const char *word);
RaShellNode *ra_shell_new_node(RaShellParser *p, RaShellNodeKind kind);
/* The source of @node ends here, without blanks; returns it. */
RaShellNode *ra_shell_end_node(RaShellParser *p, RaShellNode *node);
/* (nullable): if, loops ...; NULL without a failure: it is a simple command. */
RaShellNode *ra_shell_parse_compound(RaShellParser *p);
RaShellNode *ra_shell_parse_function(RaShellParser *p, RaShellNode *node,
                                     const char *name);
/* TRUE if `()` comes, and goes behind it. */
gboolean ra_shell_take_parentheses(RaShellParser *p);
gboolean ra_shell_is_name(const char *text, gsize n);
gboolean ra_shell_deeper(RaShellParser *p);

/* ---- Evaluation ---------------------------------------------------------- */

void ra_shell_fail(RaShellEval *e, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* TRUE if the evaluation may go on: counts a step. */
gboolean ra_shell_step(RaShellEval *e);
void ra_shell_note(RaShellEval *e, const char *format, ...) G_GNUC_PRINTF(2, 3);
void ra_shell_words_add(RaShellEval *e, RaShellWords *words, RaShellWord word);
/* Appends at most what a value may have. */
void ra_shell_put(RaShellEval *e, GString *out, const char *text);
/* printf() into @arena, which owns the text. */
char *ra_shell_printf(RaArena *arena, const char *format, ...)
    G_GNUC_PRINTF(2, 3);
char *ra_shell_keep(RaShellEval *e, const char *text, gsize n_bytes);

/* `BEGIN expression GUESS guess END`; @guess NULL: none. */
char *ra_shell_unknown(RaShellEval *e, const char *expression,
                       const char *guess);
gboolean ra_shell_has_region(const char *text);
/* Behind the region at @text. */
const char *ra_shell_region_end(const char *text);
/* @text with the guesses of its regions; NULL: one has none. */
char *ra_shell_guess(RaShellEval *e, const char *text);

const RaShellValue *ra_shell_get(RaShellEval *e, const char *name);
void ra_shell_set(RaShellEval *e, const char *name, const RaShellValue *value);
void ra_shell_set_text(RaShellEval *e, const char *name, const char *text);
void ra_shell_set_item(RaShellEval *e, const char *name, const char *key,
                       const char *text, gboolean is_append);
const RaShellItem *ra_shell_item(const RaShellValue *value, const char *key);
const char *ra_shell_lookup(RaShellEval *e, const char *name);
void ra_shell_assign(RaShellEval *e, const RaShellAssign *assign);
/* @name gets its value back when the function returns. */
void ra_shell_local(RaShellEval *e, const char *name);

void ra_shell_expand(RaShellEval *e, const RaShellText *texts,
                     RaShellWords *out);
const char *ra_shell_expand_one(RaShellEval *e, const RaShellText *text);
const char *ra_shell_expand_pattern(RaShellEval *e, const RaShellText *text,
                                    gboolean is_regex);
const char *ra_shell_special(RaShellEval *e, const char *name);
const char *ra_shell_substitute(RaShellEval *e, const RaShellPart *part);
/* Applies @part's operator to one value; @is_set: it is there at all. */
const char *ra_shell_operate(RaShellEval *e, const RaShellPart *part,
                             const char *value);

/* TRUE if @pattern matches all of @text up to @end (NULL: its NUL); only `*`
 * matches a region. */
gboolean ra_shell_match(RaShellEval *e, const char *pattern, const char *text,
                        const char *end);

/* FALSE: unknown. */
gboolean ra_shell_arith(RaShellEval *e, const char *text, gint64 *out);
RaShellTruth ra_shell_arith_truth(RaShellEval *e, const char *text);

RaShellTruth ra_shell_test_words(RaShellEval *e, const RaShellWord *words,
                                 guint n);
RaShellTruth ra_shell_test_tree(RaShellEval *e, const RaShellTest *test);
RaShellTruth ra_shell_not(RaShellTruth truth);

/* Runs words[0] if it is a builtin; FALSE: it is none. */
gboolean ra_shell_builtin(RaShellEval *e, const RaShellNode *node,
                          const RaShellWord *words, guint n);
/* Programs whose output is computed, such as dirname; FALSE: it is none. */
gboolean ra_shell_program(RaShellEval *e, const RaShellWord *words, guint n);
/* Sets what Slurm tells the script @text. */
void ra_shell_batch(RaShellEval *e, const char *text);
const char *ra_shell_path(RaShellEval *e, const char *path);
/* Evaluates the file words[0] with the other words as arguments. */
void ra_shell_read_file(RaShellEval *e, const RaShellWord *words, guint n,
                        gboolean is_call);
void ra_shell_print(RaShellEval *e, const char *text);
void ra_shell_done(RaShellEval *e, RaShellTruth status, int exit_code);
void ra_shell_eval_text(RaShellEval *e, const char *text);
void ra_shell_eval(RaShellEval *e, const RaShellNode *node);

#endif
