/* The table of optimizers: DT_OPTIMIZER_ROW(name), one file lib/model/optimizer/<name>.c each. No include guard. */
DT_OPTIMIZER_ROW(sgd) DT_OPTIMIZER_ROW(adam)
