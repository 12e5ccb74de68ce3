# Read by rows.sh: words that make the inputs of a row in the folder at hand.
# shellcheck shell=sh

# The smallest job: twelve steps on examples that are drawn.
tiny() {
    cat <<END
version: 1
name: tiny
seed: 7
strategy: {type: mirrored, replicas: 2}
dataset:
  format: synthetic
  examples: 60
  element: {image: {shape: [8], dtype: float32}, label: {num_classes: 3}}
  validation_split: 0.2
  shuffle: true
  global_batch_size: 8
model:
  type: sequential
  layers:
    - Input: {name: image, shape: [8]}
    - Dense: {units: 4, activation: relu}
    - Dense: {units: 3, name: logits}
compile:
  optimizer: {SGD: {learning_rate: 0.05}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {epochs: 2}
output: {dir: run}
END
}

# edit SED: job.yaml edited, which must change it.
edit() {
    sed "$1" job.yaml >edited.yaml
    ! cmp -s edited.yaml job.yaml || { echo "'$1' changes nothing" && return 1; }
    mv edited.yaml job.yaml
}

# text FORMAT: a job of these bytes; bytes FILE FORMAT: a file of them.
text() {
    bytes job.yaml "$1"
}
bytes() {
    # shellcheck disable=SC2059
    printf "$2" >"$1"
}

# many N TEXT: so often in a row.
many() {
    awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) printf "%s", text }'
}
