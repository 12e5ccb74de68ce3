/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats: DT_FILE_FORMAT(name) stands for dt_format_<name>. A file has the first
 * format that recognizes its first bytes. CSV comes last, since it accepts most texts. */
DT_FILE_FORMAT(npy)
DT_FILE_FORMAT(npz)
DT_FILE_FORMAT(idx)
DT_FILE_FORMAT(image_folder)
DT_FILE_FORMAT(text_folder)
DT_FILE_FORMAT(tfrecord)
DT_FILE_FORMAT(jsonl)
DT_FILE_FORMAT(libsvm)
DT_FILE_FORMAT(text)
DT_FILE_FORMAT(synthetic)
DT_FILE_FORMAT(csv)
