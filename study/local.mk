## Floor 6: studies, validation, sensitivity, reports, plots.
## With the first source:
##   noinst_LIBRARIES += libstudy.a
##   ra_libs += libstudy.a
##   libstudy_a_SOURCES =
##   libstudy_a_SOURCES += %D%/noun.c %D%/noun.h
