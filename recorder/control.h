/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control thread: answers on a Unix socket, in a descriptor table and a working directory of
 * its own.
 */
#ifndef WCPROF_CONTROL_H
#define WCPROF_CONTROL_H

#include "recorder.h"

/* Starts the thread, with the program's libc. Failure is one line on standard error, or a counter
 * where it is not the first one. False: it must not be there at the moment. */
bool control_start(int (*thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
					void *)) HIDDEN;
/* In a forked child: there is no such thread here, and the parent's socket is the parent's. */
void control_forget(void) HIDDEN;
/* The process ends: takes the socket's name away. */
void control_unlink(void) HIDDEN;

#endif
