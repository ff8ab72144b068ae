## Floor 4: executor.  reallot-cuda is the only program that links CUDA (70 ms
## and 220 MB before main); it lies beside `reallot`, which runs it.
noinst_LIBRARIES += libexec.a
ra_libs += libexec.a
libexec_a_SOURCES =
libexec_a_SOURCES += %D%/comm.c %D%/comm.h
libexec_a_SOURCES += %D%/comm_local.c %D%/comm_local.h

if HAVE_CUDA
bin_PROGRAMS += reallot-cuda
endif
reallot_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
reallot_cuda_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
reallot_cuda_LDADD = libkernels_cuda.a $(ra_ldadd) $(CUDA_LIBS)
reallot_cuda_SOURCES =
reallot_cuda_SOURCES += %D%/cuda_main.c
reallot_cuda_SOURCES += %D%/cuda_selftest.c %D%/cuda_selftest.h
