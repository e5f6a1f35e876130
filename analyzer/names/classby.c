/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes by what the user asks for; classby.h has the table.
 *
 * One walk over a thread's holds and calls, in the order in which they began, finds the lock held
 * during each call. Of the holds that are still on, the one that began last counts.
 */
#include "classby.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/choice.h"
#include "base/memory.h"
#include "format.h"
#include "recording/intern.h"
#include "recording/words.h"

enum { TEXT_BYTES_MAX = 2048, WHO_BYTES_MAX = 1800 };

struct naming {
	enum class_by by;
	struct recording *recording;
	struct callers *callers;
	const uint32_t *op_name;
	uint32_t *class_name;
	uint32_t *who_of_stack; /* string id, 0 = not known yet */
	uint32_t *lock_of;      /* by op: of a call, the hold that it was made in, or NO_INDEX */
};

static const struct choice words[] = {
	{ "function", CLASS_BY_FUNCTION }, { "caller", CLASS_BY_CALLER }, { "line", CLASS_BY_LINE },
	{ "lock", CLASS_BY_LOCK },         { "thread", CLASS_BY_THREAD },
};

bool class_by_parse(const char *word, enum class_by *by)
{
	int value;

	if (!choice_find(words, sizeof(words) / sizeof(words[0]), word, &value))
		return false;
	*by = (enum class_by)value;
	return true;
}

/* --- Which lock was held --- */

static int compare_starts(const void *left, const void *right, void *context)
{
	const struct rec_op *ops = context;
	uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
	const struct rec_op *a = &ops[i], *b = &ops[k];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (words_is_call(a->kind) != words_is_call(b->kind))
		return words_is_call(a->kind) ? 1 : -1;
	return (i > k) - (i < k);
}

struct open_holds {
	uint32_t *ops;
	size_t count, room;
};

/* The last begun of the holds that are on at the start of `call`; those that have ended are taken
 * out. */
static uint32_t innermost_hold(const struct recording *recording, struct open_holds *open,
			       const struct rec_op *call)
{
	size_t kept = 0;

	for (size_t i = 0; i < open->count; i++) {
		const struct rec_op *hold = &recording->ops[open->ops[i]];

		if (hold->thread == call->thread && hold->end_ns > call->start_ns)
			open->ops[kept++] = open->ops[i];
	}
	open->count = kept;
	return kept ? open->ops[kept - 1] : NO_INDEX;
}

static void find_locks(struct naming *naming)
{
	const struct recording *recording = naming->recording;
	uint32_t *order = memory_new(recording->op_count, sizeof(*order));
	struct open_holds open = { 0 };
	size_t count = 0;

	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];

		naming->lock_of[i] = NO_INDEX;
		if (op->thread != NO_INDEX && (words_is_call(op->kind) || op->kind == KIND_HOLD))
			order[count++] = i;
	}
	if (count > 1)
		qsort_r(order, count, sizeof(*order), compare_starts, recording->ops);
	for (size_t i = 0; i < count; i++) {
		const struct rec_op *op = &recording->ops[order[i]];

		if (words_is_call(op->kind)) {
			naming->lock_of[order[i]] = innermost_hold(recording, &open, op);
			continue;
		}
		open.ops = memory_grow(open.ops, &open.room, open.count + 1, sizeof(*open.ops));
		open.ops[open.count++] = order[i];
	}
	free(open.ops);
	free(order);
}

/* --- Names --- */

static void function_of_caller(struct caller caller, char text[WHO_BYTES_MAX])
{
	callers_function_text(caller, text, WHO_BYTES_MAX);
}

static void caller_text(struct naming *naming, uint32_t stack, char text[TEXT_BYTES_MAX])
{
	char function[WHO_BYTES_MAX], caller[WHO_BYTES_MAX];

	function_of_caller(callers_innermost(naming->callers, stack), function);
	function_of_caller(callers_second(naming->callers, stack), caller);
	snprintf(text, TEXT_BYTES_MAX, "%.900s%s%.900s", caller, caller[0] ? ">" : "", function);
}

static void line_text(struct naming *naming, uint32_t stack, char text[TEXT_BYTES_MAX])
{
	struct caller caller = callers_innermost(naming->callers, stack);

	text[0] = '\0';
	if (caller.place)
		symbols_frame_text(caller.place, caller.frame, text, WHO_BYTES_MAX);
}

static uint32_t who_by_stack(struct naming *naming, uint32_t op)
{
	uint32_t stack = naming->recording->extras ? naming->recording->extras[op].stack : 0;
	char text[TEXT_BYTES_MAX] = "";

	if (!stack)
		return 0;
	if (naming->who_of_stack[stack])
		return naming->who_of_stack[stack];
	if (naming->by == CLASS_BY_CALLER)
		caller_text(naming, stack, text);
	else
		line_text(naming, stack, text);
	if (text[0])
		naming->who_of_stack[stack] = recording_intern(naming->recording, text);
	return naming->who_of_stack[stack];
}

/* The thread's own name, or its start routine's where it has only its program's. */
static uint32_t who_by_thread(const struct naming *naming, uint32_t op)
{
	const struct recording *recording = naming->recording;
	uint32_t index = recording->ops[op].thread;
	const struct rec_thread *thread;

	if (index == NO_INDEX)
		return 0;
	thread = &recording->threads[index];
	if (thread->op != NO_INDEX && naming->op_name[thread->op])
		return naming->op_name[thread->op];
	return thread->name;
}

static uint32_t who_by_lock(const struct naming *naming, uint32_t op)
{
	uint32_t hold = naming->lock_of[op];

	return hold == NO_INDEX ? recording_intern(naming->recording, "no lock")
				: naming->op_name[hold];
}

static uint32_t who(struct naming *naming, uint32_t op)
{
	switch (naming->by) {
	case CLASS_BY_FUNCTION:
		break;
	case CLASS_BY_CALLER:
	case CLASS_BY_LINE:
		return who_by_stack(naming, op);
	case CLASS_BY_LOCK:
		return who_by_lock(naming, op);
	case CLASS_BY_THREAD:
		return who_by_thread(naming, op);
	}
	return 0;
}

static void name_op(struct naming *naming, uint32_t op)
{
	struct recording *recording = naming->recording;
	bool is_hold = recording->ops[op].kind == KIND_HOLD;
	uint32_t name = (is_hold && naming->by == CLASS_BY_LOCK) ? 0 : who(naming, op);
	char text[2 * TEXT_BYTES_MAX];

	if (!name)
		return;
	if (is_hold)
		snprintf(text, sizeof(text), "%s in %s", recording->strings[naming->op_name[op]],
			 recording->strings[name]);
	else
		snprintf(text, sizeof(text), "%s/%s", recording->strings[name],
			 recording->strings[recording->ops[op].name]);
	naming->class_name[op] = recording_intern(recording, text);
}

void class_by_name(enum class_by by, struct recording *recording, struct callers *callers,
		   const uint32_t *op_name, uint32_t *class_name)
{
	struct naming naming = {
		.by = by,
		.recording = recording,
		.callers = callers,
		.op_name = op_name,
		.class_name = class_name,
		.who_of_stack = memory_new(recording->stack_count, sizeof(uint32_t)),
		.lock_of = memory_new(recording->op_count, sizeof(uint32_t)),
	};

	memcpy(class_name, op_name, recording->op_count * sizeof(*class_name));
	if (by == CLASS_BY_LOCK)
		find_locks(&naming);
	for (uint32_t i = 0; by != CLASS_BY_FUNCTION && i < recording->op_count; i++)
		if (words_is_call(recording->ops[i].kind) || recording->ops[i].kind == KIND_HOLD)
			name_op(&naming, i);
	free(naming.who_of_stack);
	free(naming.lock_of);
}
