/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of containers: DT_CONTAINER(name, examples), dt_container_<name>. `examples` says how a data set reads them in any order: as
 * `records`, as `arrays`, or not at all (`none`). The first that knows a file's first bytes has it: text comes last.
 */
DT_CONTAINER(npy, arrays) DT_CONTAINER(npz, none) DT_CONTAINER(idx, arrays) DT_CONTAINER(picture, none) DT_CONTAINER(folder, none)
DT_CONTAINER(tfrecord, records) DT_CONTAINER(jsonl, none) DT_CONTAINER(csv, records)
