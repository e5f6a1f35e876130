/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions, and which programs, took how much of which stretches of time.
 *
 * A function's share is inclusive: all that happened under it, calls and sleeps as well as code
 * that ran. A call is under the functions of its stack. A run is shared out by the samples of its
 * place; without any there, it is under the functions of its context (contexts.h). A place without
 * a sample has the shares of the scope that it is a part of, for functions that the context does
 * not tell. Samples come with the clock's ticks, as threads' turns on a CPU do, and so gather where
 * a turn ended.
 */
#ifndef WCPROF_SHARES_H
#define WCPROF_SHARES_H

#include "contexts.h"
#include "recording/recording.h"
#include "scopes.h"

struct share {
	uint32_t scope;
	float share; /* of the scope's time, above 0 to 1 */
};

struct function {
	uint32_t name;       /* string id */
	bool is_program;     /* it is no function but a program, with all that its processes do */
	uint64_t total_ns;   /* about: of its stretches */
	uint64_t sampled_ns; /* of that, as far as samples alone tell */
	uint32_t samples;
	uint32_t first; /* into shares->shares, in order of scopes */
	uint32_t count;
};

struct shares {
	struct function *functions; /* most time first */
	size_t function_count;
	struct share *shares;
	size_t share_count;
	uint32_t *in_scope; /* by scope: samples, those of its parts included; NULL = no samples */
};

struct shares_of {
	const struct recording *rec;
	const struct stack_functions *functions; /* NULL = no stacks */
	const struct contexts *contexts;
	const struct scopes *scopes;
	const uint32_t *scope_of_sample; /* NO_INDEX = in none; NULL = there are no samples */
	const uint64_t *scope_ns;        /* by scope: time that could be shorter */
};

void shares_build(struct shares *, const struct shares_of *);
void shares_free(struct shares *);

#endif
