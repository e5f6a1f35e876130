/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings made by hand, for the tests of the analyzer. Included by one test each.
 *
 * A recording holds up to the limits below; strings and words are those of events.def and a few
 * names.
 */
#ifndef WCPROF_TESTS_BUILD_H
#define WCPROF_TESTS_BUILD_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "recording/recording.h"

enum { BUILD_OPS_MAX = 512, BUILD_WAITS_MAX = 512, BUILD_LINKS_MAX = 256, BUILD_STRINGS = 64 };

static const char *const build_kinds[] = {
#define KIND(number, name, word, work, meaning) [number] = word,
#include "events.def"
};
static const char *const build_outcomes[] = {
#define OUTCOME(number, name, word, meaning) [number] = word,
#include "events.def"
};
static const char *const build_reasons[] = {
#define REASON(number, name, word, meaning) [number] = word,
#include "events.def"
};

static inline struct recording build_recording(void)
{
	struct recording recording = {
		.ops = calloc(BUILD_OPS_MAX, sizeof(struct rec_op)),
		.waits = calloc(BUILD_WAITS_MAX, sizeof(struct rec_wait)),
		.links = calloc(BUILD_LINKS_MAX, sizeof(struct rec_link)),
		.strings = calloc(BUILD_STRINGS, sizeof(char *)),
		.string_count = BUILD_STRINGS,
		.kinds = { (const char **)build_kinds,
			   sizeof(build_kinds) / sizeof(build_kinds[0]) },
		.outcomes = { (const char **)build_outcomes,
			      sizeof(build_outcomes) / sizeof(build_outcomes[0]) },
		.reasons = { (const char **)build_reasons,
			     sizeof(build_reasons) / sizeof(build_reasons[0]) },
	};
	static char names[BUILD_STRINGS][4];
	for (int i = 0; i < BUILD_STRINGS; i++) {
		if (i > 0)
			snprintf(names[i], sizeof(names[i]), "n%d", i);
		recording.strings[i] = names[i];
	}
	return recording;
}

static inline void build_free(struct recording *recording)
{
	free(recording->ops);
	free(recording->waits);
	free(recording->links);
	free(recording->strings);
}

/* `name` is a string id: op "nNAME". Returns the op's index; its id in the dump is one more. */
static inline uint32_t build_op(struct recording *recording, uint32_t parent, enum kind kind,
				uint32_t name, uint64_t start_ns, uint64_t end_ns)
{
	assert(recording->op_count < BUILD_OPS_MAX);
	uint32_t index = (uint32_t)recording->op_count++;
	recording->ops[index] = (struct rec_op){
		.dump_id = index + 1,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.parent = parent,
		.name = name,
		.kind = (uint16_t)kind,
		.thread = NO_INDEX,
	};
	return index;
}

static inline uint32_t build_wait(struct recording *recording, uint32_t waiter, uint32_t target,
				  enum reason reason, uint64_t start_ns, uint64_t end_ns)
{
	assert(recording->wait_count < BUILD_WAITS_MAX);
	recording->waits[recording->wait_count] = (struct rec_wait){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.waiter = waiter,
		.target = target,
		.reason = (uint16_t)reason,
		.thread = NO_INDEX,
	};
	return (uint32_t)recording->wait_count++;
}

static inline void build_link(struct recording *recording, enum link_kind kind, uint32_t from,
			      uint32_t ident)
{
	assert(recording->link_count < BUILD_LINKS_MAX);
	recording->links[recording->link_count++] = (struct rec_link){ .kind = (uint16_t)kind,
								       .from = from,
								       .to = NO_INDEX,
								       .ident = ident,
								       .thread = NO_INDEX };
}

/* A small generator of our own: the same numbers for the same seed everywhere. */
static inline uint64_t build_random(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return ((*state >> 33) ^ *state >> 17) % below;
}

/*
 * A small recording of everything that can be odd: children outside their parents, empty
 * intervals, nested clients. Waits are for anything, also in circles; ops are on other threads if
 * asked for.
 */
static inline struct recording build_random_recording(uint64_t seed, bool has_threads)
{
	struct recording recording = build_recording();
	uint64_t state = seed * 7919 + 1;
	uint32_t op_count = 1 + (uint32_t)build_random(&state, seed % 4 == 0 ? 160 : 24);
	uint64_t scale_ns = seed % 3 == 0 ? 12 : seed % 3 == 1 ? 3000 : 6000000;
	for (uint32_t i = 0; i < op_count; i++) {
		bool is_child = i > 0 && build_random(&state, 5) > 0;
		uint32_t parent = is_child ? (uint32_t)build_random(&state, i) : NO_INDEX;
		uint64_t start_ns = build_random(&state, scale_ns),
			 length_ns = build_random(&state, scale_ns);
		if (is_child && build_random(&state, 4) > 0) {
			const struct rec_op *above = &recording.ops[parent];
			uint64_t room_ns = above->end_ns - above->start_ns;
			start_ns = above->start_ns + build_random(&state, room_ns + 1);
			length_ns = build_random(&state, above->end_ns - start_ns + 1);
		}
		enum kind kind = build_random(&state, 3) ? KIND_CALL : KIND_EXEC;
		uint32_t op =
			build_op(&recording, parent, kind, 1 + (uint32_t)build_random(&state, 4),
				 start_ns, start_ns + length_ns);
		recording.ops[op].client = (uint32_t)build_random(&state, 4);
		recording.ops[op].ident = (uint32_t)build_random(&state, 3);
		if (has_threads)
			recording.ops[op].thread = (uint32_t)build_random(&state, 3);
		if (build_random(&state, 30) == 0)
			recording.ops[op].end_ns += 5000000000ull;
	}
	recording.thread_count = has_threads ? 3 : 0;
	for (uint32_t i = (uint32_t)build_random(&state, op_count + 1); i > 0; i--) {
		const struct rec_op *waiter = &recording.ops[build_random(&state, op_count)];
		uint32_t target = build_random(&state, 3) ? (uint32_t)build_random(&state, op_count)
							  : NO_INDEX;
		uint64_t start_ns = waiter->start_ns +
				    build_random(&state, waiter->end_ns - waiter->start_ns + 2);
		uint64_t end_ns =
			start_ns + build_random(&state, scale_ns) * build_random(&state, 3);
		if (target != NO_INDEX && build_random(&state, 2) &&
		    recording.ops[target].end_ns > start_ns)
			end_ns = recording.ops[target].end_ns;
		uint32_t wait = build_wait(&recording, (uint32_t)(waiter - recording.ops), target,
					   build_random(&state, 4) ? REASON_LOCK : REASON_EXEC,
					   start_ns, end_ns);
		recording.waits[wait].ident = (uint32_t)build_random(&state, 3);
		if (build_random(&state, 15) == 0)
			recording.waits[wait].waiter = NO_INDEX;
	}
	for (uint32_t i = (uint32_t)build_random(&state, 3); i > 0; i--)
		build_link(&recording, LINK_NESTED_CLIENT, (uint32_t)build_random(&state, op_count),
			   (uint32_t)build_random(&state, 4));
	return recording;
}

#endif
