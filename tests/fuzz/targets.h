/* SPDX-License-Identifier: Apache-2.0 */
/* All targets: FUZZ_ROW(name, files whose lines it is to reach), one file tests/fuzz/<name>_fuzz.c
 * each. scripts/fuzz reads this, too. */
FUZZ_ROW(
    api,
    "lib/base/handle.c lib/strategy/values.c lib/strategy/variable.c lib/strategy/variable_value.c "
    "lib/strategy/variable_step.c lib/strategy/strategy.c lib/topo/lookup.c lib/topo/resolver.c")
FUZZ_ROW(bmp, "lib/file/image/bmp.c")
FUZZ_ROW(callbacks, "lib/train/hook.c lib/train/callback/csv_logger.c "
                    "lib/train/callback/early_stopping.c lib/train/callback/model_checkpoint.c "
                    "lib/train/callback/reduce_lr_on_plateau.c lib/train/callback/tensorboard.c")
FUZZ_ROW(csv, "lib/file/record_access.c lib/file/csv_element.c lib/file/part_files.c "
              "lib/data/labels.c lib/file/csv.c")
FUZZ_ROW(data, "lib/data/spec.c lib/file/csv_element.c lib/file/part_files.c "
               "lib/file/record_access.c lib/file/tfrecord.c lib/file/text.c "
               "lib/file/array_access.c lib/file/array.c lib/file/image_folder.c "
               "lib/file/image/layout.c lib/conf/fields.c lib/conf/scalar.c lib/conf/named.c")
FUZZ_ROW(difference, "lib/format/difference.c")
FUZZ_ROW(example, "lib/file/example.c")
FUZZ_ROW(expect, "cmd/expect.c")
FUZZ_ROW(expression, "lib/base/pattern.c")
FUZZ_ROW(extends, "lib/job/source.c")
FUZZ_ROW(gif, "lib/file/image/gif.c")
FUZZ_ROW(glob, "lib/base/glob.c")
FUZZ_ROW(graph, "lib/pass/graph_bytes.c")
FUZZ_ROW(guess, "lib/data/guess.c lib/file/csv_survey.c lib/file/tfrecord_survey.c")
FUZZ_ROW(gzip, "lib/file/gzip.c")
FUZZ_ROW(hdf5_names, "lib/format/hdf5_names.c")
FUZZ_ROW(history, "lib/format/history.c")
FUZZ_ROW(hlo, "lib/pjrt/hlo.c")
FUZZ_ROW(idx, "lib/file/idx.c lib/file/array_access.c lib/file/array.c")
FUZZ_ROW(image_folder, "lib/file/image_folder.c lib/file/class_folders.c lib/file/image/layout.c "
                       "lib/file/image/fit.c lib/data/labels.c")
FUZZ_ROW(inject, "lib/train/faults.c")
FUZZ_ROW(job, "lib/conf/scalar.c lib/conf/fields.c lib/conf/syntax.c lib/conf/named.c "
              "lib/job/sections.c lib/job/job.c lib/data/spec.c lib/model/read.c "
              "lib/job/partition_read.c lib/job/substitute.c")
FUZZ_ROW(jpeg, "lib/file/image/jpeg.c lib/file/image/exif.c")
FUZZ_ROW(json, "lib/file/json_read.c")
FUZZ_ROW(keras, "lib/model/keras/file.c lib/model/keras/value.c lib/model/keras/layer.c "
                "lib/model/keras/call.c lib/model/keras/mask.c lib/model/keras/import.c")
FUZZ_ROW(learned, "lib/train/stored_state.c")
FUZZ_ROW(libsvm, "lib/file/libsvm.c lib/file/other_tables.c")
FUZZ_ROW(lock, "lib/format/rundir.c")
FUZZ_ROW(npy, "lib/file/npy.c lib/file/array_access.c lib/file/array.c")
FUZZ_ROW(npz, "lib/file/npz.c lib/file/zip.c")
FUZZ_ROW(number, "lib/base/number.c lib/base/str.c")
FUZZ_ROW(options, "cmd/options.c")
FUZZ_ROW(override, "lib/conf/read.c")
FUZZ_ROW(paths, "lib/file/paths.c lib/file/part_files.c")
FUZZ_ROW(pattern, "lib/train/python_text.c")
FUZZ_ROW(png, "lib/file/image/png.c")
FUZZ_ROW(record, "lib/report/read.c lib/report/read_record.c "
                 "lib/report/series.c lib/report/gather.c lib/report/write.c")
FUZZ_ROW(records, "lib/file/records.c lib/file/crc32c.c")
FUZZ_ROW(safetensors, "lib/format/safetensors_header.c lib/format/safetensors.c")
FUZZ_ROW(state, "lib/format/state.c")
FUZZ_ROW(steps, "lib/format/steps.c lib/format/look_list.c")
FUZZ_ROW(stream,
         "lib/data/rows_file.c lib/file/array_source.c lib/file/csv_table.c lib/file/jsonl.c "
         "lib/file/tfrecord.c")
FUZZ_ROW(substitute, "lib/job/substitute.c")
FUZZ_ROW(text, "lib/file/text.c")
FUZZ_ROW(text_folder, "lib/file/text_folder.c lib/file/class_folders.c")
FUZZ_ROW(tf_config, "lib/strategy/launch.c lib/net/address.c")
FUZZ_ROW(tfrecord, "lib/file/tfrecord.c lib/file/record_access.c lib/file/crc32c.c")
FUZZ_ROW(tiff, "lib/file/image/tiff.c lib/file/image/exif.c")
FUZZ_ROW(tokenizer,
         "lib/file/tokenizer/tokenizer.c lib/file/tokenizer/json.c lib/file/tokenizer/vocabulary.c "
         "lib/file/tokenizer/bpe.c lib/file/tokenizer/word_piece.c lib/file/tokenizer/unigram.c "
         "lib/file/tokenizer/splits.c "
         "lib/file/tokenizer/pattern.c lib/file/tokenizer/added.c lib/file/tokenizer/normalize.c "
         "lib/file/tokenizer/encode.c")
FUZZ_ROW(topology, "lib/topo/slices.c lib/topo/device.c lib/topo/resolver.c")
FUZZ_ROW(topology_proto, "lib/topo/topology_proto.c")
FUZZ_ROW(trace, "lib/job/run_trace.c")
FUZZ_ROW(webp, "lib/file/image/webp.c")
FUZZ_ROW(weights, "lib/format/weights.c lib/format/weights_npz.c")
FUZZ_ROW(wire, "lib/net/wire.c lib/net/frame.c lib/net/address.c lib/strategy/closure_values.c")
FUZZ_ROW(words,
         "lib/data/map/words.c lib/data/map/text_vectorization.c lib/data/map/string_lookup.c "
         "lib/data/map/hashing.c")
FUZZ_ROW(yaml, "lib/conf/syntax.c lib/conf/tree.c lib/conf/node.c")
FUZZ_ROW(zip, "lib/file/zip.c")
