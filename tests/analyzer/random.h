/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sketches of everything that can be odd, by a number.
 */
#ifndef WCPROF_TESTS_RANDOM_H
#define WCPROF_TESTS_RANDOM_H

#include "sketch.h"

#include <stdbool.h>

/* A small generator of our own: the same numbers for the same seed everywhere. */
static inline uint64_t random_number(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return ((*state >> 33) ^ *state >> 17) % below;
}

/*
 * Children are outside their parents, intervals empty, clients nested. Waits are for anything, also
 * in circles; ops are on other threads if asked for.
 */
static inline void random_sketch(struct sketch *sketch, uint64_t seed, bool has_threads)
{
	struct recording *recording = &sketch->rec;
	uint64_t state = seed * 7919 + 1;
	uint32_t op_count = 1 + (uint32_t)random_number(&state, seed % 4 == 0 ? 160 : 24);
	uint64_t scale_ns = seed % 3 == 0 ? 12 : seed % 3 == 1 ? 3000 : 6000000;

	sketch_begin(sketch);
	for (uint32_t i = 0; i < op_count; i++) {
		bool is_child = i > 0 && random_number(&state, 5) > 0;
		uint32_t parent = is_child ? (uint32_t)random_number(&state, i) : NO_INDEX;
		uint64_t start_ns = random_number(&state, scale_ns),
			 length_ns = random_number(&state, scale_ns);
		if (is_child && random_number(&state, 4) > 0) {
			const struct rec_op *above = &recording->ops[parent];
			uint64_t room_ns = above->end_ns - above->start_ns;
			start_ns = above->start_ns + random_number(&state, room_ns + 1);
			length_ns = random_number(&state, above->end_ns - start_ns + 1);
		}
		enum kind kind = random_number(&state, 3) ? KIND_CALL : KIND_EXEC;
		uint32_t op =
			sketch_bare_op(sketch, parent, kind, 1 + (uint32_t)random_number(&state, 4),
				       start_ns, start_ns + length_ns);
		recording->ops[op].client = (uint32_t)random_number(&state, 4);
		recording->ops[op].ident = (uint32_t)random_number(&state, 3);
		if (has_threads)
			recording->ops[op].thread = (uint32_t)random_number(&state, 3);
		if (random_number(&state, 30) == 0)
			recording->ops[op].end_ns += 5000000000ull;
	}
	recording->threads = NULL; /* nothing is known of them but their numbers */
	recording->thread_count = has_threads ? 3 : 0;
	for (uint32_t i = (uint32_t)random_number(&state, op_count + 1); i > 0; i--) {
		const struct rec_op *waiter = &recording->ops[random_number(&state, op_count)];
		uint32_t target = random_number(&state, 3)
					  ? (uint32_t)random_number(&state, op_count)
					  : NO_INDEX;
		uint64_t start_ns = waiter->start_ns +
				    random_number(&state, waiter->end_ns - waiter->start_ns + 2);
		uint64_t end_ns =
			start_ns + random_number(&state, scale_ns) * random_number(&state, 3);
		if (target != NO_INDEX && random_number(&state, 2) &&
		    recording->ops[target].end_ns > start_ns)
			end_ns = recording->ops[target].end_ns;
		uint32_t wait = sketch_bare_wait(
			sketch, (uint32_t)(waiter - recording->ops), target,
			random_number(&state, 4) ? REASON_LOCK : REASON_EXEC, start_ns, end_ns);
		recording->waits[wait].ident = (uint32_t)random_number(&state, 3);
		if (random_number(&state, 15) == 0)
			recording->waits[wait].waiter = NO_INDEX;
	}
	for (uint32_t i = (uint32_t)random_number(&state, 3); i > 0; i--)
		sketch_bare_link(sketch, LINK_NESTED_CLIENT,
				 (uint32_t)random_number(&state, op_count),
				 (uint32_t)random_number(&state, 4));
}

#endif
