/* The table of metrics: DT_METRIC_ROW(name), one file lib/model/metric/<name>.c each. No include guard. */
DT_METRIC_ROW(accuracy) DT_METRIC_ROW(binary_accuracy) DT_METRIC_ROW(categorical_accuracy) DT_METRIC_ROW(sparse_categorical_accuracy)
