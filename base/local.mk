## Floor 0: units, errors, arena, rng, stats, text; no domain word.
## One noun a line: libX_a_SOURCES += %D%/noun.c %D%/noun.h
noinst_LIBRARIES += libbase.a
ra_libs += libbase.a
libbase_a_SOURCES =
libbase_a_SOURCES += %D%/error.c %D%/error.h
