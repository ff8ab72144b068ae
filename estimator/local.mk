## Floor 3: cost of an op, a collective, a call; fits.
## One noun a line: libX_a_SOURCES += %D%/noun.c %D%/noun.h
noinst_LIBRARIES += libestimator.a
ra_libs += libestimator.a
libestimator_a_SOURCES =
libestimator_a_SOURCES += %D%/attention.c %D%/attention.h
libestimator_a_SOURCES += %D%/collective.c %D%/collective.h
libestimator_a_SOURCES += %D%/collective_init.c
libestimator_a_SOURCES += %D%/decode.c
libestimator_a_SOURCES += %D%/decode_gather.c
libestimator_a_SOURCES += %D%/estimator.c %D%/estimator.h
libestimator_a_SOURCES += %D%/estimator_impl.h
libestimator_a_SOURCES += %D%/gemm.c %D%/gemm.h
libestimator_a_SOURCES += %D%/memory_op.c %D%/memory_op.h
libestimator_a_SOURCES += %D%/resolve.c %D%/resolve.h
