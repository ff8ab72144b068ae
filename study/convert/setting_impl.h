/* Private parts of settings, shared by study/convert/setting*.c. */
#ifndef RA_STUDY_CONVERT_SETTING_IMPL_H
#define RA_STUDY_CONVERT_SETTING_IMPL_H

#include "study/convert/setting.h"

#define RA_SETTINGS_MAX 100000
#define RA_SETTINGS_BYTES_MAX (4u << 20)

struct _RaSettings {
  char *name;       /* name of the file */
  GPtrArray *list;  /* (element-type RaSetting) owned, in order */
  GHashTable *last; /* key -> RaSetting that counts; borrows */
  GString *words;   /* words of a script */
  GPtrArray *texts; /* (element-type utf8) resolved values, owned */
};

/* Adds a setting found in line @line.  FALSE with @error: there are too many.
 */
gboolean ra_settings_add(RaSettings *settings, const char *key,
                         const char *value, guint line, GError **error);

/* The two readers append to @settings. */
gboolean ra_settings_read_yaml(RaSettings *settings, const char *text,
                               gsize n_bytes, guint depth, GError **error);
gboolean ra_settings_read_script(RaSettings *settings, const char *text,
                                 gsize n_bytes, GError **error);

#endif
