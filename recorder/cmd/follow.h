/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows all processes that listen in one directory, and collects what they record into one file.
 *
 * A process is known by its arena, which is kept mapped: what it recorded is safe when it dies at
 * any moment. While it lives it is drained through its socket before it runs out of room. When it
 * is dead, or exec replaced it, the rest is taken from the arena, which is removed then. Nothing is
 * in the file twice: a dump that the process does not know to have arrived is taken back.
 */
#ifndef WCPROF_FOLLOW_H
#define WCPROF_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output.h"

struct follow;

/*
 * Arenas of other users must have the session's number, which nobody else knows. `between` is
 * called every few milliseconds during a long dump. NULL: no memory.
 */
struct follow *follow_start(const char *directory, uint64_t session, struct output *output,
			    void (*between)(void *), void *context);
/*
 * Finds new processes, drains those that need it, collects the dead; to be called many times a
 * second. 0, or -errno when the file could not be written to: once only. From then on nothing is
 * collected any more, recording is turned off, and arenas stay where they are.
 */
int follow_tick(struct follow *follow);
/* Drains all that still live, and turns recording off in them. 0, or -errno as above. */
int follow_leave(struct follow *follow);
void follow_free(struct follow *follow);

/* How many images (a process, or what exec made of it) live, and how many there ever were. */
size_t follow_living(const struct follow *follow);
size_t follow_count(const struct follow *follow);
/* Processes that live and were started to be followed, and of which nothing is known yet. They are
 * about to come up, or cannot be recorded. Looks at all processes there are. */
size_t follow_unknown(const struct follow *follow);
/* Events that wait to be collected. */
uint64_t follow_pending(const struct follow *follow);

#endif
