# SPDX-License-Identifier: Apache-2.0
# Read after setup.sh by cases that run whole jobs: the sample digits, what a run ended with, programs of their own.
# shellcheck shell=sh
digits=build/digits

needs_digits() {
    [ -f "$digits/x.npy" ] && [ -f "$digits/t10k-labels-idx1-ubyte" ] && return
    echo "no sample digits in $digits: 'make examples' draws them"
    exit 77
}

# A sanitizer reserves terabytes of addresses and wants its own library at the front of every program.
sanitized() {
    grep -q '__[at]san_init' "$DTRAIN"
}

# value KEY FILE: the number behind "KEY": in its last line that has one.
value() {
    sed -n "s/.*\"$1\": *\([^,}]*\)[,}].*/\1/p" "$2" | tail -n 1
}

# near A B WITHIN: two numbers differ by less than that.
near() {
    awk -v a="$1" -v b="$2" -v within="$3" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d < within && -d < within) }'
}

# hash WORDS...: the weights that a job ends with.
hash() {
    "$DTRAIN" fit "$@" --json >"$TEST_DIR/hash.out" 2>"$TEST_DIR/hash.err" || { echo "dtrain fit $*: exit $?" && cat "$TEST_DIR/hash.err"; }
    weights "$TEST_DIR/hash.out"
}

# replicas_agree JOB: one replica and three give the same weights, in float32 and in mixed precision. Trains in $TEST_DIR/run.
replicas_agree() {
    for precision in float32 mixed_bfloat16; do
        first=$(hash "$1" compile.precision=$precision output.dir="$TEST_DIR/run" --fresh)
        [ "$(hash "$1" compile.precision=$precision strategy.replicas=3 output.dir="$TEST_DIR/run" --fresh)" = "$first" ] || echo "$precision: other weights"
    done
}

# compile SOURCE.c PROGRAM: against this build's library, with the flags that it was built with.
compile() {
    eval "set -- $(cat "$BUILD/flags") -Wno-error -o '$2' '$1' '$BUILD/libdtrain.a'"
    # shellcheck disable=SC2046
    "$@" $(sed -n 's/^LDLIBS *:= //p' Makefile)
}

# stages JOB: what the compiler makes of it at every stage; the number of threads and the library for products change nothing.
stages() {
    for stage in graph gradient folded program executable; do
        echo "== $stage"
        "$DTRAIN" lower "$1" --stage $stage | tee "$TEST_DIR/$stage"
        for other in '--threads 1' '--threads 7' '--kernels openblas'; do
            # shellcheck disable=SC2086
            "$DTRAIN" lower "$1" --stage $stage $other | cmp "$TEST_DIR/$stage" - || echo "$other: another $stage"
        done
    done
}

# A text for configs/char-gpt.yaml; any will do.
write_text() {
    export TINYSHAKESPEARE="$TEST_DIR/t.txt"
    for i in 1 2 3 4 5 6 7 8 9; do
        for speaker in ROMEO JULIET; do printf '%s:\nWhat light through yonder window breaks %d times?\n\n' "$speaker" $i; done
    done >"$TEST_DIR/t.txt"
}

# small_gpt VERB WORDS...: configs/char-gpt.yaml with two small blocks, over that text.
small_gpt() {
    gpt_verb=$1
    shift
    "$DTRAIN" "$gpt_verb" configs/char-gpt.yaml 'dataset.element.tokens.shape=[16]' dataset.global_batch_size=24 'model.layers.0.Input.shape=[16]' \
        model.layers.1.TokenAndPositionEmbedding.sequence_length=16 model.layers.1.TokenAndPositionEmbedding.embedding_dim=24 \
        'model.layers.2.Repeat.for.i=[0, 1]' model.layers.2.Repeat.layers.0.TransformerDecoder.intermediate_dim=32 checkpoint.save_freq=epoch "$@"
}
