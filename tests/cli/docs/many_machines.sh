#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: dtrain
# What docs/many-machines.md shows, as far as one machine can check it: options of scripts by name, the unit by systemd, the manifest against the fields of an
# MPIJob. Every command is run, with Open MPI and with MPICH where they are installed; srun and scontrol are replaced, mpirun is kept on loopback.
# scripts/package runs this case with the program of the packages and of the wheel.
. tests/cli/setup.sh
doc=docs/many-machines.md
# block LANGUAGE TEXT: the block of that language that contains the text.
block() {
    awk -v fence="\`\`\`$1" -v text="$2" '
        $0 == fence { inside = 1; all = ""; next }
        /^```$/ { if (inside && index(all, text)) { printf "%s", all; exit } inside = 0 }
        inside { all = all $0 "\n" }' $doc
}

echo "== Slurm"
block sh SBATCH >"$TEST_DIR/slurm.sh"
block sh scontrol >"$TEST_DIR/slurm_alone.sh"
sh -n "$TEST_DIR/slurm.sh"
sh -n "$TEST_DIR/slurm_alone.sh"
sed -n 's/^#SBATCH //p' "$TEST_DIR/slurm.sh" | tr ' ' '\n' | sed 's/=.*//'
sed -n 's/^srun \([^ ]*\) dtrain \(.*\)/\1 \2/p' "$TEST_DIR/slurm.sh"

echo "== systemd"
block ini ExecStart | sed "s|/usr/bin/dtrain|$DTRAIN|; s|^WorkingDirectory=.*|WorkingDirectory=$TEST_DIR|" >"$TEST_DIR/dtrain@.service"
grep -c '^ExecStart=' "$TEST_DIR/dtrain@.service"
if command -v systemd-analyze >"$TEST_DIR/which"; then
    systemd-analyze verify "$TEST_DIR/dtrain@1.service" >"$TEST_DIR/verify" 2>&1 || grep -F dtrain@ "$TEST_DIR/verify"
    grep -F 'dtrain@' "$TEST_DIR/verify"
fi

echo "== Kubernetes"
block yml MPIJob >"$TEST_DIR/mpijob.yaml"
if python3 -c 'import yaml' 2>"$TEST_DIR/which"; then
    python3 - "$TEST_DIR/mpijob.yaml" <<'END'
import sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
assert job["apiVersion"] == "kubeflow.org/v2beta1" and job["kind"] == "MPIJob" and job["metadata"]["name"]
assert set(job) == {"apiVersion", "kind", "metadata", "spec"}
assert set(job["spec"]) <= {"slotsPerWorker", "runPolicy", "mpiReplicaSpecs", "sshAuthMountPath", "launcherCreationPolicy", "mpiImplementation"}
roles = job["spec"]["mpiReplicaSpecs"]
assert set(roles) == {"Launcher", "Worker"} and roles["Launcher"]["replicas"] == 1
for name, role in roles.items():
    assert set(role) <= {"replicas", "template", "restartPolicy"}, name
    pod = role["template"]["spec"]
    volumes = {v["name"] for v in pod.get("volumes", [])}
    for c in pod["containers"]:
        assert c["name"] and c["image"] and all(isinstance(word, str) for word in c.get("command", [])), name
        assert {m["name"] for m in c.get("volumeMounts", [])} <= volumes, name
command = roles["Launcher"]["template"]["spec"]["containers"][0]["command"]
assert int(command[command.index("-n") + 1]) == roles["Worker"]["replicas"] * job["spec"]["slotsPerWorker"]
END
fi

echo "== jobs"
job=$TEST_DIR/job.yaml
cat >"$TEST_DIR/rest.yaml" <<END
version: 1
dataset: {format: synthetic, examples: 32, element: {image: {shape: [4]}, label: {num_classes: 3}}, global_batch_size: 16}
model: {type: sequential, layers: [Input: {name: image, shape: [4]}, Dense: {units: 3}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
for text in cluster_resolver reproducible; do
    { cat "$TEST_DIR/rest.yaml" && block yaml $text; } >"$job"
    "$DTRAIN" validate "$job" >"$TEST_DIR/out" 2>&1 || cat "$TEST_DIR/out"
done

echo "== without MPI"
for folder in /usr/lib /usr/lib64 /usr/local/lib /usr/lib/*-linux-gnu; do
    [ ! -e "$folder/libzmq.so.5" ] || zeromq=$folder
done
block sh "RANK=0 dtrain" >"$TEST_DIR/workers.sh"
sh -n "$TEST_DIR/workers.sh"
if [ -n "${zeromq:-}" ]; then
    next_port
    { sed "s/node0/localhost/; s/29500/$port/; s/^\(RANK=0 .*\)  *# .*/\1 >out 2>err \&/; s/^\(RANK=1 .*\)  *# .*/\1 >out1 2>err1/" "$TEST_DIR/workers.sh" && echo 'wait $!'; } >"$TEST_DIR/here.sh"
    folder=$(cd "$(dirname "$DTRAIN")" && pwd)
    (cd "$TEST_DIR" && PATH=$folder:$PATH timeout -k 3 100 sh here.sh) || cat "$TEST_DIR/err" "$TEST_DIR/err1"
    has "$TEST_DIR/out" "2 workers x 1 CPU, processes that meet as torchrun says (WORLD_SIZE)"
fi

# ---- every command, in the order of the page ----

here=$TEST_DIR/here source=$PWD
mkdir -p "$here/bin" "$here/build"
ln -s "$DTRAIN" "$here/bin/dtrain"
{ cat "$TEST_DIR/rest.yaml" && block yaml reproducible; } >"$here/job.yaml"
block yaml 'cluster:' >"$here/cluster.yaml"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# MPI's own libraries leak.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

# run WORDS: a command line in that folder; fails loudly. A run that is already whole is none, so each begins anew.
run() {
    rm -rf "$here/runs"
    (cd "$here" && PATH=$here/bin:$PATH timeout -k 3 100 sh -c "$1") >"$TEST_DIR/out" 2>&1 </dev/null && return
    echo "exit $?: $1" && tail -n 20 "$TEST_DIR/out"
}

# The lines of the page that begin with this, as commands of a block.
lines() { sed -n "s|^    \($1 .*\)|\1|p" $doc; }

# A plug-in lies beside a program that was built, and in ../lib/dtrain of one that was installed.
folder=$(cd "$(dirname "$DTRAIN")" && pwd)
has_plugin() { [ -e "$folder/dtrain-fabric-$1.so" ] || [ -e "$folder/../lib/dtrain/dtrain-fabric-$1.so" ]; }

# An example beside its plug-ins, or one that is compiled with the library of a package and finds them from there.
make_example() {
    rm -f "$here"/build/*
    if [ -e "$folder/../include/dtrain.h" ]; then
        library=$(dirname "$(find "$folder/../lib" -name libdtrain.so)")
        ${CC:-cc} -I"$folder/../include" -o "$here/build/workers_loop" examples/workers_loop.c "$library/libdtrain.so" -Wl,-rpath,"$library" -lm
    elif [ -x "$BUILD/examples/workers_loop" ]; then
        cp "$BUILD/examples/workers_loop" "$here/build"
        for name in "$folder"/dtrain-fabric-*.so "$folder"/../lib/dtrain/dtrain-fabric-*.so; do [ ! -e "$name" ] || ln -sf "$name" "$here/build"; done
    else
        return 1
    fi
}

# with_mpi NAME WORDS: what mpirun does there, and srun.
with_mpi() {
    if ! command -v "mpirun.$1" >"$TEST_DIR/which" || ! has_plugin "$1"; then
        echo "$1 is not here; its commands are not run" >&2
        return
    fi
    printf '#!/bin/sh\nexec mpirun.%s %s "$@"\n' "$1" "$2" >"$here/bin/mpirun"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nshift\nexec mpirun -n 4 "$@"\n' >"$here/bin/srun"
    chmod +x "$here/bin/mpirun" "$here/bin/srun"
    run 'mpirun -n 4 dtrain fit job.yaml'
    has "$TEST_DIR/out" "4 workers x 1 CPU"
    if [ "$1" = openmpi ]; then
        # shellcheck disable=SC2016 # quotes of Markdown
        run "$(sed -n 's/.*`mpirun \(--mca [^`]*\) \.\.\.`.*/mpirun.openmpi --oversubscribe \1 dtrain fit job.yaml/p' $doc)"
        has "$TEST_DIR/out" "4 workers x 1 CPU"
    fi
    if [ -e build/digits/x.npy ] && make_example; then
        ln -sfn "$source/build/digits" "$here/build/digits"
        run "$(lines mpirun | grep workers_loop)"
    fi
    run "$(sed -n 's/^\(srun --mpi=.*\)/\1/p' "$TEST_DIR/slurm.sh")"
    mkdir -p "$here/data" && cp "$here/job.yaml" "$here/data"
    run "$(sed -n 's/.*command: \[\(mpirun[^]]*\)\].*/\1/p' "$TEST_DIR/mpijob.yaml" | tr -d ',"' | sed "s|/data/|data/|")"
    has "$TEST_DIR/out" "4 workers x 1 CPU"
}

echo "== with MPI"
lines mpirun
sed -n 's/.*command: \[\(mpirun[^]]*\)\].*/\1/p' "$TEST_DIR/mpijob.yaml" | tr -d ',"'
with_mpi openmpi '--oversubscribe --mca btl self,vader --mca oob_tcp_if_include lo'
with_mpi mpich '-iface lo'

echo "== on one machine"
# shellcheck disable=SC2016
grep -o '`dtrain [a-z]* job.yaml [^`]*`' $doc | tr -d '`' | while read -r command; do
    echo "$command"
    run "$command"
    if [ "${command#dtrain fit}" != "$command" ]; then has "$TEST_DIR/out" "4 workers x 1 CPU"; fi
done

echo "== plans"
lines dtrain | grep cluster.yaml | while read -r command; do
    echo "$command"
    run "$command"
done

echo "== Slurm without MPI"
if [ -n "${zeromq:-}" ]; then
    echo 'echo localhost' >"$here/bin/scontrol"
    # shellcheck disable=SC2016
    echo 'for rank in 1 0; do SLURM_STEP_NUM_TASKS=$SLURM_NTASKS SLURM_PROCID=$rank "$@" & done; wait $!' >"$here/bin/srun"
    chmod +x "$here/bin/scontrol" "$here/bin/srun"
    cp "$TEST_DIR/secret" "$here/secret"
    run "HOME=. SLURM_NTASKS=2 SLURM_JOB_NODELIST=localhost; export SLURM_NTASKS SLURM_JOB_NODELIST; $(sed "s/29500/$((port + 1))/" "$TEST_DIR/slurm_alone.sh")"
    has "$TEST_DIR/out" "2 workers x 1 CPU"
fi

echo "== a parameter server"
{ cat "$TEST_DIR/rest.yaml" && block yaml 'parameter_server'; } >"$here/job.yaml"
run "$(lines dtrain | grep -x 'dtrain fit job.yaml')"
has "$TEST_DIR/out" "parameter server"
if [ -n "${zeromq:-}" ]; then
    { cat "$TEST_DIR/rest.yaml" && lines strategy: | sed "s/node0:2222/localhost:$((port + 2))/; s/node1:2222/localhost:$((port + 3))/; s/node2:2222/localhost:$((port + 4))/"; } >"$here/job.yaml"
    lines DTRAIN_SECRET_FILE=secret | sed 's/   .*//'
    run "$(lines DTRAIN_SECRET_FILE=secret | sed -n '2s/   .*//p') >worker1 2>&1 & $(lines DTRAIN_SECRET_FILE=secret | sed -n '2s/   .*//; s/--rank 1$/--rank 2/p') >worker2 2>&1 &
        $(lines DTRAIN_SECRET_FILE=secret | sed -n '1s/   .*//p'); s=\$?; wait; exit \$s"
fi
exit 0
