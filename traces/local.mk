## Floor 2: trace and profile records, readers, writers.
## One noun a line: libX_a_SOURCES += %D%/noun.c %D%/noun.h
noinst_LIBRARIES += libtraces.a
ra_libs += libtraces.a
libtraces_a_SOURCES =
libtraces_a_SOURCES += %D%/chrome.c
libtraces_a_SOURCES += %D%/lanes.c %D%/lanes.h
libtraces_a_SOURCES += %D%/law.c %D%/law.h
libtraces_a_SOURCES += %D%/profile.c %D%/profile.h
libtraces_a_SOURCES += %D%/ranks.c
libtraces_a_SOURCES += %D%/system.c %D%/system.h
libtraces_a_SOURCES += %D%/trace.c %D%/trace.h
libtraces_a_SOURCES += %D%/trace_impl.h
libtraces_a_SOURCES += %D%/trace_read.c
libtraces_a_SOURCES += %D%/trace_write.c
