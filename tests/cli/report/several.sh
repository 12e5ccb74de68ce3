#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs side by side: a column each, only the settings that differ; runs with the same name are named by their folders. A resumed run is marked as such.
. tests/cli/setup.sh
write_tiny
page=$TEST_DIR/page.html
for seed in 1 2 3; do
    "$DTRAIN" fit "$tiny" "seed=$seed" "output.dir=$TEST_DIR/run$seed" >/dev/null
done
"$DTRAIN" fit "$tiny" seed=2 fit.epochs=4 "output.dir=$TEST_DIR/run2" >/dev/null
show report "$TEST_DIR/run1" "$TEST_DIR/run2" "$TEST_DIR/run3" -o "$page"
[ -e "$TEST_DIR/run1/report.html" ] && echo "a page that was not asked for"
keys() { # those in which the jobs differ
    grep -o '"job": {[^}]*}' "$page" | sed 's/^"job": {//; s/}$//; s/, "/\n"/g' | sort | uniq -c | awk -v runs="$1" '$1 < runs { gsub(/[":]/, "", $2); print $2 }' | sort -u | tr '\n' ' '
}
echo "keys: $(keys 3)"
for text in '"label": "run2"' "\"path\": \"$TEST_DIR/run2\"" 'resumed 1 time'; do has "$page" "$text"; done

# The same seed: the same job but for its folder, the same weights.
"$DTRAIN" fit "$tiny" seed=1 "output.dir=$TEST_DIR/twin" >/dev/null
"$DTRAIN" report "$TEST_DIR/run1" "$TEST_DIR/twin" -q -o "$page"
echo "keys: $(keys 2)"

# On a slice the picture is there.
"$DTRAIN" fit "$tiny" 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}' dataset.global_batch_size=16 "output.dir=$TEST_DIR/slice" >/dev/null
"$DTRAIN" report "$TEST_DIR/slice" -q -o "$page"
grep -o 'title>v[^\]*\\u003c/title\|>r[0-7]\\u003c' "$page" | sort | tr '\n' ' '
echo
has "$page" '"virtual_ms": {'
