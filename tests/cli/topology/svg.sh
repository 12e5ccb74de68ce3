#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pictures: well-formed, in a file or on standard output.
. tests/cli/setup.sh
write_tiny
for type in v3-8 v4:4x4x8_twisted v5e-256 tpu7x-128; do
    "$DTRAIN" topology --tpu $type --svg "$TEST_DIR/a.svg" | hide
    python3 -c 'import sys, xml.dom.minidom as x; print(len(x.parse(sys.argv[1]).getElementsByTagName("rect")), "rectangles")' "$TEST_DIR/a.svg"
done
# of more than 1,024 chips the first ones are drawn
"$DTRAIN" topology --tpu v5p-12288 --svg "$TEST_DIR/a.svg" | hide
python3 -c 'import sys, xml.dom.minidom as x; print(len(x.parse(sys.argv[1]).getElementsByTagName("rect")), "rectangles")' "$TEST_DIR/a.svg"
[ "$(wc -c <"$TEST_DIR/a.svg")" -lt 300000 ] && grep -o 'drawn: the first [^.]*' "$TEST_DIR/a.svg"
"$DTRAIN" topology "$tiny" 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}' --svg - | grep -c 'fill="#'
show topology --tpu v3-8 --svg "$TEST_DIR/none/a.svg"
