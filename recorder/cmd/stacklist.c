/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a process and what each is blocked on, as a list in memory.
 *
 * The list owns the answer and all that it points to. One thread.
 */
#include "stacklist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocked.h"
#include "client.h"
#include "procfs.h"
#include "remains.h"

enum { THREADS_MAX = 4194304 };

/* --- The object ------------------------------------------------------------------------------- */

static void *grow(void *items, size_t count, size_t bytes)
{
	void *grown = realloc(items, (count + 1) * bytes);

	if (!grown) {
		fputs("wcprof: out of memory\n", stderr);
		exit(1);
	}
	return grown;
}

/* The numbers of an array of such. */
static size_t parse_numbers(const char *array, uint64_t **numbers)
{
	const char *at = array + 1;
	size_t count = 0;
	char *end;

	*numbers = NULL;
	for (; *at && *at != ']'; at = end + (*end == ',')) {
		uint64_t value = strtoull(at, &end, 10);

		if (end == at)
			break;
		*numbers = grow(*numbers, count, sizeof(**numbers));
		(*numbers)[count++] = value;
	}
	return count;
}

static uint64_t number_of(const char *object, const char *key, uint64_t otherwise)
{
	uint64_t value;

	return client_number(object, key, &value) ? value : otherwise;
}

static struct stacklist_thread parse_thread(const char *object)
{
	struct stacklist_thread thread = { .tid = (pid_t)number_of(object, "tid", 0),
					   .fd = (int)number_of(object, "fd", (uint64_t)-1),
					   .address = number_of(object, "address", 0),
					   .wait_ns = number_of(object, "wait_ns", 0),
					   .holder = (pid_t)number_of(object, "holder", 0),
					   .held_ns = number_of(object, "held_ns", 0) };
	const char *stack = client_array(object, "stack");
	char state[4] = "?";

	(void)client_string(object, "name", thread.name, sizeof(thread.name));
	(void)client_string(object, "state", state, sizeof(state));
	(void)client_string(object, "call", thread.call, sizeof(thread.call));
	(void)client_string(object, "what", thread.what, sizeof(thread.what));
	(void)client_string(object, "reason", thread.reason, sizeof(thread.reason));
	(void)client_string(object, "system_call", thread.system_call, sizeof(thread.system_call));
	thread.state = state[0];
	if (stack)
		thread.frame_count = parse_numbers(stack, &thread.frames);
	return thread;
}

/* Each object of the array is looked at alone: keys of its neighbours are not its own. */
static bool parse_threads(struct stacklist *list, const char *array)
{
	const char *at = array + 1;

	while (*at == '{' && list->count < THREADS_MAX) {
		char *object = client_next(&at);

		if (!object)
			return false;
		list->threads = grow(list->threads, list->count, sizeof(*list->threads));
		list->threads[list->count++] = parse_thread(object);
		free(object);
	}
	return *at == ']';
}

static bool parse_circles(struct stacklist *list, const char *array)
{
	const char *at = array + 1;

	while (*at == '[') {
		const char *end = client_end(at);
		struct stacklist_circle circle = { 0 };
		uint64_t *numbers;

		if (!end)
			return false;
		circle.count = parse_numbers(at, &numbers);
		for (size_t i = 0; i < circle.count; i++) {
			circle.tids = grow(circle.tids, i, sizeof(*circle.tids));
			circle.tids[i] = (pid_t)numbers[i];
		}
		free(numbers);
		list->circles = grow(list->circles, list->circle_count, sizeof(*list->circles));
		list->circles[list->circle_count++] = circle;
		at = end + (*end == ',');
	}
	return *at == ']';
}

bool stacklist_parse(struct stacklist *list, char *answer)
{
	const char *threads = client_array(answer, "threads");
	const char *circles = threads && client_end(threads) ? client_end(threads) : NULL;

	*list = (struct stacklist){ .answer = answer };
	circles = circles ? client_array(circles, "deadlocks") : NULL;
	return circles && client_end(circles) && parse_threads(list, threads) &&
	       parse_circles(list, circles);
}

void stacklist_free(struct stacklist *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->threads[i].frames);
	for (size_t i = 0; i < list->circle_count; i++)
		free(list->circles[i].tids);
	free(list->threads);
	free(list->circles);
	free(list->answer);
	*list = (struct stacklist){ 0 };
}

const struct stacklist_thread *stacklist_find(const struct stacklist *list, pid_t tid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->threads[i].tid == tid)
			return &list->threads[i];
	return NULL;
}

/* --- Where it comes from ---------------------------------------------------------------------- */

/* The same object, made here; NULL: there is no memory, or no such process any more. */
static char *make_answer(struct remains *remains)
{
	struct blocked_list list;
	struct text text = { 0 };

	if (blocked_read(&list, (uint32_t)remains_pid(remains), remains->arena) != 0)
		return NULL;
	text.size = ((size_t)list.count + 1) * BLOCKED_TEXT_BYTES;
	text.bytes = malloc(text.size);
	if (text.bytes) {
		text_put_literal(&text, "{\"pid\":");
		text_put_u64(&text, list.pid);
		text_put_literal(&text, ",");
		blocked_put(&text, &list);
		text_put_literal(&text, "}");
		(void)text_end(&text);
	}
	blocked_free(&list);
	return text.bytes;
}

static char *answer_from_arena(const struct target *target, char *error, size_t size)
{
	struct remains remains;
	char *answer;

	if (remains_open(&remains, target->arena) != 0) {
		snprintf(error, size, "%.200s cannot be read", target->arena);
		return NULL;
	}
	answer = make_answer(&remains);
	remains_close(&remains);
	if (!answer)
		snprintf(error, size, "it has ended");
	return answer;
}

/* One that is stopped would not be heard of before it goes on. */
static bool is_listening(const struct target *target)
{
	struct procfs_status status;

	return target->socket[0] && procfs_read(target->pid, &status) && !status.is_stopped;
}

bool stacklist_read(struct stacklist *list, const struct target *target, char *error, size_t size)
{
	char *answer = NULL;

	*list = (struct stacklist){ 0 };
	snprintf(error, size,
		 "it does not answer (stopped? WCPROF_CONTROL=off?), and has never "
		 "recorded");
	if (is_listening(target))
		answer = client_ask_long(target->socket, "STACKS", error, size);
	if (answer && stacklist_parse(list, answer))
		return true;
	if (answer)
		snprintf(error, size,
			 "its answer cannot be read: is it another version of wcprof?");
	stacklist_free(list);
	if (!target->arena[0])
		return false;
	answer = answer_from_arena(target, error, size);
	if (!answer)
		return false;
	if (!stacklist_parse(list, answer)) {
		stacklist_free(list);
		return false;
	}
	list->is_from_outside = true;
	return true;
}
