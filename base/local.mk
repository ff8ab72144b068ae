## Floor 0: units, errors, arena, rng, stats, text; no domain word.
## One noun a line: libX_a_SOURCES += %D%/noun.c %D%/noun.h
noinst_LIBRARIES += libbase.a
ra_libs += libbase.a
libbase_a_SOURCES =
libbase_a_SOURCES += %D%/arena.c %D%/arena.h
libbase_a_SOURCES += %D%/error.c %D%/error.h
libbase_a_SOURCES += %D%/explog.c
libbase_a_SOURCES += %D%/file.c
libbase_a_SOURCES += %D%/hash.c %D%/hash.h
libbase_a_SOURCES += %D%/keyfile.c %D%/keyfile.h
libbase_a_SOURCES += %D%/keyfile_impl.h
libbase_a_SOURCES += %D%/keyfile_nouns.c
libbase_a_SOURCES += %D%/keyfile_read.c
libbase_a_SOURCES += %D%/keyfile_scan.c
libbase_a_SOURCES += %D%/rng.c %D%/rng.h
libbase_a_SOURCES += %D%/text.c %D%/text.h
libbase_a_SOURCES += %D%/units.c %D%/units.h
