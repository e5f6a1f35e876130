/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of ops: numbers that are the same in every run and process of a program. An op's is that of
 * its stack; of an op that the program declares, it is that of its name.
 *
 * The recorder computes the same keys. So a class of a recording is found again in the running
 * program. Built once, read-only afterwards.
 */
#ifndef WCPROF_STACKKEYS_H
#define WCPROF_STACKKEYS_H

#include "recording/recording.h"

struct stack_keys {
	uint64_t *keys; /* each once, ascending */
	size_t count;
	uint32_t *of_stack; /* by stack: the index of its key; NO_INDEX = of no stack */
	uint32_t *of_name;  /* by string: the same, of names of declared ops */
};

void stack_keys_build(struct stack_keys *keys, const struct recording *recording);
void stack_keys_free(struct stack_keys *keys);

/* The index of an op's key, NO_INDEX = it has none. */
uint32_t stack_keys_of_op(const struct stack_keys *keys, const struct recording *recording,
			  size_t op);

/* Never 0, which stands for no key. */
uint64_t stack_key(const struct recording *recording, uint32_t stack);
uint64_t stack_key_of_name(const char *name);
/* Of a stack with this frame alone. */
uint64_t stack_key_of_frame(const struct recording *recording, struct rec_frame frame);

#endif
