/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof stacks: every thread of a process with its call stack, and the thing that it is blocked on
 * with its holder. Circles of threads that wait for each other are named.
 */
#include "cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frames.h"
#include "stacklist.h"
#include "visible.h"

static void format_ns(uint64_t ns, char *to, size_t size)
{
	if (ns >= 1000000000)
		snprintf(to, size, "%.2f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		snprintf(to, size, "%.2f ms", (double)ns / 1e6);
	else
		snprintf(to, size, "%.1f us", (double)ns / 1e3);
}

static const char *state_word(char state)
{
	switch (state) {
	case 'R':
		return "runs";
	case 'D':
		return "sleeps in the kernel and cannot be interrupted";
	case 'T':
	case 't':
		return "is stopped";
	default:
		return "sleeps in the kernel";
	}
}

static const char *name_of(const struct stacklist *list, pid_t tid)
{
	const struct stacklist_thread *thread = stacklist_find(list, tid);

	return thread ? thread->name : "?";
}

static const char *what_of(const struct stacklist_thread *thread)
{
	return thread->what[0] ? thread->what : thread->reason;
}

/* "has waited in pthread_mutex_lock for mutex first for 1.20 s" */
static void print_doing(const struct stacklist_thread *thread)
{
	const char *call = thread->call[0] ? thread->call : thread->system_call;
	char time[32];

	if (!call[0] || (thread->state == 'R' && !thread->call[0])) {
		printf("%s", state_word(thread->state));
		return;
	}
	printf(thread->reason[0] ? "has waited in %s for %s"
	       : thread->wait_ns ? "has been in %s"
				 : "is in %s",
	       visible(call), visible(what_of(thread)));
	if (!thread->reason[0] && thread->fd >= 0)
		printf(" on descriptor %d", thread->fd);
	if (thread->wait_ns == 0)
		return;
	format_ns(thread->wait_ns, time, sizeof(time));
	printf(" for %s", time);
}

static void print_holder(const struct stacklist *list, const struct stacklist_thread *thread)
{
	char time[32];

	if (thread->holder == 0)
		return;
	printf("    %s \"%s\" (thread %d)",
	       strcmp(thread->reason, "join") == 0 ? "the end of" : "held by",
	       visible(name_of(list, thread->holder)), (int)thread->holder);
	format_ns(thread->held_ns, time, sizeof(time));
	printf(thread->held_ns ? " for %s\n" : "\n", time);
}

static void print_thread(const struct stacklist *list, const struct stacklist_thread *thread,
			 struct frames *frames)
{
	char text[512];

	printf("\n\"%s\" (thread %d) ", visible(thread->name), (int)thread->tid);
	print_doing(thread);
	putchar('\n');
	print_holder(list, thread);
	for (size_t i = 0; i < thread->frame_count; i++) {
		frames_describe(frames, thread->frames[i], text, sizeof(text));
		printf("    %s\n", visible(text));
	}
}

static void print_circle(const struct stacklist *list, const struct stacklist_circle *circle)
{
	printf("\ndeadlock of %zu thread%s:\n", circle->count, circle->count == 1 ? "" : "s");
	for (size_t i = 0; i < circle->count; i++) {
		const struct stacklist_thread *thread = stacklist_find(list, circle->tids[i]);

		if (thread)
			printf("    \"%s\" (thread %d) waits for %s, which "
			       "\"%s\" (thread %d) has\n",
			       visible(thread->name), (int)thread->tid, visible(what_of(thread)),
			       visible(name_of(list, thread->holder)), (int)thread->holder);
	}
}

/* By the variable's name, where it has one. */
static void name_what(struct frames *frames, struct stacklist_thread *thread)
{
	char name[220];

	if (thread->address == 0)
		return;
	if (frames_name_variable(frames, thread->address, name, sizeof(name)))
		snprintf(thread->what, sizeof(thread->what), "%s %s", thread->reason, name);
	else if (!thread->what[0])
		snprintf(thread->what, sizeof(thread->what), "%s at 0x%" PRIx64, thread->reason,
			 thread->address);
}

static void print_process(const struct target *target, struct stacklist *list)
{
	struct frames *frames = frames_open(target->pid);

	printf("%d %s: %zu thread%s%s\n", (int)target->pid, visible(target->name), list->count,
	       list->count == 1 ? "" : "s",
	       list->is_from_outside ? " (it does not answer: seen from outside)" : "");
	for (size_t i = 0; i < list->count; i++)
		name_what(frames, &list->threads[i]);
	for (size_t i = 0; i < list->count; i++)
		print_thread(list, &list->threads[i], frames);
	for (size_t i = 0; i < list->circle_count; i++)
		print_circle(list, &list->circles[i]);
	frames_close(frames);
}

static int show_process(const struct cmd_options *options, const struct target *target)
{
	struct stacklist list;
	char error[512];

	if (!stacklist_read(&list, target, error, sizeof(error)))
		return cmd_fail("%d %s: %s", (int)target->pid, target->name, error);
	if (options->json)
		visible_puts_object(list.answer);
	else
		print_process(target, &list);
	stacklist_free(&list);
	return CMD_DONE;
}

int cmd_stacks(struct cmd_options *options)
{
	struct target_list found;
	int status = cmd_find(options, &found);

	for (size_t i = 0; status == CMD_DONE && i < found.count; i++)
		status = show_process(options, &found.targets[i]);
	target_list_free(&found);
	return status;
}
