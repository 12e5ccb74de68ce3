# SPDX-License-Identifier: Apache-2.0
# Read by the cases (`. tests/cli/setup.sh`): the same surroundings for all, a tiny job, a terminal.
# shellcheck shell=sh
unset CI NO_COLOR FORCE_COLOR COLUMNS OMP_NUM_THREADS
# All variables of ours but the one that says which processor the tests are for.
for name in $(env | sed -n 's/^\(DTRAIN_[A-Z_]*\)=.*/\1/p' | grep -vx DTRAIN_INSTRUCTIONS); do unset "$name"; done
export LC_ALL=C TERM=xterm
: "${DTRAIN:?}" "${TEST_DIR:?}"
tiny=$TEST_DIR/tiny.yaml
unset port

# next_port: sets $port to a port that no socket of this machine has. Cases that run side by side, of any checkout, begin elsewhere, below the
# ports that the system gives to connections.
next_port() {
    port=$((${port:-$(od -An -N2 -t u2 /dev/urandom) % 12000 + 20000} + 1))
    while grep -qi ":$(printf '%04x' $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
}

# show WORDS...: runs dtrain, prints the command line, all output with the folder's name as DIR, and the exit code.
show() {
    echo "\$ dtrain $*" | hide
    { "$DTRAIN" "$@" 2>&1 && status=0 || status=$?; echo "exit $status"; echo; } | hide
}

# The usage screen without its lists of verbs: a new verb changes no other test.
without_verbs() {
    sed 's/^\(Train\|Check\|Inspect\|Other\)  .*/\1/; /^           [a-z]/d'
}

hide() {
    sed "s|$TEST_DIR|DIR|g"
}

# exits CODE WORDS...: the exit code must be CODE; prints nothing else than what is wrong.
exits() {
    want=$1
    shift
    "$DTRAIN" "$@" >"$TEST_DIR/out" 2>"$TEST_DIR/err" && status=0 || status=$?
    [ "$status" -eq "$want" ] && return
    echo "dtrain $*: exit $status, not $want"
    cat "$TEST_DIR/err"
}

# has FILE TEXT, lacks FILE TEXT: looks for a piece of text.
has() {
    grep -qF -e "$2" "$1" || { echo "no '$2' in $1:"; head -n 20 "$1"; }
}
lacks() {
    grep -qF -e "$2" "$1" && { echo "there is '$2' in $1:"; head -n 20 "$1"; }
    return 0
}

# preload NAME FLAGS...: compiles TEST_DIR/NAME.c and prints what LD_PRELOAD wants for it: a sanitizer is to be the first.
preload() {
    name=$1
    shift
    "${CC:-cc}" -shared -fPIC -o "$TEST_DIR/$name.so" "$TEST_DIR/$name.c" "$@" || return
    echo "$(ldd "$DTRAIN" | sed -n 's/.*=> \(.*libasan[^ ]*\).*/\1/p') $TEST_DIR/$name.so"
}

# on_terminal COMMAND: runs a shell command on a terminal of its own, prints what would be seen, \r as |, ESC as ^[.
on_terminal() {
    script -qec "$1" /dev/null </dev/null | tr '\r' '|' | sed 's/\x1b/^[/g; s/|$//'
}
needs_terminals() {
    script -qec true /dev/null </dev/null >"$TEST_DIR/script" 2>&1 && return
    echo "there are no terminals here"
    exit 77
}

# Measured numbers as N, hashes as H: what is left is the same on every machine.
mask() {
    hide | sed 's/[0-9]*\.[0-9][0-9]*/N/g; s/\(sha256":"\)[0-9a-f]*/\1H/g; s/\(sha \)[0-9a-f]*/\1H/g'
}

# weights FILE: the hash in the last line of JSON lines.
weights() {
    sed -n '$s/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' "$1"
}

# wait_for TEXT FILE: until a run that goes on has written it; a minute at most.
wait_for() {
    for _ in $(seq 600); do
        grep -qF -e "$1" "$2" && return
        sleep 0.1
    done
    echo "no '$1' in $2 after a minute"
}

# ended PID: waits for a run in the background, a minute at most; its exit code, 137 where it had to be killed. The watch holds no pipe
# of the case (3) open.
ended() {
    (for _ in $(seq 600); do
        sleep 0.1
        kill -0 "$1" || exit
    done
    kill -9 "$1") 2>/dev/null 3<&- &
    wait "$1"
}

. tests/cli/tiny.sh
write_tiny() {
    tiny "$TEST_DIR/run" >"$tiny"
}
