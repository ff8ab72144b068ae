## Floor 7: one file a subcommand; the only place that prints.
bin_PROGRAMS += reallot
## No CUDA and no Check here, hence LDADD of its own.
reallot_LDADD = $(ra_ldadd)
reallot_SOURCES =
reallot_SOURCES += %D%/calibrate.c
reallot_SOURCES += %D%/calibrate_host.c %D%/calibrate_host.h
reallot_SOURCES += %D%/commands.h
reallot_SOURCES += %D%/compare.c
reallot_SOURCES += %D%/graph.c
reallot_SOURCES += %D%/inspect.c
reallot_SOURCES += %D%/interrupt.c %D%/interrupt.h
reallot_SOURCES += %D%/main.c
reallot_SOURCES += %D%/options.c %D%/options.h
reallot_SOURCES += %D%/output.c %D%/output.h
reallot_SOURCES += %D%/plan.c
reallot_SOURCES += %D%/plot.c
reallot_SOURCES += %D%/progress.c %D%/progress.h
reallot_SOURCES += %D%/run.c
reallot_SOURCES += %D%/search.c
reallot_SOURCES += %D%/search_report.c %D%/search_report.h
reallot_SOURCES += %D%/seeds.c %D%/seeds.h
reallot_SOURCES += %D%/sensitivity.c %D%/sensitivity.h
reallot_SOURCES += %D%/simulate.c
reallot_SOURCES += %D%/simulate_report.c %D%/simulate_report.h
reallot_SOURCES += %D%/study.c
reallot_SOURCES += %D%/trace.c
reallot_SOURCES += %D%/validate.c
