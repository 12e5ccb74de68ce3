/* SPDX-License-Identifier: Apache-2.0 */
/* The table of optimizers: DT_OPTIMIZER_ROW(name), in lib/model/optimizer/<name>.c, but adamw is in
 * adam.c. Included several times, with DT_OPTIMIZER_ROW defined by each user. */
DT_OPTIMIZER_ROW(sgd)
DT_OPTIMIZER_ROW(adam)
DT_OPTIMIZER_ROW(adamw)
DT_OPTIMIZER_ROW(adamax)
DT_OPTIMIZER_ROW(nadam)
DT_OPTIMIZER_ROW(rmsprop)
DT_OPTIMIZER_ROW(adagrad)
DT_OPTIMIZER_ROW(adadelta)
DT_OPTIMIZER_ROW(adafactor)
DT_OPTIMIZER_ROW(lamb)
DT_OPTIMIZER_ROW(lion)
DT_OPTIMIZER_ROW(ftrl)
DT_OPTIMIZER_ROW(muon)
DT_OPTIMIZER_ROW(schedule_free_adamw)
