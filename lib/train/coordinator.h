/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training with a parameter server. This process is the coordinator: it has the weights, and a step of the run is one update by the gradients of one
 * closure, which is the batch of that number. Workers are processes that compute such gradients. `fit` therefore stays what it is: position,
 * checkpoints, history, callbacks and signals belong to the coordinator.
 *
 * Closures of a window are given out freely, and a window ends wherever the run needs to know that exactly the first n batches have been applied: at
 * the end of an epoch, at a checkpoint, and where a signal asks for one.
 */
#ifndef DT_TRAIN_COORDINATOR_H
#define DT_TRAIN_COORDINATOR_H

#include "data/batches.h"
#include "fabric/nursery.h"
#include "fabric/servers.h"
#include "strategy/closures.h"
#include "train/run.h"
#include "train/trainer.h"

/* How weights lie in a message, and which result and argument of the two halves of a step belongs to each. */
typedef struct dt_shipment {
    dt_extents slices;
    int n;                       /* weights of the model */
    int64_t *offset, *bytes;     /* [n] */
    int *result, *argument;      /* [n] its gradient, of the gradient step and of the update; -1: none, or not trained */
    bool *trained;               /* [n] others come back as the difference that the step made */
} dt_shipment;

/* What a push says besides its gradients; as many sums follow. */
typedef struct dt_push_report {
    int64_t rows, sums;
    double loss, waited_s, seconds, spent_s[DT_SPENT_KINDS];
} dt_push_report;

typedef struct dt_colleague {
    pid_t pid;
    bool there, busy, late;      /* late: its closure was given to another, and it has not answered since */
    int64_t given_ns;
} dt_colleague;

/* A copy of the weights of one version. */
typedef struct dt_edition {
    int64_t version;
    dt_shared *weights;
} dt_edition;

typedef struct dt_coordinator {
    run *r;
    dt_trainer *trainer;
    const dt_servers_spec *spec;
    dt_arena *arena;
    dt_shipment shipment;
    dt_batches *batches;         /* opened before workers are forked, which share what was read */
    dt_nursery *nursery;
    dt_servers *servers;
    dt_closures closures;
    dt_colleague *worker;        /* [spec->workers] */
    dt_arrival *pushed;          /* [n] waiting to be applied */
    int n_pushed, cap_pushed;
    dt_edition *edition;         /* [n] oldest first */
    int n_editions, cap_editions;
    int64_t lost;                /* workers */
    int64_t told_step;           /* of the last event about workers */
    int64_t lost_in_a_row;       /* without an update between them */
    dt_view *argument, *no_result; /* of the update */
} dt_coordinator;

/* shipment.c */
dt_status *dt_shipment_make(dt_shipment *s, dt_arena *arena, const dt_trainer *t) DT_MUST_USE;
/* From the model's weights into a message; the way back. */
dt_status *dt_shipment_pack(const dt_shipment *s, const dt_model *m, char *into) DT_MUST_USE;
void dt_shipment_unpack(const dt_shipment *s, const dt_model *m, const char *from);
/* What a step did: gradients from its results, and how far state has moved since `before`. */
dt_status *dt_shipment_pack_step(const dt_shipment *s, const dt_model *m, const dt_view *result, const char *before, char *into) DT_MUST_USE;
/* Adds such differences to state. */
dt_status *dt_shipment_move_state(const dt_shipment *s, const dt_model *m, const char *from) DT_MUST_USE;

/* closure_worker.c: a dt_worker_main; user: the dt_coordinator as it was before any worker was started. */
int dt_closure_worker(int worker, const int *link, void *user);

/* coordinator.c */
/* Nothing where the strategy has no parameter server. Before the run has threads. */
dt_status *dt_coordinator_open(run *r) DT_MUST_USE;
void dt_coordinator_close(run *r);
/* Waits for the next update and makes it. *batch says what it was computed from, without values. */
dt_status *dt_coordinator_step(run *r, dt_batch *batch, double *loss) DT_MUST_USE;
/* What became of workers and batches since the run began, as an event. */
void dt_coordinator_tell(run *r);
/* All batches before the run's position have been applied, and none after it. */
bool dt_coordinator_rests(const run *r);
/* Comes to rest as soon as what is out has been applied. */
void dt_coordinator_drain(const run *r);

#endif
