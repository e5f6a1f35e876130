/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork() of other threads waits while the library is loaded. A child would have the loader's lists
 * as they are in the midst of that.
 *
 * libc calls a few instructions at the beginning of each fork(), before it takes a lock
 * (__register_atfork()). As long as a word is set they sleep, and clear it after a second. All are
 * in what is left of the last pages of libc's code and data. The thread that loads sets and clears
 * the word itself, on its way: so nobody waits for a tracer that was killed.
 *
 * The instructions stay for the next time, and do nothing until then. glibc 2.36 and later call
 * handlers without their list's lock: a fork that is under way fails when handlers are taken out.
 *
 * A fork that has begun by then knows nothing of the handlers that the library adds. Its child
 * would have whatever lock the library has just then. So such forks are awaited, before the library
 * is loaded and before it does anything. The instructions count forks between beginning and end.
 */
#ifndef WCPROF_ATTACH_FORKS_H
#define WCPROF_ATTACH_FORKS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach_symbols.h"
#include "attach_threads.h"

struct attach_forks {
	uint64_t prepare, parent, child; /* for __register_atfork(); 0: libc has no room */
	uint64_t enter; /* sets the word, and goes on with the function whose address is in %rax */
	uint64_t store; /* a function: its second argument into the word that is its first */
	uint64_t word;
	uint64_t count; /* of forks between prepare() and parent() */
	uint64_t mark;  /* a word that says that libc has them */
	bool is_registered;
};

/* Libc knows the instructions from now on. */
void attach_forks_note(struct attach_forks *, int memory);
void attach_forks_prepare(struct attach_forks *, const struct attach_symbols *libc, int memory);
/* Until the forks that were under way when this is called are done; the caller is held. */
void attach_forks_await_begun(struct attach_threads *);
/* The same for those that are counted. */
void attach_forks_await_counted(const struct attach_forks *, struct attach_threads *);

#endif
