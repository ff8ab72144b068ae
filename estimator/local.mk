## Floor 3: cost of an op, a collective, a call; fits.
## One noun a line: libX_a_SOURCES += %D%/noun.c %D%/noun.h
noinst_LIBRARIES += libestimator.a
ra_libs += libestimator.a
libestimator_a_SOURCES =
