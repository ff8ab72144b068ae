## Benchmarks: TSV on stdout, units in the head, one `bar` line a bar at the
## end, `--quick`.  A program is one line here, its source is %D%/NAME.c.
## `make bench` runs them all through run.sh.
noinst_LIBRARIES += %D%/libbench.a
bench_libbench_a_SOURCES = %D%/figure.c %D%/figure.h
bench_programs =
bench_programs += %D%/claims
bench_programs += %D%/direction
bench_programs += %D%/estimator
bench_programs += %D%/executor
bench_programs += %D%/fold
bench_programs += %D%/fractions
bench_programs += %D%/generate
bench_programs += %D%/lengths
bench_programs += %D%/real-figure
bench_real_figure_SOURCES = %D%/real_figure.c %D%/real_setting.c \
	%D%/real_setting.h %D%/system_fit.c %D%/system_fit.h
bench_programs += %D%/systems
bench_systems_SOURCES = %D%/systems.c %D%/system_fit.c %D%/system_fit.h
bench_programs += %D%/steps
bench_steps_SOURCES = %D%/steps.c %D%/system_fit.c %D%/system_fit.h
bench_programs += %D%/loop
bench_loop_SOURCES = %D%/loop.c %D%/loop_ops.c %D%/loop_ops.h \
	$(loop_sources)
loop_sources = %D%/loop_plan.c %D%/loop_plan.h
loop_sources += %D%/loop_score.c %D%/loop_score.h
bench_programs += %D%/loop_mpi
bench_loop_mpi_SOURCES = %D%/loop_mpi.c %D%/loop_command.c \
	%D%/loop_command.h $(loop_sources)
bench_programs += %D%/engines
bench_engines_SOURCES = %D%/engines.c %D%/system_fit.c %D%/system_fit.h
bench_programs += %D%/jitter
bench_programs += %D%/placement
bench_programs += %D%/realloc
bench_programs += %D%/reshard
bench_programs += %D%/sim
bench_sim_SOURCES = %D%/sim.c %D%/traffic.c %D%/traffic.h
bench_programs += %D%/regimes
bench_programs += %D%/search
bench_search_SOURCES = %D%/search.c %D%/search_quality.c %D%/search_quality.h
bench_programs += %D%/sim_speed
bench_programs += %D%/simulate
bench_programs += %D%/slab
bench_programs += %D%/study
bench_programs += %D%/tails
bench_programs += %D%/train
bench_programs += %D%/memory
bench_memory_SOURCES = %D%/memory.c %D%/real_setting.c %D%/real_setting.h
if HAVE_CXX
bench_programs += %D%/sectors
endif
bench_sectors_SOURCES = %D%/sectors.c $(sector_sources)
bench_sectors_CPPFLAGS = $(tests_kernels_check_sectors_CPPFLAGS)
bench_sectors_CXXFLAGS = $(tests_kernels_check_sectors_CXXFLAGS)
bench_sectors_LDADD = %D%/libbench.a $(watched_ldadd)
noinst_PROGRAMS += $(bench_programs)
EXTRA_DIST += %D%/README.md %D%/gpu/README.md
EXTRA_DIST += %D%/peer/exports.py
EXTRA_DIST += %D%/peer/simgrid_peer.cc
EXTRA_DIST += %D%/search_today.sh %D%/peer/search_longer.sh %D%/peer/finalists.awk
EXTRA_DIST += %D%/peer/error_pairs.sh
EXTRA_DIST += %D%/validation.sh
EXTRA_DIST += %D%/peer/torch_peer.py
EXTRA_DIST += %D%/peer/emulator_then.sh
EXTRA_DIST += %D%/peer/speed_then.sh
EXTRA_DIST += %D%/peer/front_door.sh
EXTRA_DIST += %D%/kills.sh
EXTRA_DIST += %D%/learning.sh
EXTRA_DIST += %D%/peer/trainer_peaks.sh
EXTRA_DIST += %D%/pictures.sh
EXTRA_DIST += %D%/peer/real_steps.sh
EXTRA_DIST += %D%/run.sh
EXTRA_DIST += %D%/ptxas.sh
## On a GPU; `make bench` leaves it to bench/node.sh.
EXTRA_DIST += %D%/bundle.sh
EXTRA_DIST += %D%/gpu/gpu_peer.py
EXTRA_DIST += %D%/gpu/gpu_train_peer.py
EXTRA_DIST += %D%/node.sh
noinst_PROGRAMS += %D%/loop_gpu
bench_loop_gpu_SOURCES = %D%/gpu/loop_gpu.c %D%/loop_command.c \
	%D%/loop_command.h %D%/loop_ops.c %D%/loop_ops.h $(loop_sources)
EXTRA_DIST += %D%/node_plans.sh
EXTRA_DIST += %D%/node_steps.sh
if HAVE_CUDA
noinst_PROGRAMS += %D%/gpu_kernels
noinst_PROGRAMS += %D%/collectives
endif
bench_collectives_SOURCES = %D%/gpu/collectives.c
bench_collectives_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
bench_collectives_LDADD = %D%/libbench.a libexec_cuda.a libkernels_cuda.a \
	$(ra_ldadd) $(CUDA_LIBS)
bench_gpu_kernels_SOURCES = %D%/gpu/gpu_kernels.c %D%/gpu/gpu_device.c %D%/gpu/gpu_device.h
bench_gpu_kernels_SOURCES += %D%/gpu/gpu_experts.c %D%/gpu/gpu_experts.h
bench_gpu_kernels_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
bench_gpu_kernels_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
bench_gpu_kernels_LDADD = %D%/libbench.a libexec_cuda.a libkernels_cuda.a \
	$(ra_ldadd) $(CUDA_LIBS)
