## Floor 1: model, workload, cluster, plan, augment, expand, memory.
## One noun a line: libX_a_SOURCES += %D%/noun.c %D%/noun.h
noinst_LIBRARIES += libgraph.a
ra_libs += libgraph.a
libgraph_a_SOURCES =
