## Floor 3: CUDA kernels and their CPU references; a plain C ABI, no GLib.
## libkernels.a holds the references and needs no CUDA.
