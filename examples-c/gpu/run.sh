#!/bin/sh
# Compiles and runs the examples that need a GPU. Builds no library: give it what was built elsewhere.
#
#   examples-c/gpu/run.sh PREFIX [RANKS]
#
# PREFIX has include/factz.h, include/factz.hpp and lib/libfactz.so (`cmake --install`, or copies of those
# files), and may have lib/hdf5/plugin/libh5zfactz.so, and lib/adios2/plugin/libfactz_adios2.so, which is
# tested if ADIOS2_INCLUDE names the folder of ADIOS2's headers.
# Needs nvcc and a GPU; RANKS (default: one per GPU, at least 2) MPI ranks share the GPUs there are. Python
# with CuPy runs the example of the Python package; where mpicc or CuPy is missing a line says so. Sizes: SIZE
# (4096) vertices along each side of the flow, LIMIT (1.2) on its overhead over the compression time.
# Exit status 0 when everything that ran holds.
set -u
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?usage: run.sh PREFIX [RANKS]}" && pwd)
devices=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)
ranks=${2:-$devices}
[ "$ranks" -ge 2 ] || ranks=2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

step() {
    name=$1
    shift
    echo "== $name"
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "== $name failed"
    fi
}

# The names that the linker and the loader look for, also where only libfactz.so was copied.
mkdir "$work/lib"
cp -L "$prefix/lib/libfactz.so" "$work/lib/libfactz.so.0"
ln -s libfactz.so.0 "$work/lib/libfactz.so"
LD_LIBRARY_PATH=$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# In containers ranks may not read each other's memory.
OMPI_MCA_btl_vader_single_copy_mechanism=none
export LD_LIBRARY_PATH OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_btl_vader_single_copy_mechanism

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
step "compile" "$here/compile.sh" "$prefix/include" "$work" "$work/lib"
cd "$work" || exit 1

step "stream and graph replay" ./cuda_graph
for mode in block speculative; do
    step "in situ, $mode" ./insitu_solver --size "${SIZE:-4096}" --mode $mode --limit "${LIMIT:-1.2}"
done

blocks() {
    mpirun --oversubscribe -n "$ranks" ./mpi_blocks_cuda "$@"
}
# The GPU ranks and the CPU ranks write the same file.
same_file() {
    blocks write "$1.device" u.f32 v.f32 3001 2003 --device --mode "$2" --borders "$3" &&
        blocks write "$1.host" u.f32 v.f32 3001 2003 --mode "$2" --borders "$3" &&
        cmp "$1.device" "$1.host" && rm "$1.device" "$1.host"
}
if [ -x mpi_blocks_cuda ] && command -v mpirun >/dev/null; then
    python3 -c "
import numpy as np
y, x = np.mgrid[0:2003, 0:3001].astype(np.float64)
a, b = 0.021 * x + 0.007 * y, 0.019 * y - 0.006 * x
(np.sin(a) * np.cos(b) + 0.2 * np.cos(4 * a - b)).astype(np.float32).tofile('u.f32')
(-np.cos(a) * np.sin(b) + 0.2 * np.sin(3 * b + a)).astype(np.float32).tofile('v.f32')"
    for mode in block speculative; do
        for borders in halo pin; do
            step "MPI, $ranks ranks on $devices GPUs, $mode, $borders" \
                blocks --device --mode $mode --borders $borders --dims 1501x1103
            step "MPI, GPU ranks against CPU ranks, $mode, $borders" same_file file $mode $borders
        done
    done
else
    echo "MPI: not run, mpicc or mpirun is missing"
fi

# The device and the host write the same file. With the plugin of PREFIX it is read back as well.
same_chunks() {
    ./hdf5_chunks_cuda device.h5 --device --mode "$1" && ./hdf5_chunks_cuda host.h5 --mode "$1" &&
        cmp device.h5 host.h5
}
if [ -x hdf5_chunks_cuda ]; then
    [ ! -d "$prefix/lib/hdf5/plugin" ] || export HDF5_PLUGIN_PATH="$prefix/lib/hdf5/plugin"
    for mode in block speculative; do
        step "HDF5 chunks from the GPU, $mode" same_chunks $mode
    done
else
    echo "HDF5: not run, h5cc is missing"
fi

# The operator of ADIOS2 on blocks in device memory, where ADIOS2_INCLUDE names the folder of ADIOS2's
# headers.
adios2_blocks() {
    PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin nvcc -std=c++14 -I"$ADIOS2_INCLUDE" -x cu \
        "$here/../../tests/plugins/adios2/device.cpp" -ldl -o adios2_device &&
        ./adios2_device "$prefix/lib/adios2/plugin/libfactz_adios2.so"
}
if [ -n "${ADIOS2_INCLUDE:-}" ]; then
    step "ADIOS2 operator, blocks in device memory" adios2_blocks
fi

if python3 -c 'import cupy' 2>/dev/null; then
    package=$here/../../plugins/python
    step "Python with CuPy" env PYTHONPATH="$package" FACTZ_LIBRARY="$work/lib/libfactz.so.0" \
        python3 "$package/examples/arrays.py" --cupy
else
    echo "CuPy: not run, python3 cannot import it"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
