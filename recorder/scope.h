/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads whose calls are recorded while the gate is on: all, or those that have a name like
 * this, or serve this port. Or none but in flows that the program marked (wcprof.h).
 *
 * Written by the control thread and switch.c, which make self_period grow afterwards. Threads read
 * it when they next enter after that.
 */
#ifndef WCPROF_SCOPE_H
#define WCPROF_SCOPE_H

#include "self.h"

/* A pattern that no thread's name is too long for (15 bytes), with sets like [a-z]. */
enum { SCOPE_GLOB_BYTES = 64 };

/* Whether recording is on for more than marked flows. */
void scope_set_switch(bool on) HIDDEN;
/* Threads whose names match; "" = all. False: it is too long. */
bool scope_set_threads(const char *glob, size_t bytes) HIDDEN;
void scope_get_threads(char glob[SCOPE_GLOB_BYTES]) HIDDEN;
/* Threads come by their names late: whether they are to be asked for them again and again. */
bool scope_goes_by_name(void) HIDDEN;

/* Threads while they serve a connection that came in through this port; 0 = all. */
void scope_set_port(uint32_t port) HIDDEN;
uint32_t scope_port(void) HIDDEN;

/* Whether this thread is recorded. One system call if that goes by name. */
bool scope_has(const struct self *) HIDDEN;
/* Whether a thread of that name is, as far as is known, while the switch is on. */
bool scope_has_named(const char *name) HIDDEN;

#endif
