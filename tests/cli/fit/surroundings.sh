#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F20, F21, F29, F30: a bare environment, odd variables, an open umask, a decimal comma: the same weights, and safe files.
. tests/cli/setup.sh
write_tiny
run() {
    name=$1
    shift
    env "$@" "$DTRAIN" fit "$tiny" "output.dir=$TEST_DIR/$name" --threads 1 --json >"$TEST_DIR/$name.out" 2>"$TEST_DIR/$name.err" || echo "$name: exit $?"
    cat "$TEST_DIR/$name.err"
    [ "$name" = plain ] || [ "$(weights "$TEST_DIR/$name.out")" = "$(weights "$TEST_DIR/plain.out")" ] || echo "$name: other weights"
}
umask 000
run plain A=b
run bare -i
run comma LC_ALL=de_DE.UTF-8
run blas OPENBLAS_NUM_THREADS=-1
find "$TEST_DIR/plain" -perm -o=w | hide
env OMP_NUM_THREADS=banana "$DTRAIN" fit -n "$tiny" 2>&1 | head -n 1
# processes that were started together share nothing, and are told so; one alone is
for several in OMPI_COMM_WORLD_SIZE=2 PMI_SIZE=4 SLURM_STEP_NUM_TASKS=3 OMPI_COMM_WORLD_SIZE=1 SLURM_NTASKS=2; do
    env $several "$DTRAIN" fit -n "$tiny" 2>&1 >/dev/null | sed "s/^/$several: /"
done
env OMP_NUM_THREADS=3 "$DTRAIN" fit -n "$tiny" | grep -c '3 threads'
