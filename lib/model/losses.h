/* The table of losses: DT_LOSS_ROW(name), one file lib/model/loss/<name>.c each. No include guard. */
DT_LOSS_ROW(categorical_crossentropy) DT_LOSS_ROW(sparse_categorical_crossentropy) DT_LOSS_ROW(binary_crossentropy)
DT_LOSS_ROW(mean_squared_error) DT_LOSS_ROW(mean_absolute_error)
