#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Other wordings than the recorder's: read by the grammar, skipped with a reason, or called unknown.
build=${BUILD:-build}
[ -x "$build/tests/conformance" ] || { echo "the runner is not built" && exit 77; }
"$build/tests/conformance" tests/cli/conformance/words.json
echo "exit $?"
