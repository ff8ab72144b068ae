/* CUDA libraries on a machine: where they are, and opening one.
 *
 * No program is linked with cuBLAS or NCCL: it would need 70 ms to start, and
 * without them the loader would end it with status 127.
 *
 *     void *cublas = ra_cuda_library_open("libcublas.so.13");
 *
 * The order of the search is:
 *
 *   the loader's   LD_LIBRARY_PATH, then the system's folders
 *   configured     RA_CUDA_LIBRARIES (folders, separated by colons), then the
 *                  folder that configure has found
 *   toolkits       folders of CUDA toolkits
 *   Python         nvidia/NAME/lib of a virtual environment, of Conda, of the
 *                  python3 on PATH, of the user, of the system
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
 * Returns: (transfer full): existing folders other than the loader's, in the
 *   order of the search, NULL-terminated
 */
char **ra_cuda_library_folders(void);

/**
 * ra_cuda_library_open:
 * @soname: "libcublas.so.13"
 *
 * If the library needs another one of the same folder, that is opened first.
 *
 * Returns: (nullable): handle of dlopen(), never closed; %NULL: not found
 */
void *ra_cuda_library_open(const char *soname);

G_END_DECLS

#endif
