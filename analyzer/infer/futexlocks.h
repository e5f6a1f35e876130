/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that a program makes of futexes itself, as locks: those of Rust's standard library, say.
 *
 * Such a lock calls the kernel only where a thread has to wait, and where it is given back with
 * others waiting. Its waits become waits for a lock, and holds are added from the moment that a
 * thread had it until it gave it back. Holds that nobody waited for are told by what is done in the
 * others; where nothing is, they are not known. Locks that threads wait for at one place are a
 * family, as those of the rows of a table. Together they tell what each of them is.
 *
 * Called once, before holders are sought. One thread.
 */
#ifndef WCPROF_FUTEXLOCKS_H
#define WCPROF_FUTEXLOCKS_H

#include "recording/recording.h"

void futex_locks_find(struct recording *);

#endif
