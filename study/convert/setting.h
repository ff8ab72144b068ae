/* Settings that other programs are started with: dotted keys and values.
 *
 * Two forms are read.  YAML (and JSON, which is YAML): every scalar is a
 * setting, keys of mappings and numbers of sequences joined by dots; a
 * `defaults: FILE` at the top is read first, and what stands in the file wins.
 * Scripts of a shell: `a.b=c`, `--a=b`, `--a b` and `--a` (true) among the
 * words of a command are settings; `NAME=value` before one is a variable that
 * `$NAME`, `${NAME}` and `${NAME:-else}` stand for.  Quotes, comments, ends of
 * lines behind `\` and arrays `NAME=( ... )` are understood, conditions and
 * loops are not: all that is written counts, once.
 *
 *     g_autoptr(RaSettings) s = ra_settings_load("run.sh", &error);
 *     const char *model = ra_settings_get(s, "actor.path");
 *     ra_settings_ignore(s, "*.lr");
 *     for (guint i = 0; i < ra_settings_n(s); i++)
 *       if (ra_settings_at(s, i)->state == RA_SETTING_UNREAD)
 *         say(ra_settings_at(s, i));
 *
 * Invariant: a setting stays UNREAD until something asks for its key or
 * ignores it, so what nobody understood can be told line by line.  Of a key
 * that is set twice the last counts, and the others are REPLACED.
 * `${a.b}`, `${oc.select:a.b,else}` and `${mul:x,y}` in a value are resolved.
 * Typical sizes: 20 to 300 settings.
 */
#ifndef RA_STUDY_CONVERT_SETTING_H
#define RA_STUDY_CONVERT_SETTING_H

#include <glib.h>
#include <stdint.h>

/* What became of a setting. */
typedef enum {
  RA_SETTING_UNREAD,   /* nobody asked for it */
  RA_SETTING_READ,     /* somebody did */
  RA_SETTING_IGNORED,  /* known to say nothing that matters */
  RA_SETTING_REPLACED, /* a later one has its key */
  RA_SETTING_ABOUT     /* read, but only about right */
} RaSettingState;

typedef struct {
  char *key;            /* "policy.model_name"; a flag's without its dashes */
  char *value;          /* as written, without quotes; variables replaced */
  char *place;          /* "file:line" */
  RaSettingState state; /* what became of it */
  char *note;           /* nullable: of ABOUT: what was taken */
} RaSetting;

typedef struct _RaSettings RaSettings;

/**
 * ra_settings_load:
 * @path: `.yaml`, `.yml` and `.json` are YAML, anything else is a script
 * @error: %RA_ERROR_IO: cannot be read; %RA_ERROR_INPUT `path:line: ...`: no
 *   YAML, an open quote, more than 10^5 settings, deeper than 100
 *
 * Returns: (transfer full): ra_settings_free() it
 */
RaSettings *ra_settings_load(const char *path, GError **error);

/* As ra_settings_load(), from memory; @name is what messages call it. */
RaSettings *ra_settings_parse(const char *name, const char *text, gsize n_bytes,
                              gboolean yaml, GError **error);
void ra_settings_free(RaSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSettings, ra_settings_free)

guint ra_settings_n(const RaSettings *settings);
const RaSetting *ra_settings_at(const RaSettings *settings, guint index);

/* All words of a script, one space between: to tell whose it is. */
const char *ra_settings_words(const RaSettings *settings);

/* Whether some key begins with @prefix; reads nothing. */
gboolean ra_settings_has(const RaSettings *settings, const char *prefix);

/**
 * ra_settings_get:
 *
 * Returns: (nullable): the resolved value of @key, now read; %NULL where it is
 * not set, or set to nothing, `null` or `None`.  Borrowed.
 */
const char *ra_settings_get(RaSettings *settings, const char *key);

/* Every UNREAD setting whose key matches the glob @pattern is IGNORED. */
void ra_settings_ignore(RaSettings *settings, const char *pattern);

/* The same, of those alone that are off: false, null, nothing, 0. */
void ra_settings_ignore_off(RaSettings *settings, const char *pattern);

/* The setting of @key, if there is one, is ABOUT right: @format says how. */
void ra_settings_about(RaSettings *settings, const char *key,
                       const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Values with a fallback where the key is not set; @error %RA_ERROR_INPUT
 * `place: ...` for one that is none.  A switch is true, false, yes, no, 1, 0 in
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

/* FALSE with @error: `place of @key: 'key' is 'value', expected ...`. */
gboolean ra_settings_fail(const RaSettings *settings, const char *key,
                          GError **error, const char *expected);

#endif
