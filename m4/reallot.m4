# Reallot's own configure checks.  Everything here compiles and links only;
# nothing is run, so that a machine without a driver configures like any other.

# RA_ARG_AUTO(NAME, WHAT, CHECK)
# --with-NAME=auto|yes|no.  CHECK sets ra_have_NAME to yes or no.  With `yes`
# a "no" is an error; HAVE_<NAME> is a conditional and a config.h define.
AC_DEFUN([RA_ARG_AUTO], [
  AC_ARG_WITH([$1],
    [AS_HELP_STRING([--with-$1=auto|yes|no], [$2 (default: auto)])],
    [], [with_$1=auto])
  ra_have_$1=no
  AS_IF([test "x$with_$1" != xno], [$3])
  AS_IF([test "x$with_$1" = xyes && test "x$ra_have_$1" != xyes],
    [AC_MSG_ERROR([--with-$1=yes, but it was not found (see config.log)])])
  AS_IF([test "x$ra_have_$1" = xyes],
    [AC_DEFINE([HAVE_]m4_toupper([$1]), [1], [$2])])
  AM_CONDITIONAL([HAVE_]m4_toupper([$1]), [test "x$ra_have_$1" = xyes])
])

# RA_TRY_MPICC
# mpi-c.pc is a Debian alternative and absent on many clusters, whose wrapper
# compiler prints what it would run.  Sets ra_have_mpi, MPI_CFLAGS, MPI_LIBS.
AC_DEFUN([RA_TRY_MPICC], [
  ra_have_mpi=no
  AC_PATH_PROG([MPICC], [mpicc])
  AS_IF([test -n "$MPICC"], [
    MPI_CFLAGS= MPI_LIBS=
    for ra_word in `$MPICC -show 2>&AS_MESSAGE_LOG_FD`; do
      AS_CASE([$ra_word],
        [-I*|-D*], [MPI_CFLAGS="$MPI_CFLAGS $ra_word"],
        [-L*|-l*|-Wl*], [MPI_LIBS="$MPI_LIBS $ra_word"])
    done
    ra_save_CFLAGS=$CFLAGS ra_save_LIBS=$LIBS
    CFLAGS="$CFLAGS $MPI_CFLAGS" LIBS="$MPI_LIBS $LIBS"
    AC_MSG_CHECKING([whether what $MPICC -show says links])
    AC_LINK_IFELSE(
      [AC_LANG_PROGRAM([[@%:@include <mpi.h>]], [[return MPI_Init(0, 0);]])],
      [ra_have_mpi=yes])
    AC_MSG_RESULT([$ra_have_mpi])
    CFLAGS=$ra_save_CFLAGS LIBS=$ra_save_LIBS])
])

# RA_CHECK_GLIB_SUPP
# GLIB_SUPP: the valgrind suppressions that GLib ships, empty if there are none.
AC_DEFUN([RA_CHECK_GLIB_SUPP], [
  AC_MSG_CHECKING([for GLib's valgrind suppressions])
  GLIB_SUPP=`$PKG_CONFIG --variable=prefix glib-2.0`
  GLIB_SUPP=$GLIB_SUPP/share/glib-2.0/valgrind/glib.supp
  AS_IF([test -r "$GLIB_SUPP"], [], [GLIB_SUPP=])
  AC_MSG_RESULT([${GLIB_SUPP:-none}])
  AC_SUBST([GLIB_SUPP])
])

# RA_ENABLE_WERROR
AC_DEFUN([RA_ENABLE_WERROR], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [make warnings errors])])
  RA_WERROR=
  AS_IF([test "x$enable_werror" = xyes], [RA_WERROR=-Werror])
  AC_SUBST([RA_WERROR])
])

# RA_ENABLE_SANITIZERS
# RA_SAN: flags for the compiler and the linker.  Without
# -fno-sanitize-recover UBSan prints its finding and the test passes.
AC_DEFUN([RA_ENABLE_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@],
      [build with -fsanitize=LIST (default LIST: address,undefined)])],
    [], [enable_sanitizers=no])
  AS_CASE([$enable_sanitizers],
    [no], [RA_SAN=],
    [yes], [RA_SAN="-fsanitize=address,undefined"],
    [RA_SAN="-fsanitize=$enable_sanitizers"])
  AS_IF([test -n "$RA_SAN"], [
    RA_SAN="$RA_SAN -fno-sanitize-recover=all -fno-omit-frame-pointer"
    ra_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $RA_SAN"
    AC_MSG_CHECKING([whether $CC links with $RA_SAN])
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([--enable-sanitizers: $CC cannot link with $RA_SAN])])
    CFLAGS=$ra_save_CFLAGS])
  AC_SUBST([RA_SAN])
])

# RA_CHECK_CXX
# HAVE_CXX: a C++17 compiler, which only tests of CUDA kernels need.
AC_DEFUN([RA_CHECK_CXX], [
  AC_LANG_PUSH([C++])
  ra_save_CXXFLAGS=$CXXFLAGS
  CXXFLAGS="$CXXFLAGS -std=c++17"
  AC_MSG_CHECKING([for a C++17 compiler])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[@%:@include <functional>]],
    [[std::function<int()> f = [] { return 0; }; return f();]])],
    [ra_have_cxx=yes], [ra_have_cxx=no])
  AC_MSG_RESULT([$ra_have_cxx])
  CXXFLAGS=$ra_save_CXXFLAGS
  AC_LANG_POP([C++])
  AM_CONDITIONAL([HAVE_CXX], [test "x$ra_have_cxx" = xyes])
])

# RA_CHECK_CUDA
# --with-cuda=auto|yes|DIR|no, --with-nccl=DIR, NVCC, NVCC_ARCH, NVCCFLAGS.
# Sets HAVE_CUDA, CUDA_CPPFLAGS, CUDA_LDFLAGS, CUDA_LIBS.
AC_DEFUN([RA_CHECK_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=auto|yes|DIR|no],
      [build reallot-cuda; DIR is the toolkit (default: auto)])],
    [], [with_cuda=auto])
  AC_ARG_WITH([nccl],
    [AS_HELP_STRING([--with-nccl=DIR],
      [NCCL's folder, with include/ and lib/ (default: the toolkit's)])],
    [], [with_nccl=])
  AC_ARG_VAR([NVCC], [CUDA compiler])
  AC_ARG_VAR([NVCC_ARCH],
    [GPU architectures of the images, e.g. "sm_80 sm_90 sm_100 sm_120"; the last
     one's PTX is for later GPUs (default: sm_90)])
  AC_ARG_VAR([NVCCFLAGS], [flags for nvcc (default: -O3 -lineinfo)])
  CUDA_CPPFLAGS= CUDA_LDFLAGS= CUDA_LIBS= ra_why=
  ra_have_cuda=no
  AS_IF([test "x$with_cuda" != xno], [
    ra_have_cuda=yes
    _RA_CUDA_ROOT
    AS_IF([test $ra_have_cuda = yes], [_RA_CUDA_LIBS])
    AS_IF([test $ra_have_cuda = yes], [_RA_CUDA_NVCC])
    AS_IF([test $ra_have_cuda = no && test "x$with_cuda" != xauto],
      [AC_MSG_ERROR([--with-cuda=$with_cuda: $ra_why (see config.log)])])
    AS_IF([test $ra_have_cuda = no],
      [AC_MSG_NOTICE([building without CUDA: $ra_why])])])
  AS_IF([test $ra_have_cuda = yes],
    [AC_DEFINE([HAVE_CUDA], [1], [Define if reallot-cuda is built])])
  AM_CONDITIONAL([HAVE_CUDA], [test $ra_have_cuda = yes])
  RA_HAVE_CUDA=$ra_have_cuda
  AC_SUBST([RA_HAVE_CUDA])
  AC_SUBST([CUDA_CPPFLAGS])
  AC_SUBST([CUDA_LDFLAGS])
  AC_SUBST([CUDA_LIBS])
])

# The compiler and the root of its toolkit.  A script elsewhere on PATH may
# stand for nvcc, so its place says nothing: ask it where its TOP is.
AC_DEFUN([_RA_CUDA_ROOT], [
  AS_CASE([$with_cuda],
    [auto|yes], [CUDA_ROOT=$CUDA_HOME
      ra_path=${CUDA_ROOT:+$CUDA_ROOT/bin:}$PATH:/usr/local/cuda/bin],
    [/*], [CUDA_ROOT=$with_cuda ra_path=$with_cuda/bin],
    [AC_MSG_ERROR([--with-cuda=$with_cuda: expected auto, yes, no or /DIR])])
  AC_PATH_PROG([NVCC], [nvcc], [], [$ra_path])
  AS_IF([test -n "$NVCC" && test -z "$CUDA_ROOT"],
    [CUDA_ROOT=`$NVCC --dryrun -x cu /dev/null 2>&1 | sed -n 's/^#@S|@ TOP=//p'`])
  AS_IF([test -z "$NVCC"], [ra_have_cuda=no ra_why="no nvcc"],
    [test -z "$CUDA_ROOT"], [ra_have_cuda=no ra_why="no toolkit for $NVCC"])
])

# Headers and libraries.  The runtime is linked statically; cuBLAS and NCCL are
# opened at run time (exec/backend/cuda_forward.c), in CUDA_LIBRARY_PATH among others:
# linked, they would cost 70 ms before main(), and a machine without them the
# program.  -isystem because nccl.h does not compile with -Wstrict-prototypes.
# Never -lcuda: it would be NEEDED, and without a driver nothing would start.
AC_DEFUN([_RA_CUDA_LIBS], [
  ra_libdir=
  for ra_d in lib64 lib targets/x86_64-linux/lib targets/sbsa-linux/lib; do
    AS_IF([test -e "$CUDA_ROOT/$ra_d/libcudart_static.a"],
      [ra_libdir=$CUDA_ROOT/$ra_d; break])
  done
  CUDA_CPPFLAGS="-isystem $CUDA_ROOT/include"
  CUDA_LDFLAGS="${ra_libdir:+-L$ra_libdir}"
  ra_path=$ra_libdir
  AS_IF([test -n "$with_nccl"], [
    AS_IF([test ! -r "$with_nccl/include/nccl.h"],
      [AC_MSG_ERROR([--with-nccl=$with_nccl: no include/nccl.h there])])
    CUDA_CPPFLAGS="-isystem $with_nccl/include $CUDA_CPPFLAGS"
    ra_path=$with_nccl/lib:$ra_path])
  AC_DEFINE_UNQUOTED([CUDA_LIBRARY_PATH], ["$ra_path"],
    [Folders where the libraries of CUDA were met, colons between])
  CUDA_LIBS="-lcudart_static -lstdc++ -lpthread -ldl -lrt"
  ra_save_CPPFLAGS=$CPPFLAGS ra_save_LDFLAGS=$LDFLAGS
  CPPFLAGS="$CUDA_CPPFLAGS $CPPFLAGS" LDFLAGS="$CUDA_LDFLAGS $LDFLAGS"
  AC_CHECK_HEADERS([cuda_runtime_api.h cublas_v2.h cublasLt.h nccl.h], [],
    [ra_have_cuda=no ra_why="no $ac_header"])
  AC_CHECK_LIB([cudart_static], [cudaGetDeviceCount], [:],
    [ra_have_cuda=no ra_why="no libcudart_static"], [-lpthread -ldl -lrt])
  CPPFLAGS=$ra_save_CPPFLAGS LDFLAGS=$ra_save_LDFLAGS
])

AC_DEFUN([_RA_CUDA_NVCC], [
  : ${NVCC_ARCH=sm_90}
  : ${NVCCFLAGS=-O3 -lineinfo}
  echo '__global__ void k(float *x) { x@<:@threadIdx.x@:>@ = 1.0f; }' >conftest.cu
  for ra_arch in $NVCC_ARCH sm_90a; do
    AC_MSG_CHECKING([whether $NVCC compiles for $ra_arch])
    AS_IF([$NVCC -arch=$ra_arch $NVCCFLAGS -std=c++17 -c conftest.cu \
             -o conftest.$OBJEXT >&AS_MESSAGE_LOG_FD 2>&1],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       ra_have_cuda=no ra_why="$NVCC does not compile for $ra_arch"])
  done
  rm -f conftest.cu conftest.$OBJEXT
  NVCC_CODE=
  for ra_arch in $NVCC_ARCH; do
    ra_n=${ra_arch#sm_}
    NVCC_CODE="$NVCC_CODE -gencode=arch=compute_$ra_n,code=sm_$ra_n"
  done
  AS_CASE([$ra_n], [*a|*f], [],
    [NVCC_CODE="$NVCC_CODE -gencode=arch=compute_$ra_n,code=compute_$ra_n"])
  AC_SUBST([NVCC_CODE])
])
