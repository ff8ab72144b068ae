## Floor 3: CUDA kernels and their CPU references, and the CPU kernels of the
## host back end (cpu_*); a plain C ABI, no GLib.
## libkernels.a needs no CUDA; libkernels_cuda.a is for reallot-cuda only.  Its sources stay outside the conditional, so that a
## tarball made without CUDA carries them too.
noinst_LIBRARIES += libkernels.a
ra_libs += libkernels.a
libkernels_a_CFLAGS = $(AM_CFLAGS) $(RA_SIMD_CFLAGS)
libkernels_a_SOURCES =
libkernels_a_SOURCES += %D%/cpu/activation.h
libkernels_a_SOURCES += %D%/cpu/bf16.h
libkernels_a_SOURCES += %D%/cpu/cpu.h
libkernels_a_SOURCES += %D%/cpu/cpu_adamw.c %D%/cpu/cpu_adamw.h
libkernels_a_SOURCES += %D%/cpu/cpu_attention.c %D%/cpu/cpu_attention.h
libkernels_a_SOURCES += %D%/cpu/cpu_decode.c
libkernels_a_SOURCES += %D%/cpu/cpu_experts.c %D%/cpu/cpu_experts.h
libkernels_a_SOURCES += %D%/cpu/cpu_gemm.c %D%/cpu/cpu_gemm.h
libkernels_a_SOURCES += %D%/cpu/cpu_gemm_avx512.c %D%/cpu/cpu_gemm_avx512.h
libkernels_a_SOURCES += %D%/cpu/cpu_logprob.c %D%/cpu/cpu_logprob.h
libkernels_a_SOURCES += %D%/cpu/cpu_norm.c %D%/cpu/cpu_norm.h
libkernels_a_SOURCES += %D%/cpu/cpu_pointwise.c %D%/cpu/cpu_pointwise.h
libkernels_a_SOURCES += %D%/cpu/cpu_rope.c %D%/cpu/cpu_rope.h
libkernels_a_SOURCES += %D%/cpu/cpu_policy.c %D%/cpu/cpu_policy.h
libkernels_a_SOURCES += %D%/cpu/cpu_preference.c %D%/cpu/cpu_preference.h
libkernels_a_SOURCES += %D%/cpu/cpu_sample.c %D%/cpu/cpu_sample.h
libkernels_a_SOURCES += %D%/rmsnorm_ref.c %D%/rmsnorm.h
libkernels_a_SOURCES += %D%/seed.h

if HAVE_CUDA
noinst_LIBRARIES += libkernels_cuda.a
endif
libkernels_cuda_a_SOURCES =
libkernels_cuda_a_SOURCES += %D%/adamw.cu %D%/adamw.h
libkernels_cuda_a_SOURCES += %D%/attention.cu %D%/attention.h
libkernels_cuda_a_SOURCES += %D%/attention_backward.cu
libkernels_cuda_a_SOURCES += %D%/attention_merge.cu
libkernels_cuda_a_SOURCES += %D%/attention_backward_sm90a.cuh
libkernels_cuda_a_SOURCES += %D%/attention_delta.cuh
libkernels_cuda_a_SOURCES += %D%/attention_sight.cuh
libkernels_cuda_a_SOURCES += %D%/attention_backward_sm90a.cu
libkernels_cuda_a_SOURCES += %D%/attention_sm90a.cu
libkernels_cuda_a_SOURCES += %D%/attention_tile.cuh
libkernels_cuda_a_SOURCES += %D%/backward_row.cuh
libkernels_cuda_a_SOURCES += %D%/columns.cuh
libkernels_cuda_a_SOURCES += %D%/decode_attention.cu %D%/decode_attention.h
libkernels_cuda_a_SOURCES += %D%/device.cuh
libkernels_cuda_a_SOURCES += %D%/hopper.cuh
libkernels_cuda_a_SOURCES += %D%/experts.cu %D%/experts.h
libkernels_cuda_a_SOURCES += %D%/grouped.cu %D%/grouped.h
libkernels_cuda_a_SOURCES += %D%/grouped_sm90a.cu
libkernels_cuda_a_SOURCES += %D%/grouped_tile.cuh
libkernels_cuda_a_SOURCES += %D%/intervals.cu %D%/intervals.h
libkernels_cuda_a_SOURCES += %D%/layernorm.cu %D%/layernorm.h
libkernels_cuda_a_SOURCES += %D%/logprob.cu %D%/logprob.h
libkernels_cuda_a_SOURCES += %D%/pointwise.cu %D%/pointwise.h
libkernels_cuda_a_SOURCES += %D%/rmsnorm.cu
libkernels_cuda_a_SOURCES += %D%/rmsnorm_backward.cu
libkernels_cuda_a_SOURCES += %D%/sample.cu %D%/sample.h
libkernels_cuda_a_SOURCES += %D%/seed.cu
libkernels_cuda_a_SOURCES += %D%/sums.cu %D%/sums.h
libkernels_cuda_a_SOURCES += %D%/tile.cuh

EXTRA_DIST += %D%/README.md
EXTRA_DIST += %D%/cpu/README.md
