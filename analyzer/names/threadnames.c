/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names threads; threadnames.h says after what.
 *
 * Many start routines are a runtime's, which then calls the function that the thread is for. That
 * is the program's outermost function on most of the thread's stacks. It is not on all: a runtime
 * also calls destructors at the thread's end, and an allocator. So each stack of an op, a wait or a
 * sample is a vote.
 *
 * One thread.
 */
#include "threadnames.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "recording/intern.h"
#include "recording/samples.h"

enum { TEXT_BYTES_MAX = 2048 };

static const char *const runtime_threads[] = {
#define RUNTIME_THREAD(glob, meaning) glob,
#include "runtime.def"
	NULL,
};

struct vote {
	uint32_t thread;
	uint32_t name;
};

struct naming {
	struct recording *recording;
	struct callers *callers;
	uint32_t *names;    /* by thread */
	uint32_t *of_stack; /* by stack: string id, 0 = not looked at, NO_INDEX = none */
	bool *is_nameless;  /* by stack: that is no function's name */
	struct vote *votes;
	size_t vote_count;
	size_t vote_room;
};

bool thread_names_itself(const struct recording *recording, const struct rec_thread *thread)
{
	enum { COMM_BYTES = 15 }; /* the kernel keeps so much of a thread's name */
	const char *name = recording->strings[thread->name];
	const char *exe = recording->strings[recording->processes[thread->process].exe];
	const char *slash = strrchr(exe, '/');

	return name[0] && strncmp(name, slash ? slash + 1 : exe, COMM_BYTES) != 0;
}

bool thread_is_main(const struct recording *recording, const struct rec_thread *thread)
{
	uint32_t pid = recording->processes[thread->process].pid;

	return pid && thread->tid == pid;
}

bool thread_name_is_runtime(const char *name)
{
	for (const char *const *glob = runtime_threads; *glob; glob++)
		if (fnmatch(*glob, name, 0) == 0)
			return true;
	return false;
}

/* It says who made the thread, and not what for. */
static bool is_closure(const char *function)
{
	return strstr(function, "{{closure}}") || strstr(function, "{closure#") ||
	       strstr(function, "{lambda") || strstr(function, "operator()") ||
	       strstr(function, "$$Lambda");
}

static uint32_t routine_name(struct naming *naming, const struct rec_thread *thread)
{
	const struct recording *recording = naming->recording;
	char text[TEXT_BYTES_MAX];
	struct caller routine;

	if (thread_is_main(recording, thread))
		return recording_intern(naming->recording, "main");
	if (thread->op == NO_INDEX || !recording->extras || !recording->extras[thread->op].address)
		return 0;
	routine = callers_routine(naming->callers, thread->process,
				  recording->extras[thread->op].address,
				  recording->ops[thread->op].start_ns);
	if (!routine.place || (!routine.place->frames[routine.frame].function &&
			       thread_names_itself(recording, thread)))
		return 0;
	return recording_intern(naming->recording,
				callers_function_text(routine, text, sizeof(text)));
}

/* --- votes --- */

static void look_at(struct naming *naming, uint32_t stack)
{
	struct caller outermost = callers_outermost(naming->callers, stack);
	char text[TEXT_BYTES_MAX];

	naming->of_stack[stack] = NO_INDEX;
	if (!outermost.place)
		return;
	naming->is_nameless[stack] = !outermost.place->frames[outermost.frame].function;
	naming->of_stack[stack] = recording_intern(
		naming->recording, callers_function_text(outermost, text, sizeof(text)));
}

static void vote(struct naming *naming, uint32_t thread, uint32_t stack)
{
	const struct recording *recording = naming->recording;

	if (thread == NO_INDEX || !stack || naming->names[thread])
		return;
	if (!naming->of_stack[stack])
		look_at(naming, stack);
	if (naming->of_stack[stack] == NO_INDEX ||
	    (naming->is_nameless[stack] &&
	     thread_names_itself(recording, &recording->threads[thread])))
		return;
	naming->votes = memory_grow(naming->votes, &naming->vote_room, naming->vote_count + 1,
				    sizeof(*naming->votes));
	naming->votes[naming->vote_count++] = (struct vote){ thread, naming->of_stack[stack] };
}

static void collect_votes(struct naming *naming)
{
	const struct recording *recording = naming->recording;

	for (size_t i = 0; i < recording->wait_count; i++)
		vote(naming, recording->waits[i].thread, recording->waits[i].stack);
	for (size_t i = 0; recording->extras && i < recording->op_count; i++)
		if (recording->ops[i].kind != KIND_THREAD)
			vote(naming, recording->ops[i].thread, recording->extras[i].stack);
	for (size_t i = 0; i < recording->sample_count; i++)
		if (!samples_is_outside(recording, recording->samples[i].stack))
			vote(naming, recording->samples[i].thread, recording->samples[i].stack);
}

static int compare_votes(const void *left, const void *right)
{
	const struct vote *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

/* Of each thread the name with the most votes; of equal ones that which was seen first. */
static void count_votes(struct naming *naming)
{
	const struct vote *votes = naming->votes;
	size_t most = 0;

	if (naming->vote_count)
		qsort(naming->votes, naming->vote_count, sizeof(*votes), compare_votes);
	for (size_t from = 0, to; from < naming->vote_count; from = to) {
		bool is_next = from > 0 && votes[from].thread != votes[from - 1].thread;

		for (to = from + 1;
		     to < naming->vote_count && !compare_votes(&votes[from], &votes[to]);)
			to++;
		most = is_next ? 0 : most;
		if (to - from <= most)
			continue;
		most = to - from;
		naming->names[votes[from].thread] = votes[from].name;
	}
}

/* --- numbers --- */

/* String id of the name with `#` for the number at its end; 0 = it has none. */
static uint32_t name_of_many(struct recording *recording, uint32_t name)
{
	const char *text = recording->strings[name];
	size_t bytes = strlen(text), stem = bytes;
	char many[TEXT_BYTES_MAX];

	while (stem > 0 && text[stem - 1] >= '0' && text[stem - 1] <= '9')
		stem--;
	if (stem == 0 || stem == bytes || stem + 2 > sizeof(many))
		return 0;
	snprintf(many, sizeof(many), "%.*s#", (int)stem, text);
	return recording_intern(recording, many);
}

/* Of threads that are named after themselves: those of a pool differ by a number only. */
static void leave_out_numbers(struct naming *naming)
{
	struct recording *recording = naming->recording;
	uint32_t *of_thread = memory_new(recording->thread_count, sizeof(*of_thread)), *first;
	bool *are_many;

	for (size_t i = 0; i < recording->thread_count; i++)
		if (naming->names[i] && naming->names[i] == recording->threads[i].name)
			of_thread[i] = name_of_many(recording, naming->names[i]);
	first = memory_new(recording->string_count, sizeof(*first));
	are_many = memory_new(recording->string_count, sizeof(*are_many));
	for (size_t i = 0; i < recording->thread_count; i++) {
		uint32_t many = of_thread[i];

		are_many[many] |= first[many] && first[many] != naming->names[i];
		first[many] = naming->names[i];
	}
	for (size_t i = 0; i < recording->thread_count; i++)
		if (of_thread[i] && are_many[of_thread[i]])
			naming->names[i] = of_thread[i];
	free(of_thread);
	free(first);
	free(are_many);
}

uint32_t *thread_names_find(struct recording *recording, struct callers *callers)
{
	struct naming naming = {
		.recording = recording,
		.callers = callers,
		.names = memory_new(recording->thread_count, sizeof(*naming.names)),
		.of_stack = memory_new(recording->stack_count, sizeof(*naming.of_stack)),
		.is_nameless = memory_new(recording->stack_count, sizeof(*naming.is_nameless)),
	};

	for (size_t i = 0; i < recording->thread_count; i++)
		naming.names[i] = routine_name(&naming, &recording->threads[i]);
	collect_votes(&naming);
	count_votes(&naming);
	for (size_t i = 0; i < recording->thread_count; i++) {
		const struct rec_thread *thread = &recording->threads[i];

		if (!naming.names[i] || (is_closure(recording->strings[naming.names[i]]) &&
					 thread_names_itself(recording, thread)))
			naming.names[i] = thread->name;
	}
	leave_out_numbers(&naming);
	free(naming.of_stack);
	free(naming.is_nameless);
	free(naming.votes);
	return naming.names;
}
