#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: conf report
# Commands inside the sentences and tables of README.md and docs/*.md are run as well, each in a
# folder of its own that has jobs, runs and files of data; words in capitals stand for one of these.
# A verb alone must have a page of help, and a verb with an option alone must have that option.
. tests/cli/setup.sh
export LC_ALL=C.UTF-8 EPOCHS=2
work=$TEST_DIR/work
mkdir "$TEST_DIR/bin" "$work"
ln -s "$DTRAIN" "$TEST_DIR/bin/dtrain"
PATH=$TEST_DIR/bin:$PATH

# PAGE:LINE and a command. A code span ends on its line or on a later one of the paragraph.
cat >"$TEST_DIR/spans.awk" <<'END'
/^ *```/ { inside = !inside }
FNR == 1 || inside || /^ *```/ || /^    / || /^$/ { text = "" }
inside || /^ *```/ || /^    / || /^$/ { next }
{
    text = text == "" ? $0 : text " " $0
    while (match(text, /`[^`]*`/)) {
        span = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        gsub(/\\\|/, "|", span)
        if (span ~ /^dtrain [a-z]/) print FILENAME ":" FNR "\t" span
        else if (span ~ "^(" verbs ") ([^`]* )?-") print FILENAME ":" FNR "\tdtrain " span
    }
    if (text !~ /`/) text = ""
}
END
sed -n 's/^VERB(\(.*\))/\1/p' cmd/verbs.h | tr _ ' ' >"$TEST_DIR/verbs"
verbs=$(paste -sd '|' "$TEST_DIR/verbs")
awk -v verbs="$verbs" -f "$TEST_DIR/spans.awk" README.md docs/*.md >"$TEST_DIR/spans"
found=$(wc -l <"$TEST_DIR/spans")
[ "$found" -gt 100 ] || echo "only $found commands are found"

# What the commands name: a job for a table, with runs of it.
table() {
    awk -v seed="$1" -v rows="$2" 'BEGIN { print "age,height,size,plan"
        for (i = 0; i < rows; i++)
            print i % 3 + (i * seed) % 7 / 20 ",1." i % 5 "," (i % 3) * 2 ",plan" i % 3 }'
}
cd "$work" || exit 1
table 3 120 >table.csv
table 5 30 >test.csv
cut -d , -f 1-3 test.csv >new.csv
cat >job.yaml <<'END'
version: 1
let: {width: 8}
dataset:
  format: csv
  train: table.csv
  test: test.csv
  validation_split: 0.2
  element:
    x: {columns: [age, height, size]}
    plan: {column: plan, vocabulary: [plan0, plan1, plan2]}
  map: {x: [normalize]}
  shuffle: true
  global_batch_size: 16
model:
  layers:
    - Input: {name: x, shape: [3]}
    - Dense: {units: '{width}', activation: relu}
    - Dense: {units: 3, activation: softmax}
compile:
  optimizer: {Adam: {learning_rate: 0.1}}
  loss: SparseCategoricalCrossentropy
  metrics: [accuracy]
fit: {epochs: 4}
output: {dir: runs/job, trace: {steps: [10, 12]}}
END
cp job.yaml keras.yaml
cp job.yaml reviews.yaml
for run in job a b; do dtrain fit job.yaml -q output.dir=runs/$run || exit; done
sed 's/^version.*/&\nstrategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8}}/' job.yaml >slice.yaml
dtrain ckpt convert runs/a -o keras.npz -q
dtrain predict job.yaml --input new.csv -o x.npy -q
mkdir -p pictures/cat pictures/dog
for kind in cat dog; do
    { echo iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAF0lEQVR4nGNkYGRiZmZm &&
        echo ZmZm4eTkhLAAAo4ASMA/XigAAAAASUVORK5CYII=; } | base64 -d >"pictures/$kind/1.png"
done

# Words that stand for something, filled in. Slices have faults and plans to trace.
filled() {
    echo "$1" | sed -e 's/trace JOB/trace slice.yaml/' -e 's/JOB --inject/slice.yaml --inject/' \
        -e 's/\bJOB\b/job.yaml/' -e 's/ … / job.yaml /' -e 's/\bRUN\b/runs\/a/' \
        -e 's/ A B\b/ runs\/a runs\/b/' -e 's/\bFOLDER\b/pictures/' \
        -e 's/-o FILE\b/-o out.tfrecord/' -e 's/--input FILE\b/--input test.csv/' \
        -e 's/\bTYPE\b/v3-8/' -e 's/\bFAULT\b/hbm=8GiB/' -e 's/\bNUMBER\b/0.1/' \
        -e 's/graph|[a-z|]*/graph/'
}
# has_page VERB, has_option VERB OPTION
has_page() {
    # shellcheck disable=SC2086 # a verb may be two words
    dtrain help $1 >/dev/null
}
has_option() {
    # shellcheck disable=SC2086
    dtrain help $1 | grep -qE -e "^ .*$2([ =]|\$)" || echo "$1 has no option $2"
}
# run COMMAND VERB REST: what has no operand gets the verb's.
run() {
    case $3,$2 in
    *.yaml*,* | *runs/a*,* | -*,version | -*,topology | -*,'config schema') operand= ;;
    -*,'ckpt diff') operand='runs/a runs/b' ;;
    --inject*,*) operand=slice.yaml ;;
    -*,'ckpt '* | -*,trace | -*,report) operand=runs/a ;;
    -*) operand=job.yaml ;;
    *) operand= ;;
    esac
    rm -rf "$TEST_DIR/here" && cp -r "$work" "$TEST_DIR/here"
    [ "$2" = fit ] && rm -r "$TEST_DIR/here/runs/job"
    (cd "$TEST_DIR/here" && sh -c "$1 $operand") >/dev/null 2>"$TEST_DIR/err" </dev/null ||
        { echo "exit $?" && head -n 3 "$TEST_DIR/err"; }
}
while IFS="$(printf '\t')" read -r place command; do
    command=$(filled "$command")
    verb=$(echo "$command" | cut -d ' ' -f 2-3)
    grep -qxF -e "$verb" "$TEST_DIR/verbs" || verb=$(echo "$command" | cut -d ' ' -f 2)
    rest=${command#"dtrain $verb"}
    rest=${rest# }
    case $rest in
    '') has_page "$verb" ;;
    --*[!a-z-]*) run "$command" "$verb" "$rest" ;;
    --*) has_option "$verb" "$rest" ;;
    *) run "$command" "$verb" "$rest" ;;
    esac >"$TEST_DIR/said" 2>&1
    [ -s "$TEST_DIR/said" ] && echo "$place: $command" && cat "$TEST_DIR/said"
done <"$TEST_DIR/spans"
true
