## Floor 7: one file a subcommand; the only place that prints.
## With the first source (no CUDA and no Check here, hence LDADD of its own):
##   bin_PROGRAMS += reallot
##   reallot_LDADD = $(ra_ldadd)
##   reallot_SOURCES =
##   reallot_SOURCES += %D%/main.c
