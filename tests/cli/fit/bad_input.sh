#!/bin/sh
# Job files that are wrong, one mistake each: exit code, place, message, number. Whatever is said about a mistake, the run directory
# is not made. Names as in the tables of tests/job: Y for syntax, K for keys and values, S for strategies, M for models, F for files.
. tests/cli/setup.sh
write_tiny
job=$TEST_DIR/job.yaml

# row NAME WORDS...: trains job.yaml; prints the exit code, the errors, what was meant; not the lists of what there is, which grow.
row() {
    name=$1
    shift
    timeout 20 "$DTRAIN" fit "$job" -q "$@" >"$TEST_DIR/out" 2>"$TEST_DIR/err"
    echo "$name: exit $?"
    sed "s|$TEST_DIR/job.yaml|job.yaml|; s|$TEST_DIR|DIR|" "$TEST_DIR/err" | sed -n 's/; \(the nearest\|there are\|this machine\) .*\[/ [/; s/^.*\^ *\(did you mean.*\)/    \1/p; /error: /p' | cut -c1-200 | sed 's/^/    /'
    [ "$(wc -c <"$TEST_DIR/err")" -lt 65536 ] || echo "    too long: $(wc -c <"$TEST_DIR/err") bytes"
    [ ! -e "$TEST_DIR/run" ] || { echo "    something was written" && rm -r "$TEST_DIR/run"; }
}
# edit NAME SED: the tiny job, edited.
edit() {
    sed "$2" "$tiny" >"$job"
    cmp -s "$tiny" "$job" && echo "$1: '$2' changes nothing"
    row "$1"
}
# text NAME FORMAT: a file of its own.
text() {
    # shellcheck disable=SC2059
    printf "$2" >"$job"
    row "$1"
}
# override NAME key=value...: the tiny job with overrides.
override() {
    cp "$tiny" "$job"
    row "$@"
}

echo "== syntax"
text Y01 ''
text Y02 '# nothing\n\n'
text Y03 'version: 1\nmodel:\n\ttype: sequential\n'
text Y04 'version: 1\nmodel: [1, 2\n'
text Y05 'version: 1\nname: "tiny\n'
edit Y06 's/^fit:.*/&\nfit: {epochs: 3}/'
edit Y07 's/learning_rate: 0.05/&, learning_rate: 0.1/'
edit Y08 '22s|$|\n---\nversion: 1|'
text Y09 '\055 version: 1\n\055 name: x\n'
text Y10 'sequential\n'
edit Y11 's/^seed: 7/seed: *nope/'
text Y12 'a: &a [*a]\n'
text Y13 "$(awk 'BEGIN { printf "a0: &a0 [x, x]\\n"; for (i = 1; i < 100; i++) printf "a%d: &a%d [*a%d, *a%d]\\n", i, i, i - 1, i - 1 }')"
head -c 200000 /dev/zero | tr '\0' '[' >"$job"
row Y14
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "%*sa:\n", i, "" }' >"$job"
row Y15
head -c 67108864 /dev/zero | tr '\0' '#' >"$job"
row Y16
text Y17 'version: 1\nname: "a\000b"\n'
text Y18 'version: 1\nname: a\377b\n'
edit Y20 's/^seed: 7/seed: !!python\/object:os.system 7/'
edit Y22 "s/type: mirrored/type: $(head -c 100000 /dev/zero | tr '\0' a)/"
edit Y23 's/type: mirrored/type: "\\e[2J\\e]0;x\\a"/'
edit Y24 's/^seed: 7/? [1, 2]\n: 7/'
awk 'BEGIN { for (i = 0; i < 4000; i++) printf "k%d: 1\n", i }' >"$job"
row Y25 | grep -v "unknown key 'k[1-9]"
tail -n 1 "$TEST_DIR/err"
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "k%d: 1\n", i }' >"$job"
row Y25
edit Y26 's/^  loss: .*/  loss: no/'
edit Y27 's/epochs: 2/epochs: 010/'
edit Y28 's/learning_rate: 0.05/learning_rate: .nan/'
edit Y29 's/learning_rate: 0.05/learning_rate: .inf/'
edit Y30 's/epochs: 2/epochs: 99999999999999999999999999/'

echo "== keys and values"
edit K01 's/^compile:/complie:/'
edit K02 's/learning_rate/learnig_rate/'
edit K03 's/^seed: 7/frobnicate: 7/'
edit K04 '/^model:/,/logits/d'
edit K05 '/^dataset:/,/global_batch/d'
edit K06 '/^  loss:/d'
edit K07 's/^fit:.*/fit: [1, 2]/'
edit K08 's/epochs: 2/epochs: ten/'
edit K09 's/epochs: 2/epochs: -1/'
edit K10 's/epochs: 2/epochs: 0/'
edit K11 's/epochs: 2/epochs: 1.5/'
edit K12 's/batch_size: 8/batch_size: 0/'
edit K13 's/batch_size: 8/batch_size: -8/'
edit K14 's/batch_size: 8/batch_size: 1000000000000/'
edit K16 's/0.05/-0.1/'
edit K17 's/0.05/fast/'
edit K18 's/^seed: 7/seed: 18446744073709551616/'
edit K19 's/{SGD:/{SDG:/'
edit K20 's/SparseCategoricalCrossentropy/SparseCategoricalCrossentrpy/'
edit K21 's/\[accuracy\]/[accuacy]/'
edit K22 's/\[accuracy\]/{accuracy: 1}/'
edit K23 's/^strategy: .*/strategy: null/'
override K24 checkpoint.save_freq=0
override K25 checkpoint.max_to_keep=0
override K26 'output.dir=""'
override K28 fit.epochs=0 seed=x dataset.global_batch_size=-1
override K30 fit.epochs=2 fit.steps=7

echo "== strategies"
edit S01 's/type: mirrored/type: mirrred/'
edit S02 's/replicas: 2/replicas: 0/'
edit S03 's/replicas: 2/replicas: -4/'
edit S04 's/replicas: 2/replicas: 1000000000/'
edit S05 's/replicas: 2/replicas: 2147483648/'
edit S06 's/replicas: 2/replicas: 18446744073709551617/'
edit S07 's/replicas: 2/replicas: two/'
edit S08 's/replicas: 2/devices: ["CPU:0", "CPU:0"]/'
edit S09 's/replicas: 2/devices: ["GPU:99"]/'
edit S10 's/replicas: 2/replicas: 2, devices: ["CPU:0", "CPU:1", "CPU:2"]/'
edit S11 "s/^strategy: .*/strategy: {type: tpu, cluster_resolver: {tpu: 'sim:0x0'}}/"
edit S12 "s/^strategy: .*/strategy: {type: tpu, cluster_resolver: {tpu: 'sim:4x4x'}}/"
edit S13 "s/^strategy: .*/strategy: {type: tpu, cluster_resolver: {tpu: 'sim:-2x2'}}/"
edit S15 "s/^strategy: .*/strategy: {type: tpu, cluster_resolver: {tpu: 'sim:v3:4294967296x4294967296'}}/"
edit S16 "s/^strategy: .*/strategy: {type: tpu, cluster_resolver: {tpu: 'sim:v9-8'}}/"
edit S23 's/replicas: 2/replicas: 2, cluster_resolver: {tpu: "sim:v3-8"}/'

echo "== models"
edit M01 's/units: 4/units: 0/'
edit M02 's/units: 4/units: -5/'
edit M03 's/units: 4/units: 1000000000000/'
edit M04 's/units: 4/units: 4611686018427387904/'
edit M05 's/activation: relu/activation: reu/'
edit M06 's/- Dense: {units: 4/- Dese: {units: 4/'
edit M07 's/^  layers:/  layers: []/; /^    - /d'
edit M08 's/units: 3/units: 2/'
edit M11 's/learning_rate: 0.05/&, momentum: 2.0/'
edit M13 's/name: image, shape: \[8\]/name: image, shape: [9]/'
edit M14 's/name: image, shape: \[8\]/name: image, shape: [-8]/'
edit M15 's/shape: \[8\]/shape: [65536, 65536, 65536, 65536]/'
edit M16 's/units: 4/units: 4, name: "..\/..\/x"/'
edit M17 's/units: 4/units: 4, name: logits/'
edit M23 's/{SGD: .*}}/{Adam: {beta_2: 1.0, epsilon: 0}}/; s/^  optimizer:.*/  optimizer: {Adam: {beta_2: 1.0}}/'

echo "== surroundings"
rm "$job"
row F01
mkdir "$job"
row F02
rmdir "$job"
mkfifo "$job"
row F03
rm "$job"
override V11 fit.epochs=abc
