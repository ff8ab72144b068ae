## CUDA kernels on a CPU: emulator.cc, and every kernels/NAME.cu compiled against
## it by an NAME.cc of one line.  Only tests link this.
if HAVE_CXX
check_LIBRARIES += %D%/libemulated.a
endif
tests_emulator_libemulated_a_CPPFLAGS = -I$(top_srcdir)/tests/emulator \
	$(AM_CPPFLAGS)
tests_emulator_libemulated_a_CXXFLAGS = -std=c++17 -ffp-contract=off -Wall \
	-Wextra -Wshadow $(RA_WERROR) $(RA_SAN)
EXTRA_DIST += %D%/README.md
tests_emulator_libemulated_a_SOURCES =
tests_emulator_libemulated_a_SOURCES += %D%/cuda_runtime_api.h
tests_emulator_libemulated_a_SOURCES += %D%/emulator.cc
tests_emulator_libemulated_a_SOURCES += %D%/async.cc
tests_emulator_libemulated_a_SOURCES += %D%/faults.cc %D%/faults.h
tests_emulator_libemulated_a_SOURCES += %D%/fiber.cc %D%/fiber.h
tests_emulator_libemulated_a_SOURCES += %D%/gemm.c %D%/gemm.h
tests_emulator_libemulated_a_SOURCES += %D%/graph.cc %D%/graph.h
tests_emulator_libemulated_a_SOURCES += %D%/refuse.cc %D%/refuse.h
tests_emulator_libemulated_a_SOURCES += %D%/hopper.h
tests_emulator_libemulated_a_SOURCES += %D%/hopper_faults.cc
tests_emulator_libemulated_a_SOURCES += %D%/machine.h
tests_emulator_libemulated_a_SOURCES += %D%/measure.cc %D%/measure.h
tests_emulator_libemulated_a_SOURCES += %D%/memory.cc %D%/memory.h
tests_emulator_libemulated_a_SOURCES += %D%/nccl.c %D%/nccl.h
tests_emulator_libemulated_a_SOURCES += %D%/queue.cc %D%/queue.h
tests_emulator_libemulated_a_SOURCES += %D%/adamw.cc
tests_emulator_libemulated_a_SOURCES += %D%/attention.cc
tests_emulator_libemulated_a_SOURCES += %D%/attention_backward.cc
tests_emulator_libemulated_a_SOURCES += %D%/attention_merge.cc
tests_emulator_libemulated_a_SOURCES += %D%/attention_backward_sm90a.cc
tests_emulator_libemulated_a_SOURCES += %D%/attention_sm90a.cc
tests_emulator_libemulated_a_SOURCES += %D%/decode_attention.cc
tests_emulator_libemulated_a_SOURCES += %D%/experts.cc
tests_emulator_libemulated_a_SOURCES += %D%/grouped.cc
tests_emulator_libemulated_a_SOURCES += %D%/grouped_sm90a.cc
tests_emulator_libemulated_a_SOURCES += %D%/intervals.cc
tests_emulator_libemulated_a_SOURCES += %D%/layernorm.cc
tests_emulator_libemulated_a_SOURCES += %D%/logprob.cc
tests_emulator_libemulated_a_SOURCES += %D%/pointwise.cc
tests_emulator_libemulated_a_SOURCES += %D%/rmsnorm.cc
tests_emulator_libemulated_a_SOURCES += %D%/rmsnorm_backward.cc
tests_emulator_libemulated_a_SOURCES += %D%/sample.cc
tests_emulator_libemulated_a_SOURCES += %D%/seed.cc
tests_emulator_libemulated_a_SOURCES += %D%/sums.cc
## The commands with the emulated device in the GPU's place, as reallot-cuda has
## them (cli/local.mk); tests/cli/cli_backend.sh runs it.
backend_cuda = exec/backend/backend_cuda.c exec/backend/backend_cuda_attention.c
backend_cuda += exec/backend/backend_cuda_copies.c exec/backend/backend_cuda_embedding.c
backend_cuda += exec/backend/backend_cuda_experts.c exec/backend/backend_cuda_sample.c
backend_cuda += exec/backend/backend_cuda_rects.c exec/backend/backend_cuda_thread.c
emulated_programs =
if HAVE_CXX
emulated_programs += tests/reallot-emulated
endif
tests_reallot_emulated_SOURCES = $(reallot_SOURCES) \
	tests/emulator/accelerator.c $(backend_cuda) \
	exec/measure/probe_cuda.c $(nccl_double)
tests_reallot_emulated_LDADD = tests/emulator/libemulated.a $(ra_ldadd) -lstdc++
## And with MPI, as reallot-cuda-mpi has them: tests/mpi/mpi_nccl.sh.
if HAVE_CXX
if HAVE_MPI
emulated_programs += tests/reallot-emulated-mpi
endif
endif
tests_reallot_emulated_mpi_SOURCES = $(tests_reallot_emulated_SOURCES)
tests_reallot_emulated_mpi_LDADD = libexec_mpi.a \
	$(tests_reallot_emulated_LDADD) $(MPI_LIBS)
tests_emulator_libemulated_a_SOURCES += %D%/watch.h
tests_emulator_libemulated_a_SOURCES += %D%/wgmma.cc

## The kernels again, so that sectors.cc sees what they ask of memory: what
## -fsanitize=thread calls is there.
if HAVE_CXX
check_LIBRARIES += %D%/libwatched.a
endif
tests_emulator_libwatched_a_CPPFLAGS = $(tests_emulator_libemulated_a_CPPFLAGS)
tests_emulator_libwatched_a_CXXFLAGS = -std=c++17 -ffp-contract=off -O0 \
	-fsanitize=thread -Wall -Wextra -Wshadow $(RA_WERROR)
tests_emulator_libwatched_a_SOURCES =
tests_emulator_libwatched_a_SOURCES += %D%/patterns.cc
tests_emulator_libwatched_a_SOURCES += %D%/adamw.cc
tests_emulator_libwatched_a_SOURCES += %D%/attention.cc
tests_emulator_libwatched_a_SOURCES += %D%/attention_backward.cc
tests_emulator_libwatched_a_SOURCES += %D%/decode_attention.cc
tests_emulator_libwatched_a_SOURCES += %D%/grouped.cc
tests_emulator_libwatched_a_SOURCES += %D%/grouped_sm90a.cc
tests_emulator_libwatched_a_SOURCES += %D%/intervals.cc
tests_emulator_libwatched_a_SOURCES += %D%/layernorm.cc
tests_emulator_libwatched_a_SOURCES += %D%/logprob.cc
tests_emulator_libwatched_a_SOURCES += %D%/pointwise.cc
tests_emulator_libwatched_a_SOURCES += %D%/rmsnorm.cc
tests_emulator_libwatched_a_SOURCES += %D%/rmsnorm_backward.cc
tests_emulator_libwatched_a_SOURCES += %D%/sums.cc
watched_ldadd = %D%/libwatched.a $(emulated_ldadd)

if HAVE_CXX
check_programs += tests/kernels/check_sectors
endif
tests_kernels_check_sectors_SOURCES = tests/kernels/check_sectors.c
sector_sources = tests/device/sector_cases.c tests/device/sector_cases.h
sector_sources += %D%/sectors.cc %D%/sectors.h
tests_kernels_check_sectors_SOURCES += $(sector_sources)
tests_kernels_check_sectors_CPPFLAGS = $(tests_emulator_libemulated_a_CPPFLAGS)
tests_kernels_check_sectors_CXXFLAGS = -std=c++17 -Wall -Wextra -Wshadow \
	$(RA_WERROR) $(RA_SAN)
tests_kernels_check_sectors_LDADD = $(watched_ldadd)
emulated_ldadd = %D%/libemulated.a $(LDADD) -lstdc++

if HAVE_CXX
check_programs += tests/device/check_device
tests_device_check_device_SOURCES = tests/device/check_device.c tests/device/device_array.h
tests_device_check_device_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_device_attention
tests_device_check_device_attention_SOURCES = tests/device/check_device_attention.c \
	tests/device/device_array.h
tests_device_check_device_attention_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_device_classic
tests_device_check_device_classic_SOURCES = tests/device/check_device_classic.c \
	tests/device/device_array.h
tests_device_check_device_classic_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_device_copies
tests_device_check_device_copies_SOURCES = tests/device/check_device_copies.c \
	tests/device/device_array.h $(backend_cuda)
tests_device_check_device_copies_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_device_decode
tests_device_check_device_decode_SOURCES = tests/device/check_device_decode.c \
	tests/device/device_array.h
tests_device_check_device_decode_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_device_experts
tests_device_check_device_experts_SOURCES = tests/device/check_device_experts.c \
	tests/device/device_array.h
tests_device_check_device_experts_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_device_grouped
tests_device_check_device_grouped_SOURCES = tests/device/check_device_grouped.c \
	tests/device/device_array.h
tests_device_check_device_grouped_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_device_sample
tests_device_check_device_sample_SOURCES = tests/device/check_device_sample.c \
	tests/device/device_array.h
tests_device_check_device_sample_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_device_ring
tests_device_check_device_ring_SOURCES = tests/device/check_device_ring.c \
	tests/device/device_array.h
tests_device_check_device_ring_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_device_sums
tests_device_check_device_sums_SOURCES = tests/device/check_device_sums.c \
	tests/device/device_array.h
tests_device_check_device_sums_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_backend_cuda
tests_device_check_backend_cuda_SOURCES = tests/device/check_backend_cuda.c \
	$(backend_cuda)
tests_device_check_backend_cuda_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_backend_cuda_products
tests_device_check_backend_cuda_products_SOURCES = tests/device/check_backend_cuda_products.c \
	$(backend_cuda)
tests_device_check_backend_cuda_products_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_device_message
tests_device_check_device_message_SOURCES = tests/device/check_device_message.c \
	$(backend_cuda)
tests_device_check_device_message_LDADD = $(emulated_ldadd)
check_programs += tests/exec/check_steps
tests_exec_check_steps_SOURCES = tests/exec/check_steps.c $(backend_cuda) $(nccl_double)
tests_exec_check_steps_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_backend_cuda_layouts
tests_device_check_backend_cuda_layouts_SOURCES = \
	tests/device/check_backend_cuda_layouts.c \
	$(backend_cuda) $(run_fixture)
tests_device_check_backend_cuda_layouts_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_backend_cuda_models
tests_device_check_backend_cuda_models_SOURCES = \
	tests/device/check_backend_cuda_models.c \
	$(backend_cuda)
tests_device_check_backend_cuda_models_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_backend_cuda_ring
tests_device_check_backend_cuda_ring_SOURCES = tests/device/check_backend_cuda_ring.c \
	$(backend_cuda)
tests_device_check_backend_cuda_ring_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_backend_cuda_run
tests_device_check_backend_cuda_run_SOURCES = tests/device/check_backend_cuda_run.c \
	$(backend_cuda) $(run_fixture)
tests_device_check_backend_cuda_run_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_run_memory_cuda
tests_device_check_run_memory_cuda_SOURCES = tests/device/check_run_memory_cuda.c \
	$(backend_cuda) exec/measure/probe_cuda.c $(run_fixture)
tests_device_check_run_memory_cuda_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_backend_cuda_sample
tests_device_check_backend_cuda_sample_SOURCES = tests/device/check_backend_cuda_sample.c \
	$(backend_cuda)
tests_device_check_backend_cuda_sample_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_backend_cuda_words
tests_device_check_backend_cuda_words_SOURCES = tests/device/check_backend_cuda_words.c \
	$(backend_cuda)
tests_device_check_backend_cuda_words_LDADD = $(emulated_ldadd)
check_programs += tests/exec/check_run_away
tests_exec_check_run_away_SOURCES = tests/exec/check_run_away.c \
	$(backend_cuda) $(run_fixture)
tests_exec_check_run_away_LDADD = $(emulated_ldadd)
check_programs += tests/exec/check_stage_marks
tests_exec_check_stage_marks_SOURCES = tests/exec/check_stage_marks.c \
	$(backend_cuda)
tests_exec_check_stage_marks_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_run_nccl_device
tests_device_check_run_nccl_device_SOURCES = tests/device/check_run_nccl_device.c \
	$(backend_cuda) $(run_fixture) \
	$(nccl_double)
tests_device_check_run_nccl_device_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_probe_cuda
tests_device_check_probe_cuda_SOURCES = tests/device/check_probe_cuda.c \
	$(backend_cuda) exec/measure/probe_cuda.c
tests_device_check_probe_cuda_LDADD = $(emulated_ldadd)
check_programs += tests/device/check_emulator
tests_device_check_emulator_LDADD = $(emulated_ldadd)
endif

## The same tests on a device, skipped where there is none.
gpu_programs =
if HAVE_CUDA
gpu_programs += tests/device/check_gpu
tests_device_check_gpu_SOURCES = tests/device/check_device.c
tests_device_check_gpu_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_LDADD = $(gpu_ldadd)
tests_device_check_gpu_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
gpu_programs += tests/device/check_gpu_attention
tests_device_check_gpu_attention_SOURCES = tests/device/check_device_attention.c
tests_device_check_gpu_attention_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_attention_LDADD = $(gpu_ldadd)
tests_device_check_gpu_attention_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
gpu_programs += tests/device/check_gpu_classic
tests_device_check_gpu_classic_SOURCES = tests/device/check_device_classic.c
tests_device_check_gpu_classic_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_classic_LDADD = $(gpu_ldadd)
tests_device_check_gpu_classic_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
gpu_programs += tests/device/check_gpu_decode
tests_device_check_gpu_decode_SOURCES = tests/device/check_device_decode.c
tests_device_check_gpu_decode_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_decode_LDADD = $(gpu_ldadd)
tests_device_check_gpu_decode_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
gpu_programs += tests/device/check_gpu_experts
tests_device_check_gpu_experts_SOURCES = tests/device/check_device_experts.c
tests_device_check_gpu_experts_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_experts_LDADD = $(gpu_ldadd)
tests_device_check_gpu_experts_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
gpu_programs += tests/device/check_gpu_grouped
tests_device_check_gpu_grouped_SOURCES = tests/device/check_device_grouped.c
tests_device_check_gpu_grouped_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_grouped_LDADD = $(gpu_ldadd)
tests_device_check_gpu_grouped_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
gpu_programs += tests/device/check_gpu_sample
tests_device_check_gpu_sample_SOURCES = tests/device/check_device_sample.c
tests_device_check_gpu_sample_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_sample_LDADD = $(gpu_ldadd)
tests_device_check_gpu_sample_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
gpu_programs += tests/device/check_gpu_ring
tests_device_check_gpu_ring_SOURCES = tests/device/check_device_ring.c
tests_device_check_gpu_ring_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_ring_LDADD = $(gpu_ldadd)
tests_device_check_gpu_ring_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
gpu_programs += tests/device/check_gpu_sums
tests_device_check_gpu_sums_SOURCES = tests/device/check_device_sums.c
tests_device_check_gpu_sums_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_sums_LDADD = $(gpu_ldadd)
tests_device_check_gpu_sums_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
gpu_programs += tests/device/check_gpu_copies
tests_device_check_gpu_copies_SOURCES = tests/device/check_device_copies.c
tests_device_check_gpu_copies_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_copies_LDADD = libexec_cuda.a $(gpu_ldadd)
tests_device_check_gpu_copies_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
check_programs += tests/device/check_gpu_nccl
tests_device_check_gpu_nccl_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_device_check_gpu_nccl_LDADD = libexec_cuda.a $(gpu_ldadd)
tests_device_check_gpu_nccl_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
gpu_programs += tests/device/check_gpu_gemm
tests_device_check_gpu_gemm_CPPFLAGS = $(gpu_cppflags)
tests_device_check_gpu_gemm_LDADD = libexec_cuda.a $(gpu_ldadd)
tests_device_check_gpu_gemm_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
endif
gpu_cppflags = -DRA_ON_GPU $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
gpu_ldadd = libkernels_cuda.a $(LDADD) $(CUDA_LIBS)
noinst_HEADERS += tests/device/device_array.h tests/device/gpu_array.h
