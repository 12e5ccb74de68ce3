#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F24, F25, F26, F36: limits of the shell. Few descriptors, little memory, small files, little time: it trains, or reports the limit and ends
# with the documented code; never a signal, never a hang.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
# under LIMIT CODES WORDS: runs the tiny job under a limit; one of the codes must come. What it says goes through a pipe, for a limit
# on the size of files is one on the file of its messages, too.
under() {
    # shellcheck disable=SC2086 # words
    { (ulimit $1 && exec timeout -k 1 60 "$DTRAIN" fit "$tiny" --fresh -q --threads 2 $3) 2>&1 && code=0 || code=$?; echo "exit $code"; } | cat >"$TEST_DIR/out"
    code=$(sed -n '$s/^exit //p' "$TEST_DIR/out")
    case " $2 " in *" $code "*) ;; *) echo "ulimit $1: exit $code, not $2" && head -n 5 "$TEST_DIR/out" ;; esac
    [ "$code" = 0 ] || has "$TEST_DIR/out" "$([ "$code" = 75 ] && echo 'to resume, run:' || echo 'dtrain: error:')"
}
for limit in '-v 8000000' '-n 64' '-f 1' '-S -t 5'; do
    # shellcheck disable=SC2086
    (ulimit $limit) 2>/dev/null || { echo "no limits here: ulimit $limit" && exit 77; }
done

if ! sanitized; then # which needs more memory than that
    for kilobytes in 60000 80000 100000 150000 250000; do
        for kernels in openblas onednn auto; do
            under "-v $kilobytes" '0 71' "--kernels $kernels"
        done
    done
    under '-v 8000000' 0 '--kernels openblas'
    # shellcheck disable=SC3045 # dash and bash have it
    (ulimit -v 60000 && "$DTRAIN" --version >"$TEST_DIR/out") || echo "--version in 60 MB: exit $?"
    under '-n 4' 71
    has "$TEST_DIR/out" 'too many open files'
fi
under '-n 16' '0 71'
under '-n 10' '0 71'
for blocks in 0 1 2; do
    under "-f $blocks" 74
    has "$TEST_DIR/out" 'file too large'
done
# A second of processor time, then SIGXCPU: saved, and goes on later.
under '-S -t 1' 75 'fit.epochs=100000000 checkpoint.save_freq=1000000000'
exits 0 fit "$tiny" fit.epochs=100000000 --steps "$(cd "$TEST_DIR/run/ckpt" && echo step-* | sed 's/step-0*//')"
