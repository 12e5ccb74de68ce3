#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A stack that is too small for any work is reported at the start; a low soft limit is raised. Below 32 KiB the loader of
# shared libraries itself may not have enough, depending on the environment.
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "a sanitizer needs a stack of its own" && exit 77; fi
write_tiny
for kib in 32 40 48 56; do
    for words in version "fit $tiny -q --fresh" "validate $tiny"; do
        # shellcheck disable=SC2086,SC3045
        (ulimit -s "$kib" && exits 71 $words) || echo "ulimit -s $kib"
        has "$TEST_DIR/err" "the stack is limited to $kib KiB, 64 KiB are needed; raise the limit: ulimit -s 8192"
    done
done
# shellcheck disable=SC3045
(ulimit -S -s 32 && exits 0 fit "$tiny" -q --fresh)
