/* Settings with which other programs are started: dotted keys and values.
 *
 * Two forms are read.  In YAML (and JSON, which is YAML), every scalar is a
 * setting whose key joins the keys of mappings and the indices of sequences by
 * dots.  What `defaults` at the top names is read first (NeMo-RL's files,
 * hydra's list); the file itself overrides it.  A shell script is evaluated
 * (study/shell/shell.h), and the arguments of the program that it launches
 * (study/shell/launch.h) are settings: `a.b=c`, `+a.b=c`, `~a.b` (null),
 * `--a=b`, `--a b c` (one value) and `--a` (true).  Lists and mappings of
 * hydra, `a=[x,y]` and `a={b:1}`, are settings as YAML has them.
 * `launcher.nnodes` is a flag of torchrun or its like.  What only a run can
 * tell stays as text and is marked, `$(nproc)`; overrides `KEY=VALUE` say it.
 *
 *     g_autoptr(RaSettings) s = ra_settings_load("run.sh", &error);
 *     const char *model = ra_settings_get(s, "actor.path");
 *     ra_settings_ignore(s, "*.lr");
 *     for (guint i = 0; i < ra_settings_n(s); i++)
 *       if (ra_settings_at(s, i)->state == RA_SETTING_UNREAD)
 *         say(ra_settings_at(s, i));
 *
 * Invariant: a setting stays UNREAD until its key is read or ignored, so
 * settings that were not understood can be listed line by line.  If a key is
 * set twice, the last one counts and the others are REPLACED.  `${a.b}`,
 * `${.b}` and `${..b}` (relative to the value's mapping and the one around it),
 * `${oc.select:a.b,else}`, `${oc.env:A,else}`, `${oc.decode:a}`,
 * `${eval:2*3}`, `${mul:x,y}` and add, sub, div, max, min in a value are
 * resolved.  Typical sizes: 20 to 1000 settings.
 */
#ifndef RA_STUDY_CONVERT_SETTING_H
#define RA_STUDY_CONVERT_SETTING_H

#include <glib.h>
#include <stdint.h>

/* State of a setting. */
typedef enum {
  RA_SETTING_UNREAD,   /* never read */
  RA_SETTING_READ,     /* read */
  RA_SETTING_IGNORED,  /* known not to matter */
  RA_SETTING_REPLACED, /* a later setting has the same key */
  RA_SETTING_ABOUT,    /* read, but only approximated */
  RA_SETTING_LOST      /* understood, but a plan has no place for it */
} RaSettingState;

typedef struct {
  char *key;   /* "policy.model_name"; flags without their dashes */
  char *value; /* as written, without quotes; variables replaced */
  char *place; /* "file:line" */
  RaSettingState state;
  char *note;         /* nullable: for ABOUT and LOST, what is taken instead */
  const char *effect; /* LOST: "time", "memory" or "learning", static */
  gboolean is_standard; /* of the framework's own configuration */
  gboolean is_unknown;  /* value has an expression that only a run can tell */
} RaSetting;

typedef struct _RaSettings RaSettings;

/**
 * ra_settings_load_with:
 * @path: `.yaml`, `.yml` and `.json` are YAML, anything else is a script
 * @sets: (nullable): NULL-terminated overrides `KEY=VALUE`
 * @error: %RA_ERROR_IO: cannot be read; %RA_ERROR_INPUT `path:line: ...`:
 *   invalid YAML, no script, a script that launches nothing or goes on for
 *   ever, more than 10^5 settings, deeper than 100; `--set: ...`: no KEY=VALUE
 *
 * An override is the last setting of its key.  If KEY is a variable of the
 * script, it has this value throughout.
 *
 * Returns: (transfer full): free with ra_settings_free()
 */
RaSettings *ra_settings_load_with(const char *path, const char *const *sets,
                                  GError **error);
#define ra_settings_load(path, error)                                          \
  ra_settings_load_with((path), NULL, (error))

/**
 * ra_settings_compose:
 * @path: the script that @settings are of
 * @error: %RA_ERROR_INPUT: the file is no configuration
 *
 * Reads the configuration file that the script's command names by --config, or
 * --config-name and --config-path, if it is found: at that place, beside the
 * script, or in a folder above up to the root of the repository.  The command
 * line overrides it.  What is not found is a note.
 */
gboolean ra_settings_compose(RaSettings *settings, const char *path,
                             GError **error);

/* As ra_settings_load(), from memory; @name is the name in messages. */
RaSettings *ra_settings_parse(const char *name, const char *text, gsize n_bytes,
                              gboolean yaml, GError **error);
void ra_settings_free(RaSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSettings, ra_settings_free)

/* Name of the file, for messages. */
const char *ra_settings_name(const RaSettings *settings);
guint ra_settings_n(const RaSettings *settings);
const RaSetting *ra_settings_at(const RaSettings *settings, guint index);

/* Assumptions about the files themselves, for the reader: ra_settings_note()
 * adds one, such as the branch that was taken; all of them are strings
 * (element-type utf8). */
void ra_settings_note(RaSettings *settings, const char *format, ...)
    G_GNUC_PRINTF(2, 3);
const GPtrArray *ra_settings_notes(const RaSettings *settings);

/* The program that a script starts, and what it does, such as
 * `verl.trainer.main_ppo` or `realhf.apps.quickstart ppo`; "" for
 * YAML. */
const char *ra_settings_entry(const RaSettings *settings);

/* TRUE if some key begins with @prefix; marks nothing as read. */
gboolean ra_settings_has(const RaSettings *settings, const char *prefix);

/**
 * ra_settings_get:
 *
 * Reads the setting of @key and marks it.
 *
 * Returns: (nullable): its resolved value, borrowed; %NULL if it is not set, or
 * set to nothing, `null` or `None`
 */
const char *ra_settings_get(RaSettings *settings, const char *key);

/* Marks every UNREAD setting whose key matches the glob @pattern as IGNORED. */
void ra_settings_ignore(RaSettings *settings, const char *pattern);

/**
 * ra_settings_is:
 * @standard: values separated by '|', compared as numbers or in any case; "off"
 *   is false, null, 0, or nothing
 *
 * Returns: TRUE if setting @index has one of these values
 */
gboolean ra_settings_is(RaSettings *settings, guint index,
                        const char *standard);

/* Marks setting @index: as LOST with @effect (static), and @note about what is
 * taken instead; with %NULL for @effect as IGNORED. */
void ra_settings_settle(RaSettings *settings, guint index, const char *effect,
                        const char *note);

/* Marks the setting of @key, if there is one, as ABOUT right; @format explains
 * it.  One that the framework itself sets is READ: it is worth no row. */
void ra_settings_about(RaSettings *settings, const char *key,
                       const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Read values, with a fallback if the key is not set.  @error: %RA_ERROR_INPUT
 * `place: ...` for an invalid value.  A switch is true, false, yes, no, 1, 0 in
 * any case. */
gboolean ra_settings_uint32(RaSettings *settings, const char *key,
                            uint32_t fallback, uint32_t min, uint32_t max,
                            uint32_t *out_value, GError **error);
gboolean ra_settings_double(RaSettings *settings, const char *key,
                            double fallback, double min, double max,
                            double *out_value, GError **error);
gboolean ra_settings_bool(RaSettings *settings, const char *key,
                          gboolean fallback, gboolean *out_value,
                          GError **error);

/* Sets @error to `place of @key: 'key' is 'value', expected ...` and returns
 * FALSE. */
gboolean ra_settings_fail(const RaSettings *settings, const char *key,
                          GError **error, const char *expected);

#endif
