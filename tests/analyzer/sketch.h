/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings put together by hand, for the tests of what is built on them.
 *
 * sketch_begin() ... sketch_end(); everything is freed by sketch_free(). Threads are from 0, of one
 * process, and their times in milliseconds. Bare ops and waits are in nanoseconds and of no thread.
 * A test of these alone needs no sketch_end(). A sketch may not be moved: its tables are in it.
 */
#ifndef WCPROF_TESTS_SKETCH_H
#define WCPROF_TESTS_SKETCH_H

#include "base/memory.h"
#include "format.h"
#include "recording/classes.h"
#include "recording/intern.h"
#include "recording/recording.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKETCH_MS 1000000ull

enum { SKETCH_MAX = 4096, SKETCH_THREADS = 64, SKETCH_STACKS = 64, SKETCH_NAMES = 64 };

struct sketch {
	struct recording rec;
	struct class_table classes;
	struct rec_thread threads[SKETCH_THREADS];
	struct rec_process process;
	struct rec_stack stacks[SKETCH_STACKS];
	struct rec_frame frames[SKETCH_STACKS];
	const char *strings[2 * SKETCH_NAMES];
};

static const char *const sketch_kinds[] = {
#define KIND(number, name, word, work, meaning) [number] = word,
#include "events.def"
};
static const char *const sketch_outcomes[] = {
#define OUTCOME(number, name, word, meaning) [number] = word,
#include "events.def"
};
static const char *const sketch_reasons[] = {
#define REASON(number, name, word, meaning) [number] = word,
#include "events.def"
};

static inline uint32_t sketch_string(struct sketch *sketch, const char *text)
{
	for (uint32_t i = 0; i < sketch->rec.string_count; i++)
		if (!strcmp(sketch->strings[i], text))
			return i;
	assert(sketch->rec.string_count < 2 * SKETCH_NAMES);
	sketch->strings[sketch->rec.string_count] = text;
	return (uint32_t)sketch->rec.string_count++;
}

/* The names of bare ops: string n is "nN". */
static inline void sketch_name(struct sketch *sketch)
{
	static char names[SKETCH_NAMES][4];

	for (int i = 1; i < SKETCH_NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "n%d", i);
	for (int i = 0; i < SKETCH_NAMES; i++)
		sketch_string(sketch, names[i]);
}

static inline void sketch_begin(struct sketch *sketch)
{
	struct recording *rec = &sketch->rec;

	*sketch = (struct sketch){
		.process = { .pid = 1, .op = NO_INDEX },
		.rec = { .ops = memory_new(SKETCH_MAX, sizeof(*rec->ops)),
			 .extras = memory_new(SKETCH_MAX, sizeof(*rec->extras)),
			 .waits = memory_new(SKETCH_MAX, sizeof(*rec->waits)),
			 .links = memory_new(SKETCH_MAX, sizeof(*rec->links)),
			 .threads = sketch->threads,
			 .processes = &sketch->process,
			 .stacks = sketch->stacks,
			 .stack_count = SKETCH_STACKS,
			 .frames = sketch->frames,
			 .frame_count = SKETCH_STACKS,
			 .strings = sketch->strings,
			 .kinds = { (const char **)sketch_kinds,
				    sizeof(sketch_kinds) / sizeof(sketch_kinds[0]) },
			 .outcomes = { (const char **)sketch_outcomes,
				       sizeof(sketch_outcomes) / sizeof(sketch_outcomes[0]) },
			 .reasons = { (const char **)sketch_reasons,
				      sizeof(sketch_reasons) / sizeof(sketch_reasons[0]) } },
	};
	/* Stack n is one frame, n: sites are told apart by it. */
	for (uint32_t i = 1; i < SKETCH_STACKS; i++) {
		rec->stacks[i] = (struct rec_stack){ i, 1 };
		rec->frames[i] = (struct rec_frame){ NO_INDEX, i };
	}
	sketch_name(sketch);
}

/* `name` is a string id. The op's index is returned; its id in the dump is one more. */
static inline uint32_t sketch_bare_op(struct sketch *sketch, uint32_t parent, enum kind kind,
				      uint32_t name, uint64_t start_ns, uint64_t end_ns)
{
	assert(sketch->rec.op_count < SKETCH_MAX);
	uint32_t op = (uint32_t)sketch->rec.op_count++;

	sketch->rec.ops[op] = (struct rec_op){ .dump_id = op + 1,
					       .start_ns = start_ns,
					       .end_ns = end_ns,
					       .parent = parent,
					       .name = name,
					       .kind = (uint16_t)kind,
					       .thread = NO_INDEX };
	if (end_ns > sketch->rec.end_ns)
		sketch->rec.end_ns = end_ns;
	return op;
}

static inline uint32_t sketch_bare_wait(struct sketch *sketch, uint32_t waiter, uint32_t target,
					enum reason reason, uint64_t start_ns, uint64_t end_ns)
{
	assert(sketch->rec.wait_count < SKETCH_MAX);
	uint32_t wait = (uint32_t)sketch->rec.wait_count++;

	sketch->rec.waits[wait] = (struct rec_wait){ .start_ns = start_ns,
						     .end_ns = end_ns,
						     .waiter = waiter,
						     .target = target,
						     .holder = NO_INDEX,
						     .reason = (uint16_t)reason,
						     .thread = NO_INDEX };
	return wait;
}

static inline uint32_t sketch_bare_link(struct sketch *sketch, enum link_kind kind, uint32_t from,
					uint32_t ident)
{
	assert(sketch->rec.link_count < SKETCH_MAX);
	uint32_t link = (uint32_t)sketch->rec.link_count++;

	sketch->rec.links[link] = (struct rec_link){ .kind = (uint16_t)kind,
						     .from = from,
						     .to = NO_INDEX,
						     .ident = ident,
						     .thread = NO_INDEX };
	return link;
}

static inline uint32_t sketch_op(struct sketch *sketch, enum kind kind, const char *name,
				 uint32_t thread, double from_ms, double to_ms)
{
	uint32_t op = sketch_bare_op(sketch, NO_INDEX, kind, sketch_string(sketch, name),
				     (uint64_t)(from_ms * 1e6), (uint64_t)(to_ms * 1e6));

	sketch->rec.ops[op].thread = thread;
	return op;
}

/*
 * The first thread is the one whose end is the makespan: its process has ended. Without threads
 * there is no process; a test may set others before.
 */
static inline uint32_t sketch_thread(struct sketch *sketch, const char *name, double from_ms,
				     double to_ms)
{
	uint32_t thread = (uint32_t)sketch->rec.thread_count++;

	assert(thread < SKETCH_THREADS);
	if (!sketch->rec.process_count)
		sketch->rec.process_count = 1;
	if (!thread)
		sketch->rec.processes[0].op =
			sketch_op(sketch, KIND_PROCESS, "program", NO_INDEX, from_ms, to_ms);
	sketch->rec.threads[thread] =
		(struct rec_thread){ .tid = thread + 1,
				     .op = sketch_op(sketch, KIND_THREAD, name, thread, from_ms,
						     to_ms) };
	return thread;
}

static inline uint32_t sketch_hold(struct sketch *sketch, uint32_t thread, const char *lock,
				   uint32_t site, double from_ms, double to_ms)
{
	uint32_t op = sketch_op(sketch, KIND_HOLD, lock, thread, from_ms, to_ms);

	sketch->rec.extras[op].address = 0x1000 + sketch->rec.ops[op].name;
	sketch->rec.extras[op].stack = site;
	return op;
}

static inline void sketch_sleep(struct sketch *sketch, uint32_t thread, const char *name,
				double from_ms, double to_ms)
{
	uint32_t op = sketch_op(sketch, KIND_SLEEP, name, thread, from_ms, to_ms);

	sketch->rec.extras[op].amount = (uint64_t)((to_ms - from_ms) * 1e6);
}

static inline uint32_t sketch_io(struct sketch *sketch, uint32_t thread, const char *call,
				 const char *descriptor, uint64_t bytes, double from_ms,
				 double to_ms)
{
	uint32_t op = sketch_op(sketch, KIND_IO, call, thread, from_ms, to_ms);

	sketch->rec.ops[op].ident = sketch_string(sketch, descriptor);
	sketch->rec.extras[op].amount = bytes;
	return op;
}

static inline uint32_t sketch_wait(struct sketch *sketch, uint32_t thread, enum reason reason,
				   const char *resource, double from_ms, double to_ms,
				   uint32_t target)
{
	uint32_t wait = sketch_bare_wait(sketch, sketch->rec.threads[thread].op, target, reason,
					 (uint64_t)(from_ms * 1e6), (uint64_t)(to_ms * 1e6));

	sketch->rec.waits[wait].thread = thread;
	sketch->rec.waits[wait].address = 0x1000 + sketch_string(sketch, resource);
	return wait;
}

static inline uint32_t sketch_link(struct sketch *sketch, uint32_t thread, enum link_kind kind,
				   const char *resource, double at_ms, uint32_t count, uint32_t to)
{
	uint32_t link = sketch_bare_link(sketch, kind, sketch->rec.threads[thread].op, 0);
	struct rec_link *made = &sketch->rec.links[link];

	made->at_ns = (uint64_t)(at_ms * 1e6);
	made->address = 0x1000 + sketch_string(sketch, resource);
	made->to = to;
	made->count = count;
	made->thread = thread;
	return link;
}

static inline void sketch_end(struct sketch *sketch)
{
	class_table_build(&sketch->classes, &sketch->rec, NULL);
}

static inline uint32_t sketch_class(const struct sketch *sketch, const char *name)
{
	for (uint32_t i = 0; i < sketch->classes.count; i++)
		if (!strcmp(sketch->strings[sketch->classes.classes[i].name], name))
			return i;
	return NO_INDEX;
}

static inline void sketch_free(struct sketch *sketch)
{
	class_table_free(&sketch->classes);
	intern_free(sketch->rec.intern);
	if (sketch->rec.strings != sketch->strings) /* something was interned */
		free(sketch->rec.strings);
	free(sketch->rec.ops);
	free(sketch->rec.extras);
	free(sketch->rec.waits);
	free(sketch->rec.links);
	free(sketch->rec.clocks);
	free(sketch->rec.clock_pairs);
	free(sketch->rec.scopes);
}

/* Main starts threads 1 and 2, of these classes, at 0 and joins them. */
static inline void sketch_join_two(struct sketch *sketch, const char *one, const char *two,
				   double end_1_ms, double end_2_ms)
{
	double end_ms = end_1_ms > end_2_ms ? end_1_ms : end_2_ms;

	sketch_thread(sketch, "main", 0, end_ms);
	sketch_thread(sketch, one, 0, end_1_ms);
	sketch_thread(sketch, two, 0, end_2_ms);
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[1].op);
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[2].op);
	sketch_wait(sketch, 0, REASON_JOIN, "", 0, end_1_ms, sketch->rec.threads[1].op);
	sketch_wait(sketch, 0, REASON_JOIN, "", end_1_ms, end_ms, sketch->rec.threads[2].op);
}

#endif
