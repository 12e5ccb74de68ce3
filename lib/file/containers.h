/* SPDX-License-Identifier: Apache-2.0 */
/* The table of containers: DT_CONTAINER(name), dt_container_<name>. The first that knows a file's first bytes has it: text comes last. */
DT_CONTAINER(npy) DT_CONTAINER(npz) DT_CONTAINER(idx) DT_CONTAINER(picture) DT_CONTAINER(folder) DT_CONTAINER(tfrecord) DT_CONTAINER(jsonl) DT_CONTAINER(csv)
