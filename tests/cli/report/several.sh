#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs side by side: a column each, what their jobs say otherwise, no more; runs of one name are told by their folders. A run that goes on is resumed.
. tests/cli/setup.sh
write_tiny
page=$TEST_DIR/page.html
for seed in 1 2 3; do
    "$DTRAIN" fit "$tiny" "seed=$seed" "output.dir=$TEST_DIR/run$seed" >/dev/null
done
"$DTRAIN" fit "$tiny" seed=2 fit.epochs=4 "output.dir=$TEST_DIR/run2" >/dev/null
show report "$TEST_DIR/run1" "$TEST_DIR/run2" "$TEST_DIR/run3" -o "$page"
[ -e "$TEST_DIR/run1/report.html" ] && echo "a page nobody asked for"
echo "keys: $(sed -n '/class="diff"/,/<\/table>/s/.*<tr><th scope="row"><code>\([^<]*\)<.*/\1/p' "$page" | tr '\n' ' ')"
echo "colours: $(grep -o 'class="line c[0-9]' "$page" | sort -u | tr '\n' ' ')"
for text in ">run2</span>" "$TEST_DIR/run2</code>" 'resumed 1 time' 'run1, training'; do has "$page" "$text"; done

# The same seed: the same job but for its folder, the same weights.
"$DTRAIN" fit "$tiny" seed=1 "output.dir=$TEST_DIR/twin" >/dev/null
"$DTRAIN" report "$TEST_DIR/run1" "$TEST_DIR/twin" -q -o "$page"
echo "keys: $(sed -n '/class="diff"/,/<\/table>/s/.*<tr><th scope="row"><code>\([^<]*\)<.*/\1/p' "$page" | tr '\n' ' ')"

# On a slice the picture is there.
"$DTRAIN" fit "$tiny" 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}' dataset.global_batch_size=16 "output.dir=$TEST_DIR/slice" >/dev/null
"$DTRAIN" report "$TEST_DIR/slice" -q -o "$page"
sed -n 's/.*src="data:image\/svg+xml;base64,\([^"]*\)".*/\1/p' "$page" | base64 -d | grep -o '<title>[^<]*</title>\|>r[0-7]<' | sort | tr '\n' ' '
echo
has "$page" 'id="chart-virtual"'
