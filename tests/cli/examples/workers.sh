#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A custom loop on workers in separate processes: the losses of one process, printed once. A program for one process is refused.
. tests/cli/setup.sh
. tests/cli/jobs.sh
needs_digits
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# MPI's own libraries leak.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
for name in workers_loop mirrored_mlp; do
    [ -x "$BUILD/examples/$name" ] || { echo "no $BUILD/examples/$name: make examples" && exit 77; }
    cp "$BUILD/examples/$name" "$TEST_DIR" # a program finds its plug-in beside it
done
program=$TEST_DIR/workers_loop
if ! command -v mpirun.openmpi >"$TEST_DIR/which" || [ ! -e "$(dirname "$DTRAIN")/dtrain-fabric-openmpi.so" ]; then
    echo "Open MPI is not here"
    exit 77
fi
cp "$(dirname "$DTRAIN")/dtrain-fabric-openmpi.so" "$TEST_DIR"
"$program" >"$TEST_DIR/one" || echo "exit $?"
for n in 2 3; do
    timeout -k 3 100 mpirun.openmpi --oversubscribe --mca btl self,vader --mca oob_tcp_if_include lo -n $n "$program" >"$TEST_DIR/some" || echo "exit $?"
    wc -l <"$TEST_DIR/some"
    paste "$TEST_DIR/one" "$TEST_DIR/some" | awk '{ if ($2 - $6 > 2e-4 || $6 - $2 > 2e-4 || $4 - $8 > 1e-3 || $8 - $4 > 1e-3) print "others:", $0 }'
done
timeout -k 3 100 mpirun.openmpi --oversubscribe --mca btl self,vader --mca oob_tcp_if_include lo -n 2 "$TEST_DIR/mirrored_mlp" >"$TEST_DIR/out" 2>&1 && echo "not refused"
has "$TEST_DIR/out" "one of 2 processes"
