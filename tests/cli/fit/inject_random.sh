#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Faults of random kinds, at random steps, several in a row: the same command without them ends with the undisturbed run's weights. What was
# drawn is printed with the failure; FAULTS_SEED draws it again.
# check-fast: train
. tests/cli/setup.sh
write_tiny
seed=${FAULTS_SEED:-$(date +%s)}
slice='strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}'

# A round a line: the optimizer, how often a checkpoint is saved, then some faults; the run has 12 steps.
draw() {
    awk -v seed="$seed" 'function below(n) { return int(n * rand()) }
        BEGIN {
            srand(seed)
            for (round = 0; round < 12; round++) {
                line = (below(2) ? "SGD" : "Adam") " " 1 + below(6)
                for (n = 1 + below(3); n > 0; n--) {
                    at = "@step=" 1 + below(12)
                    kind = below(4)
                    if (kind == 0) fault = "kill:core=" below(8) at
                    if (kind == 1) fault = "nan" at
                    if (kind == 2) fault = "slow-link:x=" below(2) ",y=" below(2) at "*" 1 + below(9)
                    if (kind == 3) fault = "hbm=" 2 ^ below(20)
                    line = line " " fault
                }
                print line
            }
        }'
}

fit() {
    "$DTRAIN" fit "$tiny" "$slice" compile.optimizer="$optimizer" checkpoint.save_freq="$often" output.dir="$TEST_DIR/run" --json "$@" \
        >"$TEST_DIR/out" 2>"$TEST_DIR/err" && status=0 || status=$?
}

# Ends as one of its faults does, or as if there were none.
answers() {
    case "$status $*" in
    "69 "*kill* | "79 "*nan* | "78 "*hbm*) return ;;
    "0 "*kill* | "0 "*nan*) ;;
    "0 "*) return ;;
    esac
    echo "seed $seed: $optimizer, $often, $*: exit $status"
}

meets() {
    for fault; do
        set -- "$@" --inject "$fault"
        shift
    done
    fit "$@"
}

draw >"$TEST_DIR/rounds"
while read -r optimizer often faults; do
    rm -rf "$TEST_DIR/run"
    fit
    whole=$(weights "$TEST_DIR/out")
    rm -rf "$TEST_DIR/run"
    # shellcheck disable=SC2086 # a word a fault
    meets $faults
    answers "$faults"
    fit
    [ "$status $(weights "$TEST_DIR/out")" = "0 $whole" ] || echo "seed $seed: $optimizer, $often, $faults: the run that went on ends with exit $status, other weights"
done <"$TEST_DIR/rounds"
echo "$(wc -l <"$TEST_DIR/rounds") rounds"
