## Floor 7: one file a subcommand; the only place that prints.
bin_PROGRAMS += reallot
## No CUDA and no Check here, hence LDADD of its own.
reallot_LDADD = $(ra_ldadd)
reallot_SOURCES =
reallot_SOURCES += %D%/backend.c %D%/backend.h
reallot_SOURCES += %D%/calibrate.c
reallot_SOURCES += %D%/calibrate_base.c %D%/calibrate_base.h
reallot_SOURCES += %D%/calibrate_collectives.c %D%/calibrate_collectives.h
reallot_SOURCES += %D%/calibrate_gpu.c %D%/calibrate_gpu.h
reallot_SOURCES += %D%/calibrate_host.c %D%/calibrate_host.h
reallot_SOURCES += %D%/calibrate_samples.c %D%/calibrate_samples.h
reallot_SOURCES += %D%/commands.h
reallot_SOURCES += %D%/compare.c
reallot_SOURCES += %D%/export.c
reallot_SOURCES += %D%/fatal.c %D%/fatal.h
reallot_SOURCES += %D%/graph.c
reallot_SOURCES += %D%/helper.c %D%/helper.h
reallot_SOURCES += %D%/import.c
reallot_SOURCES += %D%/import_log.c
reallot_SOURCES += %D%/inspect.c
reallot_SOURCES += %D%/interrupt.c %D%/interrupt.h
reallot_SOURCES += %D%/keys.c
reallot_SOURCES += %D%/list.c
reallot_SOURCES += %D%/main.c
reallot_SOURCES += %D%/new.c
reallot_SOURCES += %D%/options.c %D%/options.h
reallot_SOURCES += %D%/output.c %D%/output.h
reallot_SOURCES += %D%/places.c %D%/places.h
reallot_SOURCES += %D%/plan.c
reallot_SOURCES += %D%/plot.c
reallot_SOURCES += %D%/progress.c %D%/progress.h
reallot_SOURCES += %D%/report.c
reallot_SOURCES += %D%/run.c
reallot_SOURCES += %D%/search.c
reallot_SOURCES += %D%/search_report.c %D%/search_report.h
reallot_SOURCES += %D%/seeds.c %D%/seeds.h
reallot_SOURCES += %D%/sensitivity.c %D%/sensitivity.h
reallot_SOURCES += %D%/simulate.c
reallot_SOURCES += %D%/simulate_report.c %D%/simulate_report.h
reallot_SOURCES += %D%/study.c
reallot_SOURCES += %D%/trace.c
reallot_SOURCES += %D%/tune.c
reallot_SOURCES += %D%/validate.c
reallot_SOURCES += %D%/world.c %D%/world.h

## The same commands, linked with MPI: what exec/comm/world_none.c lacks.
if HAVE_MPI
bin_PROGRAMS += reallot-mpi
noinst_LIBRARIES += libexec_mpi.a
endif
reallot_mpi_SOURCES = $(reallot_SOURCES)
reallot_mpi_LDADD = libexec_mpi.a $(ra_ldadd) $(MPI_LIBS)
libexec_mpi_a_CPPFLAGS = $(AM_CPPFLAGS)
libexec_mpi_a_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
libexec_mpi_a_SOURCES = exec/comm/comm_mpi.c exec/comm/mpi_impl.h exec/comm/world_mpi.c \
	exec/comm/cross_memory.c exec/comm/cross_memory.h

## And with CUDA: what exec/accelerator_none.c lacks.  It lies beside `reallot`,
## which runs it.
if HAVE_CUDA
bin_PROGRAMS += reallot-cuda
endif
reallot_cuda_SOURCES = $(reallot_SOURCES)
reallot_cuda_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
reallot_cuda_LDADD = libexec_cuda.a libkernels_cuda.a $(ra_ldadd) $(CUDA_LIBS)

## And with both: a GPU a rank, in several processes.
if HAVE_CUDA
if HAVE_MPI
bin_PROGRAMS += reallot-cuda-mpi
endif
endif
reallot_cuda_mpi_SOURCES = $(reallot_SOURCES)
reallot_cuda_mpi_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
reallot_cuda_mpi_LDADD = libexec_mpi.a $(reallot_cuda_LDADD) $(MPI_LIBS)
EXTRA_DIST += %D%/README.md
