#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# On a terminal the running epoch is drawn with a bar and its line replaced when done; with CI or a dumb terminal it is not.
. tests/cli/setup.sh
needs_terminals
write_tiny
fit="$DTRAIN fit $tiny --fresh --threads 2 --color never"
on_terminal "COLUMNS=300 $fit" >"$TEST_DIR/live"
has "$TEST_DIR/live" 'epoch 1/2  ['
has "$TEST_DIR/live" ' ETA '
sed 's/\^\[\[K//g' "$TEST_DIR/live" >"$TEST_DIR/clear"
lacks "$TEST_DIR/clear" '^['
sed 's/.*|//' "$TEST_DIR/clear" | mask
has "$TEST_DIR/live" '^[[K|^[[Kepoch' # cleared to the end of the line, however wide an earlier one was
grep -q '    |' "$TEST_DIR/live" && echo 'blanks fill the line up'
on_terminal "COLUMNS=30 $fit" | tr '|' '\n' | awk 'length > 29 && /ETA/ { print "too wide: " $0 }'
for surroundings in CI=true TERM=dumb OMPI_COMM_WORLD_RANK=0 PMI_RANK=0; do
    on_terminal "$surroundings $fit" >"$TEST_DIR/plain"
    lacks "$TEST_DIR/plain" '|'
    lacks "$TEST_DIR/plain" '^['
done
on_terminal "COLUMNS=100 $DTRAIN fit $tiny --fresh" | sed -n '1s/\(job[^ ]*\) .*/\1/p'
