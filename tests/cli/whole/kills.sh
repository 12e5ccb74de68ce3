#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Twenty times kill -9 at a random moment of a job that saves often, the same command each time: it ends with the weights and the
# history of the undisturbed run. SEED=N gives the same moments again, as far as the machine does.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "seed $seed" >&2
run() {
    exec "$DTRAIN" fit "$tiny" fit.epochs=100 checkpoint.save_freq=7 "output.dir=$TEST_DIR/$1" --json
}
# A job that came to its end by itself: is it the undisturbed one?
compare() {
    [ "$(weights "$TEST_DIR/out")" = "$want" ] || echo "other weights after $killed kills (seed $seed)"
    cmp "$TEST_DIR/whole/history.jsonl" "$TEST_DIR/run/history.jsonl" || echo "another history after $killed kills (seed $seed)"
}

(run whole) >"$TEST_DIR/out" || echo "undisturbed: exit $?"
want=$(weights "$TEST_DIR/out")
killed=0
awk -v seed="$seed" 'BEGIN { srand(seed); for (i = 0; i < 400; i++) printf "%.3f\n", 0.3 * rand() }' 2>/dev/null | while [ $killed -lt 20 ] && read -r delay; do
    (run run) >"$TEST_DIR/out" 2>"$TEST_DIR/err" &
    sleep "$delay"
    kill -9 $! 2>/dev/null
    wait $!
    code=$?
    case $code in
    137) killed=$((killed + 1)) ;;
    0)
        compare
        rm -rf "$TEST_DIR/run"
        ;;
    *)
        echo "exit $code after $killed kills (seed $seed)"
        cat "$TEST_DIR/err"
        ;;
    esac
done
(run run) >"$TEST_DIR/out" || echo "the last run: exit $?"
killed=20
compare
