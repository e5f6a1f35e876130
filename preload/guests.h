/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of libgomp and liburing that have wrappers, by rows of guests.def.
 */
#ifndef WCPROF_GUESTS_H
#define WCPROF_GUESTS_H

#include "recorder.h"

/* Once, from the constructor, after hooks_resolve(): has calls lead to the wrappers. */
void guests_find(void) HIDDEN;

/* Where calls are made to lead here later: looks for the functions in the objects that are loaded
 * now. With the loader's lock. */
void guests_look(void) HIDDEN;
enum { GUESTS_MOST = 64 };
unsigned guests_count(void) HIDDEN;
/* NULL: it is not loaded. */
void *guests_real_of(unsigned row) HIDDEN;
void *guests_wrapper_of(unsigned row) HIDDEN;
/* The function of that name; NULL: no row has it, or it is not loaded. */
void *guests_named(const char *symbol) HIDDEN;
/* Threads in the caller's OpenMP team, and which of them it is. */
unsigned guests_team_size(void) HIDDEN;
unsigned guests_team_thread(void) HIDDEN;

#endif
