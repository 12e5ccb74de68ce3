/* SPDX-License-Identifier: Apache-2.0 */
/* What can be read row by row: DT_STREAM_ROW(name), dt_stream_<name>. The first that knows the bytes takes them; text comes last. */
DT_STREAM_ROW(npy) DT_STREAM_ROW(npz) DT_STREAM_ROW(idx) DT_STREAM_ROW(picture) DT_STREAM_ROW(folder) DT_STREAM_ROW(tfrecord)
DT_STREAM_ROW(json_lines) DT_STREAM_ROW(csv)
