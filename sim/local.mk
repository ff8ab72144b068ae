## Floor 4: discrete-event replay.
## One noun a line: libX_a_SOURCES += %D%/noun.c %D%/noun.h
noinst_LIBRARIES += libsim.a
ra_libs += libsim.a
libsim_a_SOURCES =
