/* SPDX-License-Identifier: Apache-2.0 */
/* The table of steps of `map`: DT_MAP_ROW(name), one file lib/data/map/<name>.c each, which defines
 * dt_map_<name>. */
DT_MAP_ROW(cast)
DT_MAP_ROW(center_crop)
DT_MAP_ROW(grayscale)
DT_MAP_ROW(impute)
DT_MAP_ROW(normalize)
DT_MAP_ROW(one_hot)
DT_MAP_ROW(pad)
DT_MAP_ROW(random_crop)
DT_MAP_ROW(random_flip)
DT_MAP_ROW(rescale)
DT_MAP_ROW(resize)
DT_MAP_ROW(string_lookup)
DT_MAP_ROW(text_vectorization)
DT_MAP_ROW(zero_padding)
