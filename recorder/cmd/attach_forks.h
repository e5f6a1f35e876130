/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork() of other threads waits while the library is loaded. A child would have the loader's lists
 * as they are in the midst of that.
 *
 * libc calls a few instructions at the beginning of each fork(), before it takes a lock
 * (__register_atfork()). As long as a word is set they sleep, and clear it after a
 * second. Both are in what is left of the last pages of libc's code and data. The thread that loads
 * sets and clears the word itself, on its way: so nobody waits for a tracer that was killed.
 */
#ifndef WCPROF_ATTACH_FORKS_H
#define WCPROF_ATTACH_FORKS_H

#include <stdint.h>

#include "attach_symbols.h"

struct attach_forks {
	uint64_t handler; /* 0: libc has no room */
	uint64_t enter; /* sets the word, and goes on with the function whose address is in %rax */
	uint64_t store; /* a function: its second argument into the word that is its first */
	uint64_t word;
};

void attach_forks_prepare(struct attach_forks *, const struct attach_symbols *libc, int memory);

#endif
