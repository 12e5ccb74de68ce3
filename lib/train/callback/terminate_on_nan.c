/* SPDX-License-Identifier: Apache-2.0 */
/* TerminateOnNaN, as in Keras: a loss of NaN ends the training. Every run does that anyway, with
 * exit code 79 and the name of its last checkpoint (observe/guard.c). The callback exists so that
 * jobs may list it. */
#include "train/hook.h"

const dt_hook_row dt_callback_terminate_on_nan = {
    .kind = {"TerminateOnNaN", "ends the run when the loss is NaN, which every run does anyway",
             NULL, 0, NULL},
};
