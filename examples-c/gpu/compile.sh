#!/bin/sh
# Compiles the CUDA and MPI programs of examples-c.
#
#   examples-c/gpu/compile.sh INCLUDE OUT [LIB]
#
# INCLUDE has factz.h and factz.hpp, programs go to the folder OUT. Without LIB, the folder of libfactz.so,
# nothing is linked: enough to see that everything compiles. nvcc is looked for in NVCC, below CUDA_HOME, in
# PATH, in /usr/local/cuda and in a virtual environment (.venv); without one there is one line about it and
# exit status 0, or 1 where LIB is given. NVCC_ARCH=sm_80 chooses the architecture (sm_90). The MPI program
# needs mpicc and the one with HDF5 needs h5cc; each is left out with a line where there is none.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
include=${1:?usage: compile.sh INCLUDE OUT [LIB]}
out=${2:?usage: compile.sh INCLUDE OUT [LIB]}
lib=${3:-}

find_nvcc() {
    for candidate in "${NVCC:-}" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" nvcc /usr/local/cuda/bin/nvcc \
        "$here"/../../.venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc; do
        if [ -n "$candidate" ] && command -v "$candidate" >/dev/null && "$candidate" --version >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
}
nvcc=$(find_nvcc)
if [ -z "$nvcc" ]; then
    echo "CUDA examples: not compiled, there is no nvcc (set NVCC or CUDA_HOME)"
    [ -z "$lib" ]
    exit
fi
mkdir -p "$out"
# The wheel has its libraries in lib, where nvcc does not look.
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")

build() {
    program=$1
    source=$2
    shift 2
    if [ -n "$lib" ]; then
        "$nvcc" "$@" -I"$include" "$here/../$source" -o "$out/$program" -L"$lib" -lfactz -L"$toolkit/lib" -lm
    else
        "$nvcc" "$@" -I"$include" -c "$here/../$source" -o "$out/$program.o"
    fi
    echo "compiled $source"
}

# Warnings are errors where it is about checking; a program to be run should not fail on those of a newer
# compiler.
strict="-Xcompiler -Wall,-Wextra"
[ -n "$lib" ] || strict="$strict,-Werror -Werror all-warnings"
for name in cuda_graph insitu_solver; do
    # shellcheck disable=SC2086
    build $name $name.cu -std=c++17 -O3 -arch="${NVCC_ARCH:-sm_90}" $strict
done
if command -v mpicc >/dev/null; then
    # shellcheck disable=SC2086
    build mpi_blocks_cuda mpi_blocks.c -ccbin mpicc -DWITH_CUDA -O2 $strict
else
    echo "MPI example with CUDA: not compiled, there is no mpicc"
fi
if command -v h5cc >/dev/null; then
    h5cc -std=c99 -DWITH_CUDA -O2 -Wall -Wextra -Werror -I"$include" -I"$toolkit/include" -c "$here/../hdf5_chunks.c" \
        -o "$out/hdf5_chunks.o"
    if [ -n "$lib" ]; then
        h5cc "$out/hdf5_chunks.o" -o "$out/hdf5_chunks_cuda" -L"$lib" -lfactz -L"$toolkit/lib64" -L"$toolkit/lib" \
            -Wl,-rpath,"$toolkit/lib64:$toolkit/lib" -lcudart -lm
    fi
    echo "compiled hdf5_chunks.c"
else
    echo "HDF5 example with CUDA: not compiled, there is no h5cc"
fi
