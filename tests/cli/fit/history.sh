#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: format train report
# Damage in history.jsonl, whose lines have checks: resuming, `ckpt ls` and `report` name the line; weights do not depend on it. Histories of earlier
# versions, without checks, are continued; lines stay JSON.
. tests/cli/setup.sh
tiny "$TEST_DIR/run" >"$tiny"
cd "$TEST_DIR" || exit
job() { "$DTRAIN" fit "$tiny" "output.dir=$TEST_DIR/run" --threads 1 --json "$@" 2>err; }
job fit.epochs=3 >json || cat err
cp -r run whole
python3 -c 'import json
lines = [json.loads(line) for line in open("run/history.jsonl")]
print([list(line)[-1] for line in lines], [len(line["crc32c"]) for line in lines])'

# damage SED LINE: what three readers say of line LINE; resuming trains as ever.
damage() {
    rm -rf run && cp -r whole run && sed -i "$1" run/history.jsonl
    says="run/history.jsonl:$2: damaged: the line cannot be read or does not fit its check"
    "$DTRAIN" ckpt ls run >out && has out "damaged   $says"
    "$DTRAIN" ckpt ls run --json >out && has out "\"damage\": \"$says"
    "$DTRAIN" report run -q -o page.html && has page.html "history.jsonl:$2: damaged: the line"
    job fit.epochs=4 >json || cat err
    has err "warning: $TEST_DIR/$says"
    [ "$(weights json)" = "$four" ] || echo "$1: other weights"
}
job fit.epochs=4 >json || cat err
four=$(weights json)
lacks err warning
"$DTRAIN" ckpt ls run >out && lacks out damaged
damage '2s/"loss": [0-9]/"loss": 7/' 2
damage '1s/"step"/"stop"/' 1
damage '2d' 2
damage '1p' 2
damage '3s/..}/00}/' 3
damage '1s/.*/garbage/' 1

echo "== the end is missing"
rm -rf run && cp -r whole run && sed -i 3d run/history.jsonl
job fit.epochs=4 >json
has err "history.jsonl: damaged: it ends before the checkpoint, with epoch 2 of 3"
rm -rf run && cp -r whole run && rm run/history.jsonl
job fit.epochs=4 >json
has err "history.jsonl: damaged: it ends before the checkpoint, with epoch 0 of 3"

echo "== without checks"
rm -rf run && cp -r whole run && sed -i 's/, "crc32c": "[0-9a-f]*"//' run/history.jsonl
job fit.epochs=4 >json
lacks err warning
"$DTRAIN" ckpt ls run >out && lacks out damaged
grep -c crc32c run/history.jsonl
sed -i '3s/"loss": [0-9]/"loss": 7/' run/history.jsonl
"$DTRAIN" ckpt ls run >out && has out "run/history.jsonl:4: damaged"
