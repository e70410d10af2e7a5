#!/usr/bin/env bash
# All that needs a GPU, in one go, on a machine that has one; from the repository's root:
#
#   bash benchmarks/cuda/run_all.sh                       install, then every step
#   bash benchmarks/cuda/run_all.sh tests benchmark       some of the steps: tests, memcheck, racecheck, benchmark
#   PYTHON=python3 bash benchmarks/cuda/run_all.sh        with what this Python has: nothing is installed
#
# No step takes more than LIMIT seconds (570), and each says what it left out.  The benchmark goes on where it was when it
# is called again.  WORKERS (8) processes run the tests; SRCGRAD_SHARE=0/4 runs a quarter of the corpus (which quarter: 0
# to 3).  Logs are in LOGS (build/cuda).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

limit=${LIMIT:-570}
workers=${WORKERS:-8}
logs=${LOGS:-build/cuda}
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(tests memcheck racecheck benchmark)
outcomes=()
mkdir -p "$logs"

run() { # NAME COMMAND...: its outcome is one line at the end
    local name=$1 code
    shift
    printf '\n== %s: %s\n' "$name" "$*"
    "$@" 2>&1 < /dev/null | tee "$logs/$name.log"
    code=${PIPESTATUS[0]}
    case $code in
        0) outcomes+=("$name: passed") ;;
        124 | 137) outcomes+=("$name: STOPPED after $limit s; what it had not come to is left out") ;;
        *) outcomes+=("$name: FAILED ($code), see $logs/$name.log") ;;
    esac
    return "$code"
}

in_time() { timeout --signal=INT --kill-after=20 "$limit" "$@"; }

left_out() { outcomes+=("$1: left out, $2"); }

install() {
    local venv=.venv-cuda
    [ -x $venv/bin/python ] || python3 -m venv $venv
    PYTHON=$venv/bin/python
    run install in_time $PYTHON -m pip install --quiet --editable '.[cuda,test]' || return 1
    run install_torch in_time $PYTHON -m pip install --quiet torch || left_out 'benchmark of PyTorch' 'it could not be installed'
    run install_jax in_time $PYTHON -m pip install --quiet 'jax[cuda13]' || left_out 'benchmark of JAX' 'it could not be installed'
}

report() {
    cp benchmarks/results/cuda_*.json "$logs" 2> /dev/null
    printf '\n== in short\n'
    printf '%s\n' "${outcomes[@]}"
    case "${outcomes[*]}" in *FAILED* | *STOPPED*) exit 1 ;; esac
    exit 0
}

# On virtualised hosts it may refuse the device.
can_watch() { # TOOL
    local trivial='from numba import cuda; cuda.jit(lambda x: None)[1, 1](cuda.device_array(1)); cuda.synchronize()'
    timeout --kill-after=20 120 compute-sanitizer --tool "$1" "$PYTHON" -c "$trivial" > "$logs/$1_probe.log" 2>&1 < /dev/null \
        && ! grep -qiE 'not supported|unable to|no attachable process' "$logs/$1_probe.log"
}

# compute-sanitizer watches one process, and each kernel takes it a hundred times as long: the benchmarks' programs on a
# few elements, and a part of the corpus, by WORKERS processes.
sanitize() { # TOOL
    if ! command -v compute-sanitizer > /dev/null; then
        left_out "$1" 'there is no compute-sanitizer here (it comes with the CUDA toolkit)'
        return
    fi
    if ! can_watch "$1"; then
        left_out "$1" "compute-sanitizer cannot watch this device, see $logs/$1_probe.log"
        return
    fi
    run "$1" watched "$1"
}

watched() { # TOOL: the first WORKERS of SHARES parts of the corpus, each by a process; its outcome is the worst of theirs
    local shares=${SHARES:-48} part worst=0 files
    local -a parts=()
    for ((part = 0; part < workers && part < shares; part++)); do
        files=(tests/cuda/test_cuda_corpus.py)
        [ $part -gt 0 ] || files+=(tests/cuda/test_cuda_benchmarks.py)
        SRCGRAD_SHARE=$part/$shares timeout --signal=INT --kill-after=20 "$limit" \
            compute-sanitizer --tool "$1" --error-exitcode 9 --print-limit 20 \
            "$PYTHON" -m pytest -q -n 0 -p no:cacheprovider "${files[@]}" > "$logs/$1_$part.log" 2>&1 < /dev/null &
        parts+=($!)
    done
    for part in "${!parts[@]}"; do
        wait "${parts[$part]}" || worst=$?
        tail -n 3 "$logs/$1_$part.log"
    done
    return "$worst"
}

if [ -n "${PYTHON:-}" ]; then
    export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
else
    install || report
fi
if ! "$PYTHON" -c 'import sys; from numba import cuda; sys.exit(not cuda.is_available())'; then
    outcomes+=('FAILED: no NVIDIA GPU here, or no driver or numba-cuda for it; nothing was run')
    report
fi
for step in "${steps[@]}"; do
    case $step in
        tests) run tests in_time "$PYTHON" -m pytest -q -n "$workers" -p no:cacheprovider tests/cuda ;;
        memcheck | racecheck) sanitize "$step" ;;
        benchmark) run benchmark in_time "$PYTHON" -m benchmarks cuda --go-on --minutes "$((limit / 60 - 1))" ;;
        *) outcomes+=("FAILED: there is no step $step") ;;
    esac
done
report
