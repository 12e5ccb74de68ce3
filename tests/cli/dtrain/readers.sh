#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A reader that goes away ends a verb quietly, as it ends filters: SIGPIPE (141), nothing on standard error. Training outlives it.
. tests/cli/setup.sh
. tests/cli/jobs.sh
command -v python3 >"$TEST_DIR/which" || { echo "no python3 here" && exit 77; }
write_tiny
run=$TEST_DIR/run
"$DTRAIN" fit "$tiny" -q || echo "exit $?"
"$DTRAIN" export "$tiny" --to safetensors -o "$TEST_DIR/w.safetensors" -q || echo "exit $?"
# deserted CODE WORDS...: into a pipe without a reader.
deserted() {
    python3 - "$DTRAIN" "$@" 2>&1 <<'END' | hide
import os, subprocess, sys
program, code, *words = sys.argv[1:]
read, write = os.pipe()
os.close(read)
p = subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE)
if p.returncode != int(code) or p.stderr:
    print(" ".join(words), p.returncode, p.stderr.decode())
END
}
while read -r words; do
    # shellcheck disable=SC2046,SC2086 # words
    deserted -13 $(echo "$words" | sed "s|TINY|$tiny|g; s|RUN|$run|g; s|W\$|$TEST_DIR/w.safetensors|")
done <<'END'
help fit
help Dense
version
validate TINY
validate --json TINY fit.epochs=x
validate --format github TINY fit.epochs=x
config show TINY
config schema
config reference
config init mlp
evaluate TINY
evaluate TINY --json
predict TINY
predict TINY --format jsonl
plan TINY --tpu v3-8
plan TINY --tpu v3-8 --json
topology --tpu v4-128
lower TINY
explain DT042
data inspect TINY
data shards TINY
ckpt ls RUN
ckpt inspect RUN
ckpt inspect W
ckpt verify RUN
ckpt verify RUN --json
ckpt diff RUN RUN
report RUN -o -
devices
doctor
man
completions bash
END
for words in '' --json '--json --every-step' -v; do
    rm -rf "$run"
    # shellcheck disable=SC2086
    deserted 0 fit "$tiny" $words
    "$DTRAIN" ckpt verify "$run" >"$TEST_DIR/out" || echo "fit $words: exit $?"
    has "$TEST_DIR/out" 'step 12'
done
deserted 78 fit "$tiny" --json fit.epochs=x | grep -c "override 1"
# A descriptor that does not wait is waited for: all of a large text arrives.
python3 - "$DTRAIN" <<'END'
import os, subprocess, sys, time
read, write = os.pipe()
os.set_blocking(write, False)
p = subprocess.Popen([sys.argv[1], "config", "schema"], stdout=write, stderr=subprocess.PIPE)
os.close(write)
time.sleep(0.3)
got = b"".join(iter(lambda: os.read(read, 65536), b""))
want = subprocess.run([sys.argv[1], "config", "schema"], stdout=subprocess.PIPE).stdout
print("the whole schema" if got == want and p.wait() == 0 else f"{len(got)} of {len(want)} bytes, {p.wait()} {p.stderr.read()}")
END
if command -v strace >"$TEST_DIR/which" && strace -o "$TEST_DIR/trace" true 2>"$TEST_DIR/err" && ! sanitized; then
    rm -rf "$run"
    strace -f -o "$TEST_DIR/trace" -e inject=write:error=EINTR:when=5+3 "$DTRAIN" fit "$tiny" >"$TEST_DIR/out" 2>"$TEST_DIR/err" || { echo "interrupted: exit $?"; cat "$TEST_DIR/err"; }
    has "$TEST_DIR/out" 'saved '
fi
