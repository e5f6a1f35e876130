/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every thread's doing at the moment. See survey.h.
 *
 * A stack has one of three sources. A wait or call has it in its open record. A thread that is
 * blocked without one has it lying there (parked.h); one that runs answers itself (glimpse.h).
 */
#include "survey.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "blocked.h"
#include "glimpse.h"
#include "gate.h"
#include "stack.h"
#include "syscalls.h"

#include "in_target.h"

/* A thread that runs for so long without being interrupted is not asked any longer. */
#define SURVEY_PATIENCE_NS UINT64_C(50000000)

/* The control thread's own. */
static struct {
	struct blocked_list list;
	uint64_t due_ns;
	bool is_under_way;
} survey;

static void ask_running(void)
{
	for (uint32_t i = 0; i < survey.list.count; i++) {
		struct blocked_thread *thread = &survey.list.threads[i];

		thread->glimpse = -1;
		if (thread->state == 'R' && thread->frame_count == 0)
			thread->glimpse = glimpse_ask(thread->tid);
	}
}

int survey_begin(uint64_t now_ns)
{
	int result;

	if (survey.is_under_way)
		return -EBUSY;
	(void)stack_warm_up();
	result = blocked_read(&survey.list, gate_pid(), load_acquire(&recorder_arena));
	if (result != 0)
		return result;
	ask_running();
	survey.due_ns = now_ns + SURVEY_PATIENCE_NS;
	survey.is_under_way = true;
	return 0;
}

bool survey_is_under_way(void)
{
	return survey.is_under_way;
}

bool survey_is_due(uint64_t now_ns)
{
	bool is_due = true;

	assert(survey.is_under_way);
	for (uint32_t i = 0; i < survey.list.count && is_due; i++) {
		int glimpse = survey.list.threads[i].glimpse;

		is_due = glimpse < 0 || glimpse_is_there(glimpse);
	}
	return is_due || now_ns >= survey.due_ns;
}

static void take_answers(void)
{
	for (uint32_t i = 0; i < survey.list.count; i++) {
		struct blocked_thread *thread = &survey.list.threads[i];

		if (thread->glimpse >= 0)
			thread->frame_count = glimpse_end(thread->glimpse, thread->frames);
	}
}

static bool write_answer(struct text *answer)
{
	size_t bytes = ((size_t)survey.list.count + 1) * BLOCKED_TEXT_BYTES;
	void *memory = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	if (sys_is_error(memory))
		return false;
	*answer = (struct text){ .bytes = memory, .size = bytes };
	text_put_literal(answer, "OK {\"pid\":");
	text_put_u64(answer, gate_pid());
	text_put(answer, gate_is_on() ? ",\"recording\":\"on\"," : ",\"recording\":\"off\",");
	blocked_put(answer, &survey.list);
	text_put_literal(answer, "}\n");
	assert(!answer->overflowed);
	return true;
}

bool survey_end(struct text *answer)
{
	bool done;

	assert(survey.is_under_way);
	take_answers();
	done = answer && write_answer(answer);
	blocked_free(&survey.list);
	survey.is_under_way = false;
	return done;
}

void survey_release(struct text *answer)
{
	assert(answer->bytes && answer->size > 0);
	sys_munmap(answer->bytes, answer->size);
	*answer = (struct text){ 0 };
}

void survey_forget(void)
{
	blocked_free(&survey.list);
	survey.is_under_way = false;
	glimpse_forget();
}
