/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions ran how much of which stretches of time: samples of what ran on the CPU, spread
 * over all stretches of their kind.
 *
 * A function's share is inclusive: of the samples in a scope, those whose stack has the function. A
 * place without a sample has the shares of the scope that it is a place of. Samples come with the
 * clock's ticks, as threads' turns on a CPU do, and so gather where a turn ended.
 */
#ifndef WCPROF_SHARES_H
#define WCPROF_SHARES_H

#include "names/callers.h"
#include "names/symbols.h"
#include "recording/recording.h"
#include "scopes.h"

/* The program's own functions of each stack that a sample has, each once. */
struct stack_functions {
	uint32_t *first; /* stack s has functions[first[s] .. first[s + 1]); NULL = no samples */
	uint32_t *functions; /* string ids */
};

void stack_functions_build(struct stack_functions *, struct recording *, struct symbols *,
			   const struct callers *);
void stack_functions_free(struct stack_functions *);

struct share {
	uint32_t scope;
	float share; /* of the scope's samples, above 0 to 1 */
};

struct function {
	uint32_t name;   /* string id */
	uint64_t cpu_ns; /* about: its samples' part of all CPU time that was sampled */
	uint32_t samples;
	uint32_t first; /* into shares->shares */
	uint32_t count;
};

struct shares {
	struct function *functions; /* most CPU time first */
	size_t function_count;
	struct share *shares;
	size_t share_count;
	uint32_t *in_scope; /* by scope: samples, those of its places included; NULL = no samples */
};

/* Functions beyond these run too little for a hypothesis. */
enum { SHARES_FUNCTIONS_MAX = 64 };

/* `scope_of` has the scope of each of the recording's samples, NO_INDEX = in none. Only places have
 * shares. */
void shares_build(struct shares *, const struct recording *, const struct stack_functions *,
		  const struct scopes *, const uint32_t *scope_of);
void shares_free(struct shares *);

/* Two functions, by index, have the same part of each scope: one calls the other, always. */
bool shares_are_same(const struct shares *, size_t function, size_t other);

#endif
