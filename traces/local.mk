## Floor 2: trace and profile records, readers, writers.
## One noun a line: libX_a_SOURCES += %D%/noun.c %D%/noun.h
noinst_LIBRARIES += libtraces.a
ra_libs += libtraces.a
libtraces_a_SOURCES =
