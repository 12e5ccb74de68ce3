#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An output that a user names may be a link: what it leads to is written, as by redirection, at once or not at all, and the link stays.
. tests/cli/setup.sh
write_tiny
cd "$TEST_DIR" || exit
"$DTRAIN" fit tiny.yaml -q && mkdir there && mkfifo pipe
echo 'a,b
1,2' >in.csv
# output NAME: the command that writes it, by its ending.
output() {
    case $1 in
    *.csv) "$DTRAIN" predict tiny.yaml -q -o "$1" ;;
    *.npz) "$DTRAIN" ckpt convert run -q -o "$1" ;;
    *.safetensors) "$DTRAIN" export tiny.yaml -q -o "$1" ;;
    *.onnx) "$DTRAIN" export tiny.yaml -q -o "$1" ;;
    *.html) "$DTRAIN" report run -q -o "$1" ;;
    *.tfrecord) "$DTRAIN" data convert in.csv -q -o "$1" ;;
    *.topology.svg) "$DTRAIN" topology --tpu v3-8 --svg "$1" >/dev/null ;;
    *.svg) "$DTRAIN" plan tiny.yaml --tpu v3-8 --svg "$1" >/dev/null ;;
    esac
}
for kind in csv npz safetensors onnx html tfrecord topology.svg svg; do
    echo old >"there/old.$kind"
    ln -s "there/link.$kind" "first.$kind" && ln -s "old.$kind" "there/link.$kind"
    ln -s "there/new.$kind" "hanging.$kind" && ln -s "round.$kind" "round.$kind" && ln -s pipe "pipe.$kind" && ln -s /dev/full "device.$kind"
    output "first.$kind" 2>err || { echo "$kind: exit $?" && cat err; }
    output "hanging.$kind" 2>err || { echo "$kind: exit $?" && cat err; }
    [ -h "first.$kind" ] && [ -h "there/link.$kind" ] && [ ! -h "there/old.$kind" ] && [ -h "hanging.$kind" ] || echo "$kind: a link is gone"
    [ "$(head -c 3 "there/old.$kind")" != old ] && cmp "there/old.$kind" "there/new.$kind"
    for bad in round pipe device; do
        output "$bad.$kind" 2>err && code=0 || code=$?
        if [ "$code" -ne 73 ] || [ ! -h "$bad.$kind" ] || [ ! -p pipe ] || [ ! -c /dev/full ]; then echo "$kind: $bad: exit $code" && cat err; fi
    done
    [ "$(cat err)" ] || echo "$kind: nothing is said"
done
find . -name '*.tmp*'
# what redirection opened is a name like any other
"$DTRAIN" export tiny.yaml -q --to npz -o /dev/stdout >through.npz 2>err || { echo "redirected: exit $?" && cat err; }
"$DTRAIN" export tiny.yaml -q -o plain.npz
cmp through.npz plain.npz
"$DTRAIN" export tiny.yaml -q --to npz -o /dev/stdout 2>err | cat >piped
grep -o 'links to something that is not a regular file' err
sed 's/^/piped: /' piped
[ -h /dev/stdout ] || echo "/dev/stdout is gone"
