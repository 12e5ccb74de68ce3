/* The table of layers: DT_LAYER_ROW(name), one file lib/model/layer/<name>.c each. No include guard. */
DT_LAYER_ROW(input) DT_LAYER_ROW(flatten) DT_LAYER_ROW(dense) DT_LAYER_ROW(relu) DT_LAYER_ROW(softmax)
DT_LAYER_ROW(batch_normalization) DT_LAYER_ROW(layer_normalization) DT_LAYER_ROW(group_normalization) DT_LAYER_ROW(rms_normalization)
DT_LAYER_ROW(unit_normalization)
