## Floor 3: CUDA kernels and their CPU references; a plain C ABI, no GLib.
## libkernels.a holds the references and needs no CUDA; libkernels_cuda.a is
## for reallot-cuda only.  Its sources stay outside the conditional, so that a
## tarball made without CUDA carries them too.
noinst_LIBRARIES += libkernels.a
ra_libs += libkernels.a
libkernels_a_SOURCES =
libkernels_a_SOURCES += %D%/bf16.h
libkernels_a_SOURCES += %D%/rmsnorm_ref.c %D%/rmsnorm.h

if HAVE_CUDA
noinst_LIBRARIES += libkernels_cuda.a
endif
libkernels_cuda_a_SOURCES =
libkernels_cuda_a_SOURCES += %D%/rmsnorm.cu

EXTRA_DIST += %D%/README.md
