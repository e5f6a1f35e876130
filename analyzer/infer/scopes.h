/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scopes: which class a stretch of time belongs to, which locks were held meanwhile, and in which
 * functions that was. Equal ones are one.
 *
 * One thread. A zeroed struct is an empty table.
 */
#ifndef WCPROF_SCOPES_H
#define WCPROF_SCOPES_H

#include <stddef.h>
#include <stdint.h>

struct scope {
	uint32_t leaf;  /* class index, NO_INDEX = none */
	uint32_t first; /* classes of the locks held, ascending: classes[first .. first + count) */
	uint32_t count;
	uint32_t context; /* functions that it is under, as contexts.h numbers them; 0 = of none */
	/* which stretch of code: what came before and after it; 0 = not told apart */
	uint32_t place;
	uint32_t parent; /* scope of which it is a part, NO_INDEX = of none */
};

struct scopes {
	struct scope *scopes;
	size_t count;
	size_t capacity;
	uint32_t *classes;
	size_t class_count;
	size_t class_capacity;
	uint32_t *buckets; /* open addressing; index + 1, 0 = free */
	size_t bucket_count;
};

/* `held` is sorted here and freed of doubles. */
uint32_t scopes_add(struct scopes *, uint32_t leaf, uint32_t *held, size_t held_count);
/* The part of that scope that is in these functions. */
uint32_t scopes_add_context(struct scopes *, uint32_t scope, uint32_t context);
/* A scope like that one, but of that place. */
uint32_t scopes_add_place(struct scopes *, uint32_t scope, uint32_t place);
void scopes_free(struct scopes *);

#endif
