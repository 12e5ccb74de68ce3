#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sweep that is killed, stopped by a signal, or loses a trial, resumes: the same weights, no finished trial again.
. tests/cli/setup.sh
write_tiny
sed -i 's/units: 4/units: "{width}"/; s/^model:/let: {width: 4}\nmodel:/; s/epochs: 2/epochs: 150/' "$tiny"
cd "$TEST_DIR" || exit 1
for width in 4 8 12; do
    "$DTRAIN" fit tiny.yaml let.width=$width output.dir=f$width --json >f$width.jsonl
done
compare() {
    for width in 4 8 12; do has "$1/trials.jsonl" "$(weights f$width.jsonl)"; done
    [ "$(grep -c '"exit": 0' "$1/trials.jsonl")" = 3 ] || echo 'not a line for each trial'
}
trials() { # those that train
    tr " " "\n" <"/proc/$1/task/$1/children" | grep .
}
await() {
    for _ in $(seq 600); do
        [ -e "$1" ] && return
        sleep 0.02
    done
    echo "there is no $1 after a while"
}

# Killed while the second trial trains: its process ends too, and a torn line does no harm.
"$DTRAIN" sweep tiny.yaml let.width=4,8,12 output.dir=k >/dev/null 2>&1 &
await k/trial-002/ckpt
kill -9 $!
wait $! 2>/dev/null
printf '{"v": 1, "tri' >>k/trials.jsonl
exits 0 sweep tiny.yaml let.width=4,8,12 output.dir=k -q
compare k
grep -c '"start"' k/trial-001/record.jsonl
# Zeros where a line was, as after a power cut: the lines after them count.
{ printf '\0\0\0\n' && cat k/trials.jsonl; } >zeros && mv zeros k/trials.jsonl
exits 0 sweep tiny.yaml let.width=4,8,12 output.dir=k -q
grep -c '"start"' k/trial-003/record.jsonl

# Moved, it is the same sweep; its best job names the new folder.
mkdir there
mv k there/moved
exits 0 sweep tiny.yaml let.width=4,8,12 output.dir=there/moved -q
compare there/moved
grep -c '"start"' there/moved/trial-001/record.jsonl
grep -c 'dir: there/moved/trial-0' there/moved/best.yaml
exits 0 report there/moved/trial-001 there/moved/trial-002 -q -o two.html

# A signal lets the trials save.
"$DTRAIN" sweep tiny.yaml let.width=4,8,12 output.dir=t >/dev/null 2>t.err &
await t/trial-001/ckpt
kill -INT $!
ended $!
echo "exit $?"
grep '^to resume' t.err
exits 0 sweep tiny.yaml let.width=4,8,12 output.dir=t -q --jobs 3
compare t

# A trial that is killed by hand: the others train on.
"$DTRAIN" sweep tiny.yaml let.width=4,8,12 output.dir=h --jobs 2 -q >h.out 2>h.err &
await h/trial-001/ckpt
await h/trial-002/ckpt
kill -9 "$(trials $! | head -n 1)"
ended $!
echo "exit $?"
grep -c interrupted h.out
exits 0 sweep tiny.yaml let.width=4,8,12 output.dir=h -q
compare h
