#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every path that a job names is a trap: a plug-in and libraries whose loading leaves a file, pipes without a writer, devices without end. No verb
# but fit, sweep, evaluate, predict, generate and devices loads the plug-in, and no verb waits or reads forever.
. tests/cli/setup.sh
. tests/cli/jobs.sh
# A sanitizer makes a start slow and loads the same plug-ins: there each strategy meets one of them, and each key one endless path.
whole=yes
if sanitized; then whole=; fi
ran=$TEST_DIR/ran
cat >"$TEST_DIR/trap.c" <<'C'
#include <fcntl.h>
#include <stdlib.h>
__attribute__((constructor)) static void spring(void)
{
    if (getenv("TRAP"))
        open(getenv("TRAP"), O_WRONLY | O_CREAT, 0600);
}
C
"${CC:-cc}" -shared -fPIC -o "$TEST_DIR/trap.so" "$TEST_DIR/trap.c" || exit 77
export TRAP="$ran"
verbs=$(grep -o 'VERB([a-z_]*)' cmd/verbs.h | sed 's/VERB(\(.*\))/\1/; s/^\(config\|data\|ckpt\)_/\1 /' | tr '\n' ';')
base=$(pwd)
cd "$TEST_DIR" || exit 1
mkfifo pipe
for library in libopenblas.so.0 libdnnl.so.3 libdnnl.so.2 libzmq.so.5 libtpu.so dtrain-fabric-openmpi.so dtrain-fabric-mpich.so; do cp trap.so "$library"; done
awk 'BEGIN { print "a,y"; for (i = 0; i < 40; i++) print i / 40 "," i % 2 }' >t.csv
cat >job.yaml <<'YAML'
version: 1
dataset: {format: csv, train: t.csv, element: {x: {columns: [a]}, y: {column: y, dtype: int32}}, global_batch_size: 8}
model: {layers: [Input: {name: x, shape: [1]}, Dense: {units: 2, name: logits}]}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
reproducible: {strict: false}
output: {dir: run}
YAML
"$DTRAIN" fit job.yaml >out 2>&1 || cat out
rm -f "$ran"

# springs WORDS...: whether the plug-in's code ran; a verb that waits is ended after a while.
try() {
    timeout 30 "$DTRAIN" "$@" >out 2>err </dev/null
    code=$?
    if [ -e "$ran" ]; then echo "dtrain $*: ran the code of a plug-in (exit $code)" && rm -f "$ran"; fi
    case $code in 124 | 13[0-9] | 14[0-9]) echo "dtrain $*: exit $code" ;; esac
}

# Every verb that may not run it, with the job, or with words of its own.
inspect() {
    IFS=';'
    for verb in $verbs; do
        unset IFS
        case $verb in fit | evaluate | predict | generate | devices | help | man | completions) continue ;; esac
        # shellcheck disable=SC2086 # two words
        case $verb in
        'config diff') try $verb job.yaml "$@" run && try $verb trapped.yaml trapped.yaml ;;
        'ckpt verify') try $verb --replay 2 "$@" ;;
        'export') try $verb "$@" -o model.onnx ;;
        'plan') try $verb "$@" && try $verb --tpu=v3-8 "$@" && try $verb --search --tpu=v3-8 "$@" ;;
        'sweep') try $verb -n "$@" fit.epochs=1,2 ;;
        'config init') try $verb --from "$1" --target y ;;
        'topology') try $verb "$@" && try $verb --tpu=v3-8 "$@" ;;
        *) try $verb "$@" ;;
        esac
    done
    unset IFS
    try fit -n "$@"
}

for strategy in default mirrored one_device multi_worker_mirrored parameter_server; do
    for plugin in ./trap.so ${whole:+"$TEST_DIR/trap.so" libtpu.so}; do
        { cat job.yaml && echo "backend: {type: pjrt, plugin: $plugin}" && echo "strategy: {type: $strategy}"; } >trapped.yaml
        inspect trapped.yaml
    done
done
{ cat job.yaml && echo 'backend: {type: pjrt, plugin: ./trap.so}' && echo 'strategy: {type: tpu}'; } >trapped.yaml
inspect trapped.yaml
{ cat job.yaml && echo 'strategy: {type: mirrored, devices: [GPU:0, GPU:1]}' && echo 'backend: {type: pjrt, plugin: ./trap.so}'; } >trapped.yaml
inspect trapped.yaml
try fit --fresh job.yaml --kernels openblas
# What the trap is for: these do load it, and so does a word on the command line.
for words in 'fit --fresh trapped.yaml' 'lower --plugin ./trap.so trapped.yaml strategy.type=mirrored' 'devices --plugin ./trap.so'; do
    # shellcheck disable=SC2086
    "$DTRAIN" $words >out 2>&1
    code=$?
    [ -e "$ran" ] || [ "$words" != "${words#lower}" ] || { echo "dtrain $words: the trap does not work" && cat out; }
    case $words in devices*) [ $code -eq 69 ] || echo "dtrain $words: exit $code, not 69" ;; esac
    rm -f "$ran"
done
# A mirrored job's replicas are those of the plug-in, which is not asked.
{ cat job.yaml && echo 'backend: {type: pjrt, plugin: ./trap.so}' && echo 'strategy: {type: mirrored}'; } >trapped.yaml
"$DTRAIN" validate trapped.yaml
echo "exit $?"
"$DTRAIN" ckpt verify --replay 2 trapped.yaml 2>&1 | grep -o 'needs --plugin\|add --plugin PATH.*'
sed -i 's/trap.so/absent.so/' trapped.yaml
"$DTRAIN" validate trapped.yaml 2>&1
echo "exit $?"

# Paths that never end, in every key that takes one, for every verb of the table.
# trap_in KEY PATH: the job with that path.
trap_in() {
    case $1 in
    extends) { echo "extends: $2" && sed /^version/d job.yaml; } ;;
    model.keras_config) sed "s|^model: .*|model: {keras_config: $2}|" job.yaml ;;
    vocabulary) sed "s|format: csv|map: {x: [string_lookup: {vocabulary: $2}]}, format: csv|" job.yaml ;;
    text_vocabulary) sed "s|format: csv|map: {x: [text_vectorization: {vocabulary: $2}]}, format: csv|" job.yaml ;;
    tokenizer) sed "s|format: csv|map: {x: [tokenizer: {path: $2, max_length: 1}]}, format: csv|; s|x: {columns: .a.}|x: {column: a, dtype: string}|" job.yaml ;;
    text_tokenizer) sed "s|^dataset: .*|dataset: {format: text, train: t.csv, element: {x: {shape: [1]}}, tokenizer: {path: $2}, global_batch_size: 2}|" job.yaml ;;
    backend.plugin) cat job.yaml && echo "backend: {type: pjrt, plugin: $2}" ;;
    compilation_cache) cat job.yaml && echo "backend: {type: pjrt, plugin: ./trap.so, compilation_cache: $2}" ;;
    secret_file) cat job.yaml && echo "strategy: {type: multi_worker_mirrored, cluster_resolver: {secret_file: $2}}" ;;
    dataset.validation) sed "s|format: csv|validation: $2, format: csv|" job.yaml ;;
    dataset.train) sed "s|train: t.csv|train: $2|" job.yaml ;;
    model.init_from) sed "s|^model: {|model: {init_from: $2, |" job.yaml ;;
    init_from.path) sed "s|^model: {|model: {init_from: {path: $2}, |" job.yaml ;;
    checkpoint.resume) cat job.yaml && echo "checkpoint: {resume: $2}" ;;
    output.dir) sed "s|dir: run|dir: $2|" job.yaml ;;
    esac
}
keys='extends model.keras_config vocabulary text_vocabulary tokenizer text_tokenizer backend.plugin compilation_cache secret_file dataset.validation dataset.train
    model.init_from init_from.path checkpoint.resume output.dir'
# A key that is new in the reference and speaks of a file has to be added here.
# shellcheck disable=SC2016 # the backquotes are Markdown's
"$DTRAIN" config reference | sed -n 's/^| `\([a-z_.]*\)` | [^|]*text[^|]*|.*\(path\|file\|folder\|directory\).*/\1/p; s/^| `\(vocabulary\)` .*/\1/p' | sort -u
n=0
for path in pipe /dev/zero; do
    inspect "$path"
    for key in $keys; do
        n=$((n + 1))
        [ -n "$whole" ] || [ $((n % 2)) = 0 ] || continue
        trap_in "$key" "$path" >ends.yaml
        inspect ends.yaml
    done
done
for path in /dev/tty ./trap.so; do
    for key in $keys; do
        trap_in "$key" "$path" >ends.yaml
        for verb in 'config show' validate lower 'fit -n'; do
            # shellcheck disable=SC2086
            try $verb ends.yaml
        done
    done
done
cd "$base" || exit 1
