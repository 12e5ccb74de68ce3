#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F05, F06, F16, F17, F22, F23, F27, F28: places where output cannot or should not go: an error before the first step, and nothing else is touched.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
mkdir "$TEST_DIR/outside"
echo secret >"$TEST_DIR/outside/secret"
untouched() {
    [ "$(cat "$TEST_DIR/outside"/*)" = secret ] || echo "$1: something was written outside of the run directory"
}
# said CODE WORDS...: the exit code and the message.
said() {
    exits "$@"
    hide <"$TEST_DIR/err"
}
here() {
    said "$1" fit "$tiny" -q "output.dir=$TEST_DIR/$2"
}

echo "== places that cannot be made"
said 73 fit "$tiny" -q output.dir=/proc/nope/ckpt
touch "$TEST_DIR/file"
here 73 file
here 73 file/run
exits 78 fit "$tiny" -q "output.dir=$(printf '%05000d' 0)"
exits 78 fit "$tiny" -q 'output.dir=""'

echo "== open to everybody"
mkdir "$TEST_DIR/open"
chmod 777 "$TEST_DIR/open"
here 77 open
chmod 1777 "$TEST_DIR/open"
here 0 open

echo "== links that wait under a name of the run"
for name in .lock history.jsonl ckpt ckpt/probe.tmp ckpt/step-00000006 ckpt/step-00000012 ckpt/step-00000012.tmp \
    ckpt/step-00000006/state.json ckpt/step-00000006/model.safetensors; do
    rm -rf "$TEST_DIR/run"
    mkdir -p "$TEST_DIR/run/$(dirname "$name")"
    ln -s "$TEST_DIR/outside/secret" "$TEST_DIR/run/$name"
    "$DTRAIN" fit "$tiny" -q >"$TEST_DIR/out" 2>"$TEST_DIR/err"
    echo "$name: exit $?"
    grep error: "$TEST_DIR/err" | hide
    untouched "$name"
done
rm -rf "$TEST_DIR/run"
mkdir "$TEST_DIR/real"
ln -s real "$TEST_DIR/run"
here 0 run
[ -d "$TEST_DIR/real/ckpt" ] || echo "output.dir itself may be a link"

echo "== no shell"
sed 's|format: synthetic|format: npy|; /examples:/d; /element:/d' "$tiny" >"$TEST_DIR/npy.yaml"
for path in "\$(touch $TEST_DIR/outside/pwned)" "; touch $TEST_DIR/outside/pwned" "|touch $TEST_DIR/outside/pwned"; do
    case $path in "\$("*) code=78 ;; *) code=66 ;; esac # words for a shell are refused, other names looked for
    said "$code" fit "$TEST_DIR/npy.yaml" -q "dataset.train={image: '$path', label: y.npy}" | head -n 1
    untouched "$path"
done

echo "== taken away"
"$DTRAIN" fit "$tiny" --json fit.epochs=10000000 checkpoint.save_freq=1 "output.dir=$TEST_DIR/away" >"$TEST_DIR/out" 2>"$TEST_DIR/err" &
wait_for '"event":"checkpoint"' "$TEST_DIR/out"
mv "$TEST_DIR/away" "$TEST_DIR/gone"
ended $!
code=$?
case $code in
73) grep -q 'was removed while in use\|no such file' "$TEST_DIR/err" || cat "$TEST_DIR/err" ;;
74) grep -q 'reads back differently' "$TEST_DIR/err" || cat "$TEST_DIR/err" ;;
*) echo "exit $code" && cat "$TEST_DIR/err" ;;
esac
mkdir "$TEST_DIR/here"
cp "$tiny" "$TEST_DIR/here"
(
    cd "$TEST_DIR/here" && rm -r "$TEST_DIR/here" || exit
    said 66 fit tiny.yaml -q
    said 66 fit "$tiny" -q output.dir=runs/here
    said 0 fit "$tiny" -q
)
