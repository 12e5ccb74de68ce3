#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Results as files: one JSON object, Markdown, JUnit; also where an expectation is not met. What cannot be written is an error.
. tests/cli/setup.sh
write_tiny
cd "$TEST_DIR" || exit 1
"$DTRAIN" fit tiny.yaml -q --metrics fit.json --summary fit.md --junit fit.xml --expect 'val_accuracy>=0' || echo "exit $?"
"$DTRAIN" evaluate tiny.yaml -q --metrics m.json --summary s.md --junit j.xml --expect 'accuracy>=0' --expect 'loss < 0' 2>/dev/null
echo "exit $?"
for file in fit.json m.json; do sed 's/: [-0-9.e]*/: N/g' $file; done
sed 's/[0-9]*\.[0-9]*/N/g' fit.md fit.xml j.xml
sed -n 's/[0-9]*\.[0-9]*/N/g; 1,12p; /^###/p' s.md
exits 73 evaluate tiny.yaml --metrics none/m.json
exits 73 evaluate tiny.yaml --junit .
rm -f m.json
exits 66 evaluate tiny.yaml --ckpt nothing --metrics m.json
[ ! -e m.json ] || echo "there is a file of no result"
find . -maxdepth 1 -mindepth 1 ! -name out ! -name err | sed 's|^./||' | sort
