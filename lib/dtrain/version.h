/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version. These three lines are the only place where it is defined: the Makefile, packages and
 * programs read it from here. Before 1.0 a new minor version may change the interface. The
 * library's symbols carry it (DTRAIN_0.2), so a program built for another minor version does not
 * start.
 */
#ifndef DTRAIN_VERSION_H
#define DTRAIN_VERSION_H

#define DTRAIN_VERSION_MAJOR 0
#define DTRAIN_VERSION_MINOR 2
#define DTRAIN_VERSION_PATCH 0

/* For #if: the version of the headers, and whether it is at least a given version. */
#define DTRAIN_VERSION_NUMBER(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define DTRAIN_VERSION                                                                             \
    DTRAIN_VERSION_NUMBER(DTRAIN_VERSION_MAJOR, DTRAIN_VERSION_MINOR, DTRAIN_VERSION_PATCH)
#define DTRAIN_VERSION_AT_LEAST(major, minor, patch)                                               \
    (DTRAIN_VERSION >= DTRAIN_VERSION_NUMBER(major, minor, patch))

/* "0.2.0" */
#define DTRAIN_VERSION_STRING                                                                      \
    DTRAIN_VERSION_TEXT_(DTRAIN_VERSION_MAJOR)                                                     \
    "." DTRAIN_VERSION_TEXT_(DTRAIN_VERSION_MINOR) "." DTRAIN_VERSION_TEXT_(DTRAIN_VERSION_PATCH)
#define DTRAIN_VERSION_TEXT_(number) DTRAIN_VERSION_QUOTED_(number)
#define DTRAIN_VERSION_QUOTED_(number) #number

#endif
