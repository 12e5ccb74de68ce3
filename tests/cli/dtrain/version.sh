#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# V07, and the time that a start takes: under 5 ms, without what a sanitizer adds. A machine that is busy with other things
# makes single starts slower, so many are tried until one is as fast; starting `date` is in the figure, too: about 1.5 ms.
. tests/cli/setup.sh
show --version
case $DTRAIN in *asan* | *tsan*) exit ;; esac
best=999999999 tries=0
while [ "$best" -ge 6500000 ] && [ "$tries" -lt 400 ]; do
    from=$(date +%s%N)
    "$DTRAIN" --version >/dev/null
    took=$(($(date +%s%N) - from))
    if [ "$took" -lt "$best" ]; then best=$took; fi
    tries=$((tries + 1))
done
[ "$best" -lt 6500000 ] || echo "dtrain --version took $best ns"
