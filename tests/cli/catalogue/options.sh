#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every option of every verb that takes a value, with values that no option has: a documented exit code, an error with its number, nothing that a
# terminal obeys, and the option or the value named. Verbs and options are those of 'dtrain help'.
. tests/cli/setup.sh
work=$TEST_DIR/work
write_tiny
slice=$TEST_DIR/slice.yaml
sed "s/^strategy:.*/strategy: {type: tpu, cluster_resolver: {tpu: 'sim:v2-8'}}/" "$tiny" >"$slice"
"$DTRAIN" fit "$tiny" -q || exit 1
mkdir "$work"
cd "$work" || exit 1
escape=$(printf '\033[2J')
long=$(head -c 2000 /dev/zero | tr '\0' 9)

verbs() {
    "$DTRAIN" man --list | sed -n 's/^dtrain-\(.*\)\.1$/\1/p' | sed 's/^\(data\|ckpt\|config\)-/\1 /'
}
# "-o, --output FILE", "--tpu[=TYPE]"; an option without a value has two blanks behind it.
options() {
    # shellcheck disable=SC2086 # words
    COLUMNS=400 "$DTRAIN" help $1 | sed -n '/^Options/,/^$/s/^ .*\(--[a-z-]*\)\(\[=\| \)[A-Z].*/\1/p'
}
operands() {
    case $1 in
    'data synth') echo digits ;;
    'data convert') echo "$tiny -o x.csv" ;;
    'ckpt diff') echo "$TEST_DIR/run $TEST_DIR/run" ;;
    'ckpt convert') echo "$TEST_DIR/run -o x.npz" ;;
    ckpt* | report) echo "$TEST_DIR/run" ;;
    export) echo "$tiny -o x.onnx" ;;
    plan | topology | trace) echo "$slice" ;;
    'config show') echo "$tiny" ;;
    'config diff') echo "$tiny $tiny" ;;
    fit | evaluate | predict | lower | validate | 'data '*) echo "$tiny" ;;
    esac
}
# try VERB OPTION VALUE
try() {
    # shellcheck disable=SC2046,SC2086 # words
    timeout 60 "$DTRAIN" $1 $(operands "$1") "$2=$3" >"$TEST_DIR/out" 2>"$TEST_DIR/err" </dev/null
    code=$?
    shown=$(printf %s "$3" | cut -c1-20 | tr '\033' '^')
    tried=$((tried + 1))
    case $code in 0) return ;; 64 | 65 | 66 | 69 | 73 | 78) ;; *) echo "$1 $2=$shown: exit $code" ;; esac
    grep -q ' \[DT[0-9]*\]$' "$TEST_DIR/err" || echo "$1 $2=$shown: no error: $(head -n 1 "$TEST_DIR/err" | cut -c1-200)"
    grep -qF "$escape" "$TEST_DIR/err" && echo "$1 $2=$shown: sent to the terminal"
    grep -qF -e "$2" -e "''" -e empty -e missing -e expected -e xyzzy -e '\x1b' -e 99999999 "$TEST_DIR/err" || echo "$1 $2=$shown: not named: $(head -n 1 "$TEST_DIR/err" | cut -c1-200)"
}

tried=0
verbs >"$TEST_DIR/verbs"
while IFS= read -r verb; do
    for option in $(options "$verb"); do
        for value in '' xyzzy "$escape" "$long"; do try "$verb" "$option" "$value"; done
    done
done <"$TEST_DIR/verbs"
[ "$tried" -gt 150 ] || echo "only $tried tried"
