#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: net strategy train
# Workers that are started one by one and meet at an address (torchrun's variables, TF_CONFIG, cluster_resolver): the bits of one process; IPv6 and a secret;
# evaluate and predict, too; contradictions, wrong ranks, ports that are taken and missing workers are named on both sides; a lost worker is named, and no process is left behind.
# shellcheck disable=SC2317 # functions are called by functions that are given their names
. tests/cli/setup.sh
for folder in /usr/lib /usr/lib64 /usr/local/lib /usr/lib/*-linux-gnu; do
    [ ! -e "$folder/libzmq.so.5" ] || zeromq=$folder
done
if [ -z "${zeromq:-}" ]; then
    echo "ZeroMQ is not here"
    exit 77
fi
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
strategy: {type: multi_worker_mirrored, timeout: 20, start_timeout: 60}
reproducible: {shards: 8}
dataset: {format: synthetic, examples: 61, element: {image: {shape: [6, 6, 1]}, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 16}
model: {type: sequential, layers: [Input: {name: image, shape: [6, 6, 1]}, Flatten, Dense: {units: 16}, Dropout: {rate: 0.2}, Dense: {units: 3}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
END
(umask 077 && echo "a secret for this test" >"$TEST_DIR/secret" && echo "another secret for this test" >"$TEST_DIR/other")
next_ports() { next_port && a=$port && next_port && b=$port && next_port && c=$port && next_port && d=$port; }
fit() { timeout -k 3 100 "$DTRAIN" fit "$job" "output.dir=$TEST_DIR/${to:-run}" --threads 1 "$@"; }
# torchrun RANK N WORDS..., tensorflow TYPE INDEX WORDS..., resolved RANK WORDS...: one worker.
torchrun() { rank=$1 n=$2 && shift 2 && WORLD_SIZE=$n RANK=$rank MASTER_ADDR=${host:-127.0.0.1} MASTER_PORT=$a fit "$@"; }
tensorflow() {
    type=$1 index=$2 && shift 2
    TF_CONFIG='{"cluster": {"chief": ["127.0.0.1:'$a'"], "worker": ["localhost:'$b'", "127.0.0.1:'$c'"]}, "task": {"type": "'$type'", "index": '$index'}}' fit "$@"
}
resolved() { rank=$1 && shift && fit "strategy.cluster_resolver={workers: ['[::1]:$a', 'localhost:$b'], secret_file: $TEST_DIR/secret}" --rank "$rank" "$@"; }
# check NAME: waits for all that run, and compares exit code and weights with those of one process.
check() {
    status=0
    wait "$first" || status=$?
    wait
    [ "$status" -eq 0 ] || { echo "$1: exit $status" && cat "$TEST_DIR"/err*; }
    [ "$(weights "$TEST_DIR/json")" = "$one" ] || echo "$1: other bits"
}
# others WORDS...: in the background, its messages apart.
errors=0
others() { errors=$((errors + 1)) && "$@" --fresh --json >>"$TEST_DIR/out" 2>"$TEST_DIR/err$errors" & }
chief() { "$@" --fresh --json >"$TEST_DIR/json" 2>"$TEST_DIR/err" & first=$!; }

echo "== the same bits"
to=one && fit --json >"$TEST_DIR/one.json"
one=$(weights "$TEST_DIR/one.json") to=run
next_ports && chief torchrun 0 2 && others torchrun 1 2 && check "torchrun"
next_ports && host=::1 && export DTRAIN_SECRET_FILE="$TEST_DIR/secret"
others torchrun 2 3 && others torchrun 1 3 && chief torchrun 0 3 && check "IPv6 and a secret"
unset DTRAIN_SECRET_FILE host
next_ports && others tensorflow worker 1 && chief tensorflow chief 0 && others tensorflow worker 0 && check "TF_CONFIG"
next_ports && chief resolved 0 && others resolved 1
wait "$first" || cat "$TEST_DIR/err"
wait
[ "$(weights "$TEST_DIR/json")" = "$one" ] || echo "cluster_resolver: other bits"
next_ports && export DTRAIN_INTERFACE=lo DTRAIN_SECRET_FILE="$TEST_DIR/secret"
chief torchrun 0 2 && others torchrun 1 2 && check "an interface"
unset DTRAIN_INTERFACE DTRAIN_SECRET_FILE
next_ports && a=$((b - 1)) && export TORCHELASTIC_USE_AGENT_STORE=True # the port itself is that of torchrun's agent
chief torchrun 0 2 && others torchrun 1 2 && check "beside an agent"
unset TORCHELASTIC_USE_AGENT_STORE
# srun RANK N WORDS...: Slurm's variables beside those that say where to meet.
srun() { SLURM_STEP_NUM_TASKS=$2 SLURM_PROCID=$1 torchrun "$@"; }
next_ports && chief srun 0 2 && others srun 1 2 && check "srun without MPI"
grep -h "\"device\"" "$TEST_DIR/json" | sed 's/.*"device":"\([^"]*\)".*/\1/'

echo "== evaluate and predict"
# same VERB WORDS...: two workers, each with its number, print what one process prints.
same() {
    verb=$1 && shift
    "$DTRAIN" "$verb" "$job" "output.dir=$TEST_DIR/one" --threads 1 "$@" >"$TEST_DIR/alone" || echo "$verb: exit $?"
    next_ports
    for rank in 1 0; do
        timeout -k 3 100 "$DTRAIN" "$verb" "$job" "output.dir=$TEST_DIR/one" --threads 1 --rank $rank "$@" \
            "strategy.cluster_resolver={workers: ['127.0.0.1:$a', 'localhost:$b']}" >"$TEST_DIR/rank$rank" 2>"$TEST_DIR/text$rank" &
    done
    wait
    cmp "$TEST_DIR/alone" "$TEST_DIR/rank0" || cat "$TEST_DIR/text0"
    [ ! -s "$TEST_DIR/rank1" ] || echo "$verb: worker 1 speaks, too"
}
same evaluate --json
same predict --split validation

echo "== refused"
# refuses CODE TEXT WORDS...
refuses() {
    code=$1 text=$2 && shift 2
    "$@" >"$TEST_DIR/out" 2>"$TEST_DIR/text" && status=0 || status=$?
    [ "$status" -eq "$code" ] || echo "exit $status, not $code: $*"
    has "$TEST_DIR/text" "$text"
}
# at RANK HOST PORT: one of two.
at() { env "WORLD_SIZE=2" "RANK=$1" "MASTER_ADDR=$2" "MASTER_PORT=$3" "$DTRAIN" fit "$job"; }
pair="strategy.cluster_resolver={workers: ['a:1', 'b:2']}"
next_ports
refuses 78 "describes 2 workers, but not where they can meet [DT" env WORLD_SIZE=2 RANK=0 "$DTRAIN" fit "$job"
has "$TEST_DIR/text" "set MASTER_ADDR and MASTER_PORT to a name and a port of worker 0's machine"
refuses 78 "but not where they can meet: MASTER_PORT is not set" env WORLD_SIZE=2 RANK=0 MASTER_ADDR=127.0.0.1 "$DTRAIN" fit "$job"
has "$TEST_DIR/text" "set it to a free port of worker 0's machine" && lacks "$TEST_DIR/text" MASTER_ADDR
refuses 78 "but not where they can meet: MASTER_ADDR is not set" env WORLD_SIZE=2 RANK=0 "MASTER_PORT=$a" MASTER_ADDR= "$DTRAIN" fit "$job"
has "$TEST_DIR/text" "set it to the name or the address of worker 0's machine" && lacks "$TEST_DIR/text" MASTER_PORT
refuses 78 "SLURM_STEP_NUM_TASKS says that this is worker 1 of 2, but WORLD_SIZE says worker 0 of 2" env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 WORLD_SIZE=2 RANK=0 "$DTRAIN" fit "$job"
refuses 78 "MASTER_PORT=x: it must be 1 to 65534" at 0 ::1 x
refuses 78 "RANK=2: with WORLD_SIZE=2 it must be 0 to 1" torchrun 2 2
refuses 78 "worker 2 is not in the cluster, whose last worker is 1" tensorflow worker 2
refuses 78 "this run has no secret" at 0 192.0.2.1 "$a"
refuses 78 "this run has no secret" at 1 192.0.2.1 "$a"
DTRAIN_SECRET_FILE=$TEST_DIR/nothing && export DTRAIN_SECRET_FILE
refuses 66 "secret (DTRAIN_SECRET_FILE)" at 0 127.0.0.1 "$a"
# weak MODE SECRET TEXT: a secret that is refused, and what is wrong with it.
weak() {
    rm -f "$TEST_DIR/weak" && echo "$2" >"$TEST_DIR/weak" && chmod "$1" "$TEST_DIR/weak"
    DTRAIN_SECRET_FILE=$TEST_DIR/weak refuses 78 "$3" at 0 127.0.0.1 "$a"
    unset DTRAIN_SECRET_FILE
    refuses 78 "$3" fit "strategy.cluster_resolver={workers: ['127.0.0.1:$a', 'localhost:$b'], secret_file: $TEST_DIR/weak}" --rank 1
    has "$TEST_DIR/text" "in $TEST_DIR/weak" && has "$TEST_DIR/text" "which is the run's secret (cluster_resolver.secret_file)"
}
weak 644 "a secret for this test" "others can read or write the run's secret (mode 0644)"
weak 660 "a secret for this test" "others can read or write the run's secret (mode 0660)"
weak 600 aaaaaaaaaaaaaaaa "repeats its first 1 bytes"
weak 600 passwordpassword "repeats its first 8 bytes"
weak 600 password12345678 "can be guessed: only 3 of its 16 bytes"
has "$TEST_DIR/text" "create one: (umask 077; head -c 32 /dev/urandom | base64 > secret)"
weak 600 short "has 5 bytes; it must have 16 to 4096"
weak 600 "" "has 0 bytes"
refuses 69 "cannot find the address of 'nowhere.invalid'" at 1 nowhere.invalid "$a"
refuses 78 "the number of this one is not set" fit "$pair"
refuses 78 "--rank 2: with 2 workers in cluster_resolver it must be 0 to 1" resolved 2
refuses 78 "DTRAIN_RANK=1: the job has no strategy.cluster_resolver" env DTRAIN_RANK=1 "$DTRAIN" fit "$job"
refuses 78 "--rank 1: the job has no strategy.cluster_resolver" fit --rank 1
refuses 78 "--rank 5: with 2 workers in cluster_resolver it must be 0 to 1" fit "$pair" --rank 5
refuses 78 "--rank 5: with 2 workers in cluster_resolver it must be 0 to 1" env DTRAIN_RANK=1 "$DTRAIN" fit "$job" "$pair" --rank=5
refuses 78 "DTRAIN_RANK=5: with 2 workers in cluster_resolver it must be 0 to 1" env DTRAIN_RANK=5 "$DTRAIN" evaluate "$job" "$pair"
refuses 78 "WORLD_SIZE says that this is worker 1 of 2, but --rank says worker 0 of 2" env WORLD_SIZE=2 RANK=1 "$DTRAIN" fit "$job" "$pair" --rank 0
has "$TEST_DIR/text" "leave out --rank, or start the job without"
refuses 78 "WORLD_SIZE says that this is worker 1 of 2, but DTRAIN_RANK says worker 0 of 2" env WORLD_SIZE=2 RANK=1 DTRAIN_RANK=0 "$DTRAIN" fit "$job" "$pair"
has "$TEST_DIR/text" "unset DTRAIN_RANK, or start the job without"
refuses 78 "cluster_resolver has 2 workers, but WORLD_SIZE says 3" env WORLD_SIZE=3 RANK=1 "$DTRAIN" fit "$job" "$pair"

echo "== no secret, said explicitly"
# open TEXT WORDS...: worker 0 of two, which does not wait.
open() { DTRAIN_SECRET_FILE=none "$@" strategy.start_timeout=1 >"$TEST_DIR/out" 2>"$TEST_DIR/text" || true; }
listens="warning: this run has no secret and listens on"
next_ports && host=0.0.0.0 && open torchrun 0 2 && has "$TEST_DIR/text" "$listens *:$a: everybody who can reach"
next_ports && open env "WORLD_SIZE=2" "RANK=0" "MASTER_ADDR=0.0.0.0" "MASTER_PORT=$a" "$DTRAIN" evaluate "$job" "output.dir=$TEST_DIR/one" && has "$TEST_DIR/text" "$listens *:$a"
next_ports && open torchrun 0 2 --fresh "strategy={type: parameter_server, workers: 1}" && has "$TEST_DIR/text" "$listens *:$a"
next_ports && DTRAIN_INTERFACE=lo open torchrun 0 2 && lacks "$TEST_DIR/text" "$listens"
unset DTRAIN_INTERFACE host
next_ports && open torchrun 0 2 && lacks "$TEST_DIR/text" "$listens"

echo "== both sides"
# both CODE TEXT: the two that run end with this code and text.
both() {
    wait "$first" && status=0 || status=$?
    wait "$second" && other=0 || other=$?
    [ "$status $other" = "$1 $1" ] || echo "exit $status and $other, not $1: $2"
    has "$TEST_DIR/text" "$2" && has "$TEST_DIR/text2" "$2"
}
ask() { : >"$TEST_DIR/text" && "$@" >"$TEST_DIR/out" 2>"$TEST_DIR/text" & first=$!; }
too() { "$@" >"$TEST_DIR/out2" 2>"$TEST_DIR/text2" & second=$!; }
next_ports && ask torchrun 0 2 && too torchrun 1 3 && both 78 "worker 0 expects 2 workers, but worker 1 expects 3"
next_ports && ask torchrun 1 3 && too torchrun 1 3 && others torchrun 0 3 && both 78 "two processes say that they are worker 1"
wait
next_ports && ask torchrun 0 2 && too torchrun 1 2 seed=4 && both 76 "the SHA-256 of the job"
next_ports && ask torchrun 0 2 strategy.start_timeout=7
DTRAIN_SECRET_FILE=$TEST_DIR/other too torchrun 1 2 strategy.start_timeout=7
both 69 "has waited 7 s for "
has "$TEST_DIR/text" "waiting for worker 1 of 2; start worker 1 by the same command with RANK=1"
has "$TEST_DIR/text2" "waiting for worker 0 at 127.0.0.1:$a, where another program answers, or one without this run's secret"

next_ports && DTRAIN_SECRET_FILE=$TEST_DIR/secret ask torchrun 0 2 strategy.start_timeout=6
DTRAIN_SECRET_FILE=$TEST_DIR/other too torchrun 1 2 strategy.start_timeout=6
both 69 "has waited 6 s for "
has "$TEST_DIR/text" "waiting for worker 1 of 2; connections refused, which did not have this run's secret: "
unset DTRAIN_SECRET_FILE

echo "== a port that is taken"
next_ports && ask torchrun 0 2 strategy.start_timeout=30
sleep 1
wait_for "waiting for worker 1 of 2" "$TEST_DIR/text"
mv "$TEST_DIR/text" "$TEST_DIR/text2"
refuses 69 "cannot listen on 127.0.0.1:$a: Address already in use" torchrun 0 2
for pid in $(pgrep -f "fit $job output.dir=$TEST_DIR/run"); do kill "$pid" 2>"$TEST_DIR/ignored"; done
wait

echo "== lost"
# lose SIGNAL TEXT: worker 1 of 3 gets the signal in the middle of training.
lose() {
    next_ports
    : >"$TEST_DIR/json"
    for r in 1 2; do torchrun "$r" 3 --fresh fit.epochs=100000 strategy.timeout=6 >>"$TEST_DIR/out" 2>&1 & done
    : >"$TEST_DIR/json" # wait_for would read what the run before has written
    torchrun 0 3 --fresh --json fit.epochs=100000 strategy.timeout=6 >"$TEST_DIR/json" 2>"$TEST_DIR/text" &
    first=$!
    wait_for '"epoch":3,' "$TEST_DIR/json"
    for pid in $(pgrep -f "fit $job output.dir=$TEST_DIR/run"); do
        grep -qz '^RANK=1$' "/proc/$pid/environ" 2>/dev/null && [ "$(cat "/proc/$pid/comm")" = dtrain ] && kill -"$1" "$pid" && lost=$pid
    done
    wait $first && status=0 || status=$?
    [ "$status" -eq 69 ] || echo "$1: exit $status"
    has "$TEST_DIR/text" "$2"
    kill -KILL "$lost" 2>"$TEST_DIR/ignored"
    wait
}
lose KILL "rank 1 left while rank "
lose STOP "rank 1 is late: rank "
has "$TEST_DIR/text" "has waited 5 s for rank 1, process $lost on "
pgrep -f "fit $job" && echo "left behind"

echo "== restarted with one worker less"
# As torchrun does with --max-restarts and --nnodes 1:3: a worker is lost, the others end, and the agent starts those that it still
# has again, with other numbers. They go on from the newest checkpoint.
to=without && fit --fresh --json fit.epochs=600 >"$TEST_DIR/one.json"
one=$(weights "$TEST_DIR/one.json") to=run
next_ports
for r in 1 2; do torchrun "$r" 3 --fresh fit.epochs=600 >>"$TEST_DIR/out" 2>&1 & done
: >"$TEST_DIR/json"
torchrun 0 3 --fresh --json fit.epochs=600 >"$TEST_DIR/json" 2>"$TEST_DIR/text" &
first=$!
wait_for '"epoch":5,' "$TEST_DIR/json"
for pid in $(pgrep -f "fit $job output.dir=$TEST_DIR/run"); do
    grep -qz '^RANK=2$' "/proc/$pid/environ" 2>/dev/null && [ "$(cat "/proc/$pid/comm")" = dtrain ] && kill -KILL "$pid"
done
wait $first && status=0 || status=$?
wait
[ "$status" -eq 69 ] || echo "exit $status"
next_ports && export TORCHELASTIC_RESTART_COUNT=1
torchrun 1 2 fit.epochs=600 >"$TEST_DIR/out" 2>&1 &
torchrun 0 2 --json fit.epochs=600 >"$TEST_DIR/json" 2>"$TEST_DIR/text" || echo "exit $?"
wait
unset TORCHELASTIC_RESTART_COUNT
grep -q '"resumed_step":[1-9]' "$TEST_DIR/json" || echo "it began anew"
[ "$(weights "$TEST_DIR/json")" = "$one" ] || echo "other bits than without a loss"

echo "== a parameter server"
# Its processes: chief 0, worker 0 and 1, ps 0; each writes out.NAME and err.NAME.
cluster() {
    echo '{"cluster": {"chief": ["127.0.0.1:'"$a"'"], "worker": ["localhost:'"$b"'", "127.0.0.1:'"$c"'"], "ps": ["127.0.0.1:'"$d"'"]}, "task": {"type": "'"$1"'", "index": '"$2"'}}'
}
member() {
    TF_CONFIG=$(cluster "$1" "$2") && export TF_CONFIG && name=$1$2 && shift 2
    exec timeout -k 3 100 "$DTRAIN" fit "$job" "output.dir=$TEST_DIR/ps" --fresh --json reproducible=null "strategy={type: parameter_server, timeout: 2, ${more:-max_staleness: 4}}" "$@" \
        >"$TEST_DIR/out.$name" 2>"$TEST_DIR/err.$name"
}
# start NAME INDEX WORDS...: in the background; the process is $last.
start() { (member "$@") & last=$!; }
start_all() {
    : >"$TEST_DIR/out.chief0"
    : >"$TEST_DIR/err.chief0" # wait_for would read what the one before has written
    next_ports
    start worker 0 "$@" && w0=$last
    start worker 1 "$@" && w1=$last
    start ps 0 "$@" && ps=$last
    start chief 0 "$@" && chief=$last
}
# codes PID...: how each ends.
codes() {
    list=
    for pid in "$@"; do
        status=0
        ended "$pid" || status=$?
        list="$list $status"
    done
    echo "exit$list"
}
more="schedule: virtual" && start_all
codes "$chief" "$w0" "$w1" "$ps"
member_alone() { "$DTRAIN" fit "$job" "output.dir=$TEST_DIR/ps1" --fresh --json reproducible=null "strategy={type: parameter_server, workers: 3, schedule: virtual}"; }
member_alone >"$TEST_DIR/alone"
[ "$(weights "$TEST_DIR/out.chief0")" = "$(weights "$TEST_DIR/alone")" ] || echo "other bits than with workers of one machine"
more=

echo "== rows of a table"
dense=$job job=$TEST_DIR/table.yaml
sed 's/^dataset.*/dataset: {format: synthetic, examples: 330, global_batch_size: 16, element: {ids: {shape: [4], dtype: int32, num_classes: 3000}, label: {num_classes: 3}}}/; s/^model.*/model: {layers: [Input: {name: ids, shape: [4], dtype: int32}, Embedding: {input_dim: 3000, output_dim: 32}, Flatten, Dense: {units: 3}]}/' "$dense" >"$job"
more="schedule: virtual" && start_all
codes "$chief" "$w0" "$w1" "$ps"
member_alone >"$TEST_DIR/alone"
[ -n "$(weights "$TEST_DIR/alone")" ] || echo "no weights"
[ "$(weights "$TEST_DIR/out.chief0")" = "$(weights "$TEST_DIR/alone")" ] || echo "other bits than with workers of one machine"
job=$dense more=
updates() { sed -n 's/.*"event":"workers".*"staleness":\[\([0-9,]*\)\].*/\1/p' "$1" | tail -1 | awk -F, '{ for (i = 1; i <= NF; i++) n += $i; print n " updates" }'; }
# below PID: the program that `timeout` runs.
below() { pgrep -P "$1" | head -1; }

echo "== a worker elsewhere is killed"
start_all fit.epochs=500
wait_for '"event":"epoch","epoch":20,' "$TEST_DIR/out.chief0"
kill -KILL "$(below "$w1")"
wait_for "worker 2 was lost" "$TEST_DIR/err.chief0"
start worker 1 fit.epochs=500 # it comes again
codes "$chief" "$w0" "$last" "$ps"
updates "$TEST_DIR/out.chief0"

echo "== the coordinator is stopped"
start_all fit.epochs=1000000 strategy.timeout=30
wait_for '"event":"epoch","epoch":20,' "$TEST_DIR/out.chief0"
kill -STOP "$(below "$chief")"
wait_for "s for the coordinator at 127.0.0.1:$a, which validates, saves or is stopped; it counts as lost after 60 s of silence" "$TEST_DIR/err.worker0"
wait_for "worker 2 has waited " "$TEST_DIR/err.worker1"
kill -CONT "$(below "$chief")"
kill -TERM "$(below "$chief")"
codes "$chief" "$w0" "$w1" "$ps"
lacks "$TEST_DIR/err.ps0" "has waited"

echo "== the coordinator is killed"
start_all fit.epochs=1000000
wait_for '"event":"epoch","epoch":20,' "$TEST_DIR/out.chief0"
kill -KILL "$(below "$chief")"
since=$(date +%s)
codes "$w0" "$w1" "$ps"
[ $(($(date +%s) - since)) -le 5 ] || echo "they end after $(($(date +%s) - since)) s"
has "$TEST_DIR/err.worker0" "the coordinator, which has the weights, is gone"
wait

echo "== what does not fit"
next_ports && more="start_timeout: 7" && start chief 0 && chief=$last && start worker 0 && w0=$last
codes "$chief"
has "$TEST_DIR/err.chief0" "the coordinator has waited 7 s for worker 2 of 2; start worker 2 at 127.0.0.1:$c by the same command with TF_CONFIG's task index 1"
codes "$w0"
next_ports && more="start_timeout: 5" && start chief 0 && chief=$last && start worker 0 seed=4 && w0=$last
codes "$w0"
has "$TEST_DIR/err.worker0" "the coordinator has dtrain "
codes "$chief"
more=
(member evaluator 0) || echo "exit $?"
has "$TEST_DIR/err.evaluator0" "an evaluator has nothing to do"
TF_CONFIG='{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 0}}' "$DTRAIN" fit "$job" -n reproducible=null "strategy={type: parameter_server}" 2>"$TEST_DIR/err" || echo "exit $?"
has "$TEST_DIR/err" "has a chief, the coordinator"
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$DTRAIN" fit "$job" -n reproducible=null "strategy={type: parameter_server}" 2>"$TEST_DIR/err" || echo "exit $?"
has "$TEST_DIR/err" "ends them all when one is lost"
exit 0
