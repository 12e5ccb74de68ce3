#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiled programs are kept for the next start, which trains to the same numbers: with each folder that
# is named, with an entry that is damaged, and not with a folder that others can write to.
. tests/cli/setup.sh
. tests/cli/jobs.sh
# shellcheck source=/dev/null
. tests/cli/pjrt.inc
needs_xla
write_tiny
kept="$TEST_DIR/kept programs"
run() { # NAME [key=value...]
    name=$1
    shift
    "$DTRAIN" fit "$tiny" -q --backend pjrt "$@" "output.dir=$TEST_DIR/$name" || echo "exit $?"
}
entries() { find "$1" -name '*.xla' | wc -l | tr -d ' '; }
run without
DTRAIN_PJRT_CACHE=$kept run cold
n=$(entries "$kept")
[ "$n" -gt 0 ] || echo "nothing is kept"
find "$kept" -type f -exec touch -d '2001-01-01' {} +
DTRAIN_PJRT_CACHE=$kept run warm
for name in cold warm; do
    cmp "$TEST_DIR/without/history.jsonl" "$TEST_DIR/$name/history.jsonl"
    (cd "$TEST_DIR/without" && find ckpt -name '*.safetensors') | sort >"$TEST_DIR/files"
    [ -s "$TEST_DIR/files" ] || echo "no checkpoint"
    while read -r f; do cmp "$TEST_DIR/without/$f" "$TEST_DIR/$name/$f"; done <"$TEST_DIR/files"
done
[ "$(find "$kept" -type f -newermt '2002-01-01' | wc -l)" -eq 0 ] || echo "the second start wrote programs"

echo "damaged entries are compiled again, and replaced"
for f in "$kept"/*.xla; do
    size=$(stat -c %s "$f")
    printf 'x' | dd of="$f" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
done
DTRAIN_PJRT_CACHE=$kept run damaged
cmp "$TEST_DIR/without/history.jsonl" "$TEST_DIR/damaged/history.jsonl"
for f in "$kept"/*.xla; do : >"$f"; done
DTRAIN_PJRT_CACHE=$kept run empty
cmp "$TEST_DIR/without/history.jsonl" "$TEST_DIR/empty/history.jsonl"
[ "$(find "$kept" -name '*.xla' -size 0 | wc -l)" -eq 0 ] || echo "an empty entry is left"
[ "$(entries "$kept")" -eq "$n" ] || echo "$(entries "$kept") entries, before $n"
find "$kept" -name '*.tmp'

echo "other programs are other entries; the job's folder comes before the environment's"
other=$TEST_DIR/other
DTRAIN_PJRT_CACHE=$kept run named "backend={type: pjrt, compilation_cache: $other}" \
    dataset.global_batch_size=8
[ "$(entries "$kept")" -eq "$n" ] || echo "the environment's folder was used"
[ "$(entries "$other")" -gt 0 ] || echo "nothing is kept in the job's folder"

echo "refused"
mkdir "$TEST_DIR/open" && chmod 777 "$TEST_DIR/open"
DTRAIN_PJRT_CACHE=$TEST_DIR/open run open 2>&1 | sed "s|$TEST_DIR|DIR|"
: >"$TEST_DIR/file"
DTRAIN_PJRT_CACHE=$TEST_DIR/file run file 2>&1 | sed "s|$TEST_DIR|DIR|"
run cpu 'backend={type: cpu, compilation_cache: x}' 2>&1 | grep -o 'error:.*'
run store 'backend={type: pjrt, compilation_cache: "s3://bucket/x"}' 2>&1 | grep -o 'error:.*'
printf 'backend: {type: pjrt, compilation_cache: x}\n' >"$TEST_DIR/base.yaml"
{ printf 'extends: base.yaml\n'; cat "$tiny"; } >"$TEST_DIR/extends.yaml"
"$DTRAIN" validate "$TEST_DIR/extends.yaml" 2>&1 | grep -o 'error:.*'
# Who looks at a job, or at devices, makes no folder.
DTRAIN_PJRT_CACHE=$TEST_DIR/looked "$DTRAIN" plan "$tiny" >/dev/null
DTRAIN_PJRT_CACHE=$TEST_DIR/looked "$DTRAIN" devices >/dev/null
[ ! -e "$TEST_DIR/looked" ] || echo "a folder was made"
