## Floor 5: plan space, exact search, MCMC, heuristics.
## One noun a line: libX_a_SOURCES += %D%/noun.c %D%/noun.h
noinst_LIBRARIES += libsearch.a
ra_libs += libsearch.a
libsearch_a_SOURCES =
libsearch_a_SOURCES += %D%/draft.c %D%/draft.h
libsearch_a_SOURCES += %D%/need.c %D%/need.h
libsearch_a_SOURCES += %D%/pool.c %D%/pool.h
libsearch_a_SOURCES += %D%/shape.c %D%/shape.h
libsearch_a_SOURCES += %D%/split.c %D%/split.h
libsearch_a_SOURCES += %D%/strategy.c %D%/strategy.h %D%/strategy_impl.h
libsearch_a_SOURCES += %D%/strategy_colocated.c
libsearch_a_SOURCES += %D%/strategy_megatron.c
libsearch_a_SOURCES += %D%/strategy_pool.c
libsearch_a_SOURCES += %D%/strategy_real.c
