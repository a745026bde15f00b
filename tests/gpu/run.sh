#!/bin/sh
# Tests the device functions on a machine with a GPU. Builds nothing: give it what was built elsewhere.
#
#   tests/gpu/run.sh TEST_BINARY [CLI]
#
# TEST_BINARY is the test `gpu` (cargo test --release --test gpu --no-run). CLI is the program `factz`: its
# fixes are tested and its benchmark is run when it is given. FACTZ_DATA names the folder of fields and
# FACTZ_GOLDEN that of the golden streams (default: data and tests/golden of the crate that this script lies in).
#
# SANITIZE=0 leaves compute-sanitizer out, SANITIZE=only runs nothing else. SANITIZE_FIELDS says what all its
# tools run on, SANITIZE_MORE what memcheck and initcheck run on besides, MUTATIONS how many damaged streams of
# each case memcheck sees, SANITIZE_SECONDS how long a tool may take.
set -u
here=$(cd "$(dirname "$0")" && pwd)
test_binary=${1:?usage: run.sh TEST_BINARY [CLI]}
cli=${2:-}
FACTZ_DATA=${FACTZ_DATA:-$here/../../data}
FACTZ_GOLDEN=${FACTZ_GOLDEN:-$here/../golden}
export FACTZ_DATA FACTZ_GOLDEN FACTZ_GPU_REQUIRED=1 FACTZ_CLI="$cli"
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

# sanitize "TOOL [OPTIONS]" WORDS [VARIABLE=VALUE ...]: the tests whose names contain one of the words
sanitize() {
    tool=$1
    words=$2
    shift 2
    step "compute-sanitizer $tool: $words" env FACTZ_GPU="$words" "$@" \
        timeout "${SANITIZE_SECONDS:-400}" compute-sanitizer --tool $tool --error-exitcode 9 \
        --print-limit 10 "$test_binary"
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
if [ "${SANITIZE:-1}" != only ]; then
    step "device against host" "$test_binary"
fi

if [ "${SANITIZE:-1}" != 0 ]; then
    if command -v compute-sanitizer >/dev/null; then
        fields=${SANITIZE_FIELDS:-tiny33x31,piv_cavity,too_small,inspection,analysis_graph,planes,small_volumes}
        # Damaged volumes and fixes, which racecheck takes minutes for.
        more=${SANITIZE_MORE:-corrupt_volumes,refused_fixes,graph_of_fixes}
        sanitize memcheck "$fields,$more"
        sanitize memcheck corrupt_streams FACTZ_GPU_MUTATIONS="${MUTATIONS:-60}"
        sanitize racecheck "$fields"
        # The warps of a group wait for each other at several places of the code, as barriers with names
        # allow; the tool knows only warps that wait at the same one, and stops at the first other.
        sanitize "synccheck --kernel-name-exclude kernel_substring=factz_encode --kernel-name-exclude kernel_substring=factz_decode" "$fields"
        # It looks for reads of memory that nobody wrote, which the tests would fill otherwise.
        sanitize initcheck "$fields,$more" FACTZ_GPU_POISON=0
    else
        failed=$((failed + 1))
        echo "== there is no compute-sanitizer here (SANITIZE=0 leaves it out): failed"
    fi
fi

if [ -n "$cli" ]; then
    step "benchmark" "$cli" bench --backend cuda --synthetic dense --dims 8192x8192
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
