#!/bin/sh
# Tests the device functions on a machine with a GPU. Builds nothing: give it what was built elsewhere.
#
#   tests/gpu/run.sh TEST_BINARY [CLI]
#
# TEST_BINARY is the test `gpu` (cargo test --release --test gpu --no-run), CLI the program `factz`, whose
# benchmark is run when it is given. FACTZ_DATA names the folder of fields (default: data beside tests).
# SANITIZE=0 leaves compute-sanitizer out; SANITIZE_FIELDS says what it runs on.
set -u
here=$(cd "$(dirname "$0")" && pwd)
test_binary=${1:?usage: run.sh TEST_BINARY [CLI]}
cli=${2:-}
FACTZ_DATA=${FACTZ_DATA:-$here/../../data}
export FACTZ_DATA FACTZ_GPU_REQUIRED=1
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

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
step "device against host" "$test_binary"

if [ "${SANITIZE:-1}" = 1 ] && command -v compute-sanitizer >/dev/null; then
    fields=${SANITIZE_FIELDS:-tiny,integer64,too_small,corrupt}
    for tool in memcheck racecheck synccheck initcheck; do
        poison=1
        # It looks for reads of memory that nobody wrote, which the test would fill otherwise.
        [ $tool = initcheck ] && poison=0
        step "compute-sanitizer $tool" env FACTZ_GPU="$fields" FACTZ_GPU_POISON=$poison \
            timeout "${SANITIZE_SECONDS:-240}" compute-sanitizer --tool $tool --error-exitcode 9 \
            --print-limit 10 "$test_binary"
    done
fi

if [ -n "$cli" ]; then
    step "benchmark" "$cli" bench --backend cuda --synthetic dense --dims 8192x8192
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
