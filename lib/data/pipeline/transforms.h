/* SPDX-License-Identifier: Apache-2.0 */
/* The table of transformations: DT_TRANSFORM(name), each in lib/data/pipeline/<name>.c, or in the file of its nearest kin. */
DT_TRANSFORM(range) DT_TRANSFORM(tensors) DT_TRANSFORM(slices) DT_TRANSFORM(batch) DT_TRANSFORM(padded_batch) DT_TRANSFORM(unbatch)
DT_TRANSFORM(repeat) DT_TRANSFORM(take) DT_TRANSFORM(skip) DT_TRANSFORM(shuffle) DT_TRANSFORM(shard) DT_TRANSFORM(filter)
DT_TRANSFORM(map) DT_TRANSFORM(list_files) DT_TRANSFORM(concatenate) DT_TRANSFORM(zip) DT_TRANSFORM(interleave) DT_TRANSFORM(read_files) DT_TRANSFORM(file)
DT_TRANSFORM(prefetch) DT_TRANSFORM(rebatch) DT_TRANSFORM(rebatch_even)
