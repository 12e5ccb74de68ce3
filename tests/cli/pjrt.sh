# SPDX-License-Identifier: Apache-2.0
# Read after setup.sh by cases that compute with a PJRT plug-in: XLA on the CPU, which has four devices.
# shellcheck shell=sh

needs_xla() {
    if python=$(scripts/python-tools xla_cpu); then
        DTRAIN_PJRT_PLUGIN=$("$python" -c 'import os, xla_plugins.xla_cpu_pjrt as p; print(os.path.join(p.__path__[0], "xla_cpu_pjrt.so"))')
        export DTRAIN_PJRT_PLUGIN
        [ -f "$DTRAIN_PJRT_PLUGIN" ] && return
    fi
    echo "xla-cpu-pjrt is not here: see scripts/python-tools"
    exit 77
}

# same_history A B WITHIN: two runs report the same epochs, each number (loss, metrics, val_*) within that part of the other, or of 1e-3 where it is smaller.
same_history() {
    paste -d'\n' "$1/history.jsonl" "$2/history.jsonl" | awk -v within="$3" '
        { gsub(/[{}",:]/, " "); n = split($0, word, " ") }
        NR % 2 { for (i = 1; i <= n; i++) one[i] = word[i]; m = n; next }
        {
            if (n != m || n == 0) { print "line " NR / 2 ": " m " words, and " n; bad = 1; next }
            for (i = 1; i < n; i += 2) {
                d = one[i + 1] - word[i + 1]; scale = one[i + 1] < 0 ? -one[i + 1] : one[i + 1]
                if (scale < 1e-3) scale = 1e-3
                if (one[i] != word[i] || d > within * scale || d < -within * scale) {
                    print "epoch " NR / 2 ": " one[i] " " one[i + 1] ", and " word[i] " " word[i + 1]; bad = 1
                }
            }
        }
        END { if (NR == 0) print "no epochs"; exit bad }' || echo "$2 is not like $1"
}

# trains NAME WORDS...: the job on cpu and on pjrt, in TEST_DIR/NAME-cpu and TEST_DIR/NAME-pjrt.
trains() {
    name=$1
    shift
    for on in cpu pjrt; do
        "$DTRAIN" fit "$@" --backend $on "output.dir=$TEST_DIR/$name-$on" >"$TEST_DIR/$name-$on.out" 2>&1 || {
            echo "$name on $on: exit $?"
            cat "$TEST_DIR/$name-$on.out"
        }
    done
}
