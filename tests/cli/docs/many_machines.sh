#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What docs/many-machines.md shows, as far as one machine can check it: scripts are read by a shell and their options by name, the unit by systemd, the manifest
# against the fields of an MPIJob, jobs by dtrain; the commands without MPI are run.
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
    port=$((20000 + $$ % 30000))
    while grep -qi ":$(printf '%04x' $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    { sed "s/node0/localhost/; s/29500/$port/; s/^\(RANK=0 .*\)  *# .*/\1 >out 2>err \&/; s/^\(RANK=1 .*\)  *# .*/\1 >out1 2>err1/" "$TEST_DIR/workers.sh" && echo 'wait $!'; } >"$TEST_DIR/here.sh"
    folder=$(cd "$(dirname "$DTRAIN")" && pwd)
    (cd "$TEST_DIR" && PATH=$folder:$PATH timeout -k 3 100 sh here.sh) || cat "$TEST_DIR/err" "$TEST_DIR/err1"
    has "$TEST_DIR/out" "2 workers x 1 CPU, processes that meet as torchrun says (WORLD_SIZE)"
fi
exit 0
