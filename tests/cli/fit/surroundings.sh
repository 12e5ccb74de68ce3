#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F20, F21, F29, F30: a bare environment, odd variables, an open umask, a decimal comma: the same weights, and safe files.
. tests/cli/setup.sh
write_tiny
run() {
    name=$1
    shift
    env "$@" "$DTRAIN" fit "$tiny" "output.dir=$TEST_DIR/$name" --threads 1 --kernels openblas --json >"$TEST_DIR/$name.out" 2>"$TEST_DIR/$name.err" || echo "$name: exit $?"
    cat "$TEST_DIR/$name.err"
    [ "$name" = plain ] || [ "$(weights "$TEST_DIR/$name.out")" = "$(weights "$TEST_DIR/plain.out")" ] || echo "$name: other weights"
}
umask 000
run plain A=b
run bare -i
run comma LC_ALL=de_DE.UTF-8
run blas OPENBLAS_NUM_THREADS=-1
# Other kernels may round differently, so a run that goes on with them says so.
"$DTRAIN" fit "$tiny" "output.dir=$TEST_DIR/plain" -q --kernels openblas fit.epochs=3
"$DTRAIN" fit "$tiny" "output.dir=$TEST_DIR/plain" -q --kernels own fit.epochs=4 2>&1 | grep -o "goes on with 'own'"
find "$TEST_DIR/plain" -perm -o=w | hide
env OMP_NUM_THREADS=banana "$DTRAIN" fit -n "$tiny" 2>&1 | head -n 1
# Each of several processes that a launcher started would train the whole job, so each is refused; one alone trains.
# shellcheck disable=SC2089,SC2090 # words, quotes and all
for several in "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0" "PMI_SIZE=4 PMI_RANK=3" "SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0" "RANK=1 WORLD_SIZE=2" 'TF_CONFIG={"cluster":{"worker":["a:1","b:2"]},"task":{"type":"worker","index":0}}' \
    OMPI_COMM_WORLD_SIZE=1 SLURM_NTASKS=2 WORLD_SIZE=2 'TF_CONFIG={"cluster":{"worker":["a:1"]}}'; do
    # shellcheck disable=SC2086,SC2090 # words
    env $several "$DTRAIN" fit -n "$tiny" >"$TEST_DIR/several" 2>&1
    echo "$several: exit $?"
    sed -n 's/^dtrain: error: //p' "$TEST_DIR/several"
done
# In a batch script of Slurm without srun a job that would share its work trains alone, and fit warns. It does not warn of a
# launcher's job, nor of others.
shared='strategy={type: multi_worker_mirrored}'
for alone in SLURM_NTASKS=2 "SLURM_NTASKS=2 SLURM_PROCID=0" SLURM_NTASKS=1 "SLURM_NTASKS=2 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0" "SLURM_NTASKS=2 OMPI_COMM_WORLD_SIZE=1"; do
    # shellcheck disable=SC2086,SC2090 # words
    echo "$alone: $(env $alone "$DTRAIN" fit -n "$tiny" "$shared" 2>&1 | grep srun)"
done
env SLURM_NTASKS=2 "$DTRAIN" fit -n "$tiny" 2>&1 | grep srun
env OMP_NUM_THREADS=3 "$DTRAIN" fit -n "$tiny" | grep -c '3 threads'
