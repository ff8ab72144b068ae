## Floor 5: plan space, exact search, MCMC, heuristics.
## With the first source:
##   noinst_LIBRARIES += libsearch.a
##   ra_libs += libsearch.a
##   libsearch_a_SOURCES =
##   libsearch_a_SOURCES += %D%/noun.c %D%/noun.h
