#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tokenizer.json: the package `tokenizers` trains tokenizers on text that is drawn here, and dtrain's tokens of other drawn text are the package's, as a
# step of map and with format: text. TEST_SEED repeats a run; TEST_BYTES, which also counts for it, is how much text is compared with each.
python=$(scripts/python-tools numpy tokenizers) || exit 77
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then export TEST_BYTES="${TEST_BYTES:-150000}"; fi
here=$PWD
cd "$TEST_DIR" || exit 1
export DTRAIN HERE="$TEST_DIR"
"$python" "$here/tests/cli/data_convert/tokenizer.py" >said 2>&1 && status=0 || status=$?
if grep -Eq '(libpcre2-8, which splits|libunistring, which normalizes).* is not installed' said; then exit 77; fi
cat said
exit "$status"
