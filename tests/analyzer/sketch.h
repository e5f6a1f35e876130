/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of threads put together by hand, in milliseconds, for tests of what is built on them.
 *
 * sketch_begin() ... sketch_end(); everything is freed by sketch_free(). One process, threads from
 * 0.
 */
#ifndef WCPROF_TESTS_SKETCH_H
#define WCPROF_TESTS_SKETCH_H

#include "base/memory.h"
#include "format.h"
#include "recording/classes.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

#define SKETCH_MS 1000000ull

enum { SKETCH_MAX = 4096 };

struct sketch {
	struct recording rec;
	struct class_table classes;
	const char *strings[64];
	uint32_t current[64]; /* thread's innermost op */
};

static inline uint32_t sketch_string(struct sketch *sketch, const char *text)
{
	for (uint32_t i = 0; i < sketch->rec.string_count; i++)
		if (!strcmp(sketch->strings[i], text))
			return i;
	sketch->strings[sketch->rec.string_count] = text;
	return (uint32_t)sketch->rec.string_count++;
}

static inline uint32_t sketch_op(struct sketch *sketch, uint16_t kind, const char *name,
				 uint32_t thread, double from_ms, double to_ms)
{
	uint32_t op = (uint32_t)sketch->rec.op_count++;
	struct rec_op *rec_op = &sketch->rec.ops[op];

	*rec_op = (struct rec_op){ .dump_id = op + 1,
				   .start_ns = (uint64_t)(from_ms * 1e6),
				   .end_ns = (uint64_t)(to_ms * 1e6),
				   .parent = NO_INDEX,
				   .name = sketch_string(sketch, name),
				   .kind = kind,
				   .thread = thread };
	if (rec_op->end_ns > sketch->rec.end_ns)
		sketch->rec.end_ns = rec_op->end_ns;
	return op;
}

static inline void sketch_begin(struct sketch *sketch)
{
	memset(sketch, 0, sizeof(*sketch));
	struct recording *rec = &sketch->rec;

	rec->ops = memory_new(SKETCH_MAX, sizeof(*rec->ops));
	rec->extras = memory_new(SKETCH_MAX, sizeof(*rec->extras));
	rec->waits = memory_new(SKETCH_MAX, sizeof(*rec->waits));
	rec->links = memory_new(SKETCH_MAX, sizeof(*rec->links));
	rec->threads = memory_new(64, sizeof(*rec->threads));
	rec->processes = memory_new(1, sizeof(*rec->processes));
	rec->stacks = memory_new(64, sizeof(*rec->stacks));
	rec->frames = memory_new(64, sizeof(*rec->frames));
	rec->stack_count = 64; /* stack n is one frame, n: sites are told apart by it */
	rec->frame_count = 64;
	for (uint32_t i = 1; i < 64; i++) {
		rec->stacks[i] = (struct rec_stack){ i, 1 };
		rec->frames[i] = (struct rec_frame){ NO_INDEX, i };
	}
	rec->strings = sketch->strings;
	sketch_string(sketch, "");
	rec->process_count = 1;
	rec->processes[0] = (struct rec_process){ .pid = 1, .op = NO_INDEX };
}

/* The first thread is the one whose end is the makespan: its process has ended. */
static inline uint32_t sketch_thread(struct sketch *sketch, const char *name, double from_ms,
				     double to_ms)
{
	uint32_t thread = (uint32_t)sketch->rec.thread_count++;

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

static inline uint32_t sketch_wait(struct sketch *sketch, uint32_t thread, uint16_t reason,
				   const char *resource, double from_ms, double to_ms,
				   uint32_t target)
{
	uint32_t wait = (uint32_t)sketch->rec.wait_count++;

	sketch->rec.waits[wait] =
		(struct rec_wait){ .start_ns = (uint64_t)(from_ms * 1e6),
				   .end_ns = (uint64_t)(to_ms * 1e6),
				   .waiter = sketch->rec.threads[thread].op,
				   .target = target,
				   .holder = NO_INDEX,
				   .reason = reason,
				   .thread = thread,
				   .address = 0x1000 + sketch_string(sketch, resource) };
	return wait;
}

static inline uint32_t sketch_link(struct sketch *sketch, uint32_t thread, uint16_t kind,
				   const char *resource, double at_ms, uint32_t count, uint32_t to)
{
	uint32_t link = (uint32_t)sketch->rec.link_count++;

	sketch->rec.links[link] =
		(struct rec_link){ .at_ns = (uint64_t)(at_ms * 1e6),
				   .address = 0x1000 + sketch_string(sketch, resource),
				   .from = sketch->rec.threads[thread].op,
				   .to = to,
				   .kind = kind,
				   .count = count,
				   .thread = thread };
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
	free(sketch->rec.ops);
	free(sketch->rec.extras);
	free(sketch->rec.waits);
	free(sketch->rec.links);
	free(sketch->rec.threads);
	free(sketch->rec.processes);
	free(sketch->rec.stacks);
	free(sketch->rec.frames);
}

#endif
