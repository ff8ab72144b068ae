## Floor 4: executor.  reallot-cuda is the only program that links CUDA (70 ms
## and 220 MB before main); it lies beside `reallot`, which runs it.
noinst_LIBRARIES += libexec.a
ra_libs += libexec.a
libexec_a_SOURCES =
libexec_a_SOURCES += %D%/backend.h
libexec_a_SOURCES += %D%/backend_host.c
libexec_a_SOURCES += %D%/backend_impl.h
libexec_a_SOURCES += %D%/backend_rows.c
libexec_a_SOURCES += %D%/checkpoint.c %D%/checkpoint.h
libexec_a_SOURCES += %D%/checkpoint_load.c
libexec_a_SOURCES += %D%/comm.c %D%/comm.h
libexec_a_SOURCES += %D%/comm_local.c %D%/comm_local.h
libexec_a_SOURCES += %D%/experience.c %D%/experience.h
libexec_a_SOURCES += %D%/floats.c %D%/floats.h
libexec_a_SOURCES += %D%/look.c %D%/look.h
libexec_a_SOURCES += %D%/params.c %D%/params.h
libexec_a_SOURCES += %D%/pass.c
libexec_a_SOURCES += %D%/probe.c %D%/probe.h
libexec_a_SOURCES += %D%/probe_grid.c
libexec_a_SOURCES += %D%/probe_impl.h
libexec_a_SOURCES += %D%/probe_ops.c
libexec_a_SOURCES += %D%/reshard.c %D%/reshard.h
libexec_a_SOURCES += %D%/reward.c %D%/reward.h
libexec_a_SOURCES += %D%/run.c %D%/run.h
libexec_a_SOURCES += %D%/run_data.c
libexec_a_SOURCES += %D%/run_experts.c
libexec_a_SOURCES += %D%/run_generate.c
libexec_a_SOURCES += %D%/run_impl.h
libexec_a_SOURCES += %D%/run_move.c
libexec_a_SOURCES += %D%/run_memory.c
libexec_a_SOURCES += %D%/run_new.c
libexec_a_SOURCES += %D%/run_ops.c
libexec_a_SOURCES += %D%/run_pipeline.c
libexec_a_SOURCES += %D%/run_train.c
libexec_a_SOURCES += %D%/safetensors.c %D%/safetensors.h
libexec_a_SOURCES += %D%/slabs.c %D%/slabs.h
libexec_a_SOURCES += %D%/stage.c %D%/stage.h
libexec_a_SOURCES += %D%/stage_experts.c %D%/stage_experts.h
libexec_a_SOURCES += %D%/stage_grads.c
libexec_a_SOURCES += %D%/stage_heads.c
libexec_a_SOURCES += %D%/stage_impl.h
libexec_a_SOURCES += %D%/stage_layer.c
libexec_a_SOURCES += %D%/stage_ops.c
libexec_a_SOURCES += %D%/team.c %D%/team.h
libexec_a_SOURCES += %D%/tokens.c %D%/tokens.h
libexec_a_SOURCES += %D%/weights.c %D%/weights.h
libexec_a_SOURCES += %D%/weights_write.c

if HAVE_CUDA
bin_PROGRAMS += reallot-cuda
endif
reallot_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
reallot_cuda_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
reallot_cuda_LDADD = libkernels_cuda.a $(ra_ldadd) $(CUDA_LIBS)
reallot_cuda_SOURCES =
reallot_cuda_SOURCES += %D%/cuda_main.c
reallot_cuda_SOURCES += %D%/cuda_selftest.c %D%/cuda_selftest.h
