/* SPDX-License-Identifier: Apache-2.0 */
/* The table of data formats: DT_FORMAT_ROW(name), one file lib/data/<name>.c each, which defines dt_format_<name>. */
DT_FORMAT_ROW(csv) DT_FORMAT_ROW(idx) DT_FORMAT_ROW(image_folder) DT_FORMAT_ROW(npy) DT_FORMAT_ROW(synthetic) DT_FORMAT_ROW(text) DT_FORMAT_ROW(tfrecord)
