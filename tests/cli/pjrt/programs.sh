#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs of examples/ on XLA: with one more line, dt_strategy_set_backend, custom loops and fit give cpu's results; numbers within 1e-4.
. tests/cli/setup.sh
. tests/cli/jobs.sh
# shellcheck source=/dev/null
. tests/cli/pjrt.inc
needs_digits
needs_xla

# on BACKEND NAME: examples/NAME.c with that back end; its output, and its exit code if it fails.
on() {
    sed -e ':more' -e '/DT_LET(strategy, strategy,[^;]*$/ { N; b more' -e '}' \
        -e "s/^\\( *\\)DT_LET(strategy, strategy,[^;]*;/&\\n\\1DT_TRY(dt_strategy_set_backend(strategy, \"$1\", NULL));/" \
        -e 's/%\.4f/%.9f/' "examples/$2.c" >"$TEST_DIR/$2-$1.c"
    grep -q set_backend "$TEST_DIR/$2-$1.c" || echo "$2: no strategy to edit"
    compile "$TEST_DIR/$2-$1.c" "$TEST_DIR/$2-$1" || exit 1
    "$TEST_DIR/$2-$1" 2>&1 || echo "exit $?"
}
for name in reduce gather values_from_function tpu_run tpu_custom_loop mirrored_mlp tpu_loop workers_loop; do
    default=cpu
    if grep -q 'sim:' "examples/$name.c"; then default=sim; fi
    on $default $name >"$TEST_DIR/$name.cpu"
    on pjrt $name >"$TEST_DIR/$name.pjrt"
    [ -s "$TEST_DIR/$name.cpu" ] || echo "$name prints nothing"
    paste -d'\n' "$TEST_DIR/$name.cpu" "$TEST_DIR/$name.pjrt" | awk -v name="$name" '
        NR % 2 { n = split($0, one, " "); line = $0; next }
        { bad = split($0, word, " ") != n
          for (i = 1; i <= n; i++) { d = one[i] - word[i]; if (one[i] != word[i] && !(one[i] ~ /[0-9]/ && d < 1e-4 && d > -1e-4)) bad = 1 }
          if (bad) print name ": " line ", and " $0 }'
    echo "$name: $(wc -l <"$TEST_DIR/$name.pjrt")"
done
# Workers of a server take turns as they come, so that numbers differ from run to run.
on pjrt parameter_server | sed -n 's/^\([0-9]* steps\).*/\1/p'

# Workers that mpirun started, each with devices of its own.
if command -v mpirun.openmpi >"$TEST_DIR/which" && [ -e "$BUILD/dtrain-fabric-openmpi.so" ]; then
    ln -s "$PWD/$BUILD/dtrain-fabric-openmpi.so" "$TEST_DIR/"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    timeout -k 3 100 mpirun.openmpi --oversubscribe --mca btl self,vader --mca oob_tcp_if_include lo -n 3 "$TEST_DIR/workers_loop-pjrt" >"$TEST_DIR/ranks" 2>&1 || echo "exit $?"
    [ "$(wc -l <"$TEST_DIR/ranks")" = 3 ] || cat "$TEST_DIR/ranks"
    paste -d'\n' "$TEST_DIR/workers_loop.cpu" "$TEST_DIR/ranks" | awk 'NR % 2 { split($0, one, " "); next } { for (i = split($0, word, " "); i; i--) { d = one[i] - word[i]; if (d > 1e-4 || d < -1e-4) print } }'
fi
