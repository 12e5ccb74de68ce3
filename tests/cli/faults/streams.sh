#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A full standard output ends every verb that prints with 74 and a line. (A reader that goes away: tests/cli/dtrain/readers.sh.)
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit "$tiny" >/dev/null
whole=$("$DTRAIN" evaluate "$tiny" --json | tail -n 1)
sed 's/^strategy:.*/strategy: {type: tpu, cluster_resolver: {tpu: "sim:v3-8"}}/' "$tiny" >"$TEST_DIR/tpu.yaml"
full='dtrain: error: standard output: no space left on device [DT'
while read -r line; do
    # shellcheck disable=SC2086
    "$DTRAIN" $line >/dev/full 2>"$TEST_DIR/err" && status=0 || status=$?
    [ "$status" -eq 74 ] || echo "dtrain $line >/dev/full: exit $status"
    case $(tail -n 1 "$TEST_DIR/err") in "$full"*) ;; *) cat "$TEST_DIR/err" ;; esac
done <<END
help
help fit
version
man dtrain.1
completions bash
completions zsh
completions fish
config init mlp
config show $tiny
validate $tiny
explain DT017
devices
topology --tpu v3-8
topology --tpu v3-8 --svg -
plan $TEST_DIR/tpu.yaml
plan $TEST_DIR/tpu.yaml --svg -
trace $TEST_DIR/tpu.yaml
lower $tiny
data inspect $tiny
data shards $tiny --workers 2
evaluate $tiny
evaluate $tiny --json
predict $tiny
predict $tiny --format npy
predict $tiny --format jsonl
ckpt ls $TEST_DIR/run
ckpt inspect $TEST_DIR/run
ckpt verify $TEST_DIR/run
END
# A log that cannot be written is no reason to stop, and none to say that all is well.
exits 74 fit "$tiny" --fresh --log-file /dev/full
has "$TEST_DIR/err" '--log-file /dev/full: no space left on device'
[ "$("$DTRAIN" evaluate "$tiny" --json | tail -n 1)" = "$whole" ] || echo "other weights beside a full log"
exits 73 fit "$tiny" --log-file "$TEST_DIR/nowhere/log"
# A pipe is a log while it has a reader; without one, opening it must not wait for ever.
mkfifo "$TEST_DIR/pipe"
timeout 10 "$DTRAIN" version --log-file "$TEST_DIR/pipe" 2>"$TEST_DIR/err"; [ $? -eq 73 ] || echo "a pipe without a reader: not 73"
has "$TEST_DIR/err" "no process reads this pipe"
cat "$TEST_DIR/pipe" >"$TEST_DIR/piped" &
sleep 0.2
exits 0 version --log-file "$TEST_DIR/pipe"
wait
grep -c '^dtrain' "$TEST_DIR/piped"
(umask 0 && exits 0 version --log-file "$TEST_DIR/log")
stat -c %a "$TEST_DIR/log"
