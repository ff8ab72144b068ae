/* CUDA's libraries on a machine: where they lie, and one of them opened.
 *
 * No program is linked with cuBLAS or NCCL: it would take 70 ms to start, and
 * where they are missing the loader ends it with status 127.
 *
 *     void *cublas = ra_cuda_library_open("libcublas.so.13");
 *
 * They are searched where the loader does (LD_LIBRARY_PATH, the system's), then
 * in RA_CUDA_LIBRARIES (folders, colons between), where configure has met them,
 * in toolkits and in Python's packages (nvidia/NAME/lib of a virtual
 * environment, of Conda, of the python3 on PATH, of the user, of the system).
 */
#ifndef RA_EXEC_BACKEND_CUDA_LIBRARY_H
#define RA_EXEC_BACKEND_CUDA_LIBRARY_H

#include <glib.h>

G_BEGIN_DECLS

/**
 * ra_cuda_library_folders:
 *
 * Cost: tens of calls of glob().
 *
 * Returns: (transfer full): the folders beside the loader's that there are, in
 *   the order of the search, NULL-terminated
 */
char **ra_cuda_library_folders(void);

/**
 * ra_cuda_library_open:
 * @soname: "libcublas.so.13"
 *
 * One that needs another that lies beside it is opened after that.
 *
 * Returns: (nullable): of dlopen(), never closed; %NULL: found nowhere
 */
void *ra_cuda_library_open(const char *soname);

G_END_DECLS

#endif
