/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof stacks: every thread of a process, what it is blocked on, who has that, and the call
 * stack that led there; circles of threads that wait for each other are called by name.
 */
#include "cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocked.h"
#include "frames.h"

static const char *const reason_words[] = {
#define REASON(number, name, word, meaning) [number] = word,
#include "events.def"
};

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
		return "sleeps in the kernel, not to be woken";
	case 'T':
	case 't':
		return "is stopped";
	default:
		return "sleeps in the kernel";
	}
}

static const char *reason_word(const struct record *record)
{
	if (record->what >= sizeof(reason_words) / sizeof(reason_words[0]) ||
	    !reason_words[record->what])
		return "";
	return reason_words[record->what];
}

static const char *name_of(const struct blocked_thread *threads, size_t count, pid_t tid)
{
	for (size_t i = 0; i < count; i++)
		if (threads[i].tid == tid)
			return threads[i].name;
	return "?";
}

static const char *what_of(const struct blocked_thread *thread)
{
	return thread->what[0] ? thread->what : reason_word(&thread->on);
}

static void print_thread(const struct blocked_thread *threads, size_t count,
			 const struct blocked_thread *thread)
{
	char time[32];

	printf("\n\"%s\" (thread %d) ", thread->name, (int)thread->tid);
	if (thread->on.type == RECORD_NONE) {
		printf("%s\n", state_word(thread->state));
		return;
	}
	format_ns(thread->wait_ns, time, sizeof(time));
	if (thread->on.type == RECORD_OP && thread->on.fd >= 0)
		printf("has been in %s on descriptor %d for %s\n", thread->call, thread->on.fd,
		       time);
	else if (thread->on.type == RECORD_OP)
		printf("has been in %s for %s\n", thread->call, time);
	else
		printf("has waited in %s for %s for %s\n", thread->call, what_of(thread), time);
	if (thread->holder == 0)
		return;
	printf("    %s \"%s\" (thread %d)",
	       thread->on.what == REASON_JOIN ? "the end of" : "held by",
	       name_of(threads, count, thread->holder), (int)thread->holder);
	format_ns(thread->held_ns, time, sizeof(time));
	printf(thread->held_ns ? " for %s\n" : "\n", time);
}

static void print_frames(struct frames *frames, const struct blocked_thread *thread)
{
	char text[512];

	for (uint32_t i = 0; i < thread->frame_count; i++) {
		frames_describe(frames, thread->frames[i], text, sizeof(text));
		printf("    %s\n", text);
	}
}

static void print_circles(const struct blocked_thread *threads, size_t count)
{
	size_t *members = calloc(count, sizeof(*members));

	for (size_t i = 0; members && i < count; i++) {
		size_t found = blocked_circle(threads, count, i, members);

		if (found == 0)
			continue;
		printf("\ndeadlock of %zu thread%s:\n", found, found == 1 ? "" : "s");
		for (size_t k = 0; k < found; k++) {
			const struct blocked_thread *thread = &threads[members[k]];

			printf("    \"%s\" (thread %d) waits for %s, which "
			       "\"%s\" (thread %d) has\n",
			       thread->name, (int)thread->tid, what_of(thread),
			       name_of(threads, count, thread->holder), (int)thread->holder);
		}
	}
	free(members);
}

/* By the variable's name, where it has one. */
static void name_what(struct frames *frames, struct blocked_thread *thread)
{
	char name[220];

	if (thread->on.type == RECORD_WAIT && thread->on.value != 0 &&
	    thread->on.what != REASON_JOIN &&
	    frames_name_variable(frames, thread->on.value, name, sizeof(name)))
		snprintf(thread->what, sizeof(thread->what), "%s %s", reason_word(&thread->on),
			 name);
}

static int print_process(const struct target *target)
{
	struct blocked_thread *threads;
	struct remains remains;
	struct frames *frames;
	size_t count;

	if (!target->arena[0])
		return cmd_fail("%d %s has never recorded: wcprof enable it, then ask again",
				(int)target->pid, target->name);
	if (remains_open(&remains, target->arena) != 0)
		return cmd_fail("%s cannot be read", target->arena);
	frames = frames_open(target->pid);
	threads = blocked_read(&remains, &count);
	printf("%d %s: %zu thread%s\n", (int)target->pid, target->name, count,
	       count == 1 ? "" : "s");
	for (size_t i = 0; i < count; i++)
		name_what(frames, &threads[i]);
	for (size_t i = 0; i < count; i++) {
		print_thread(threads, count, &threads[i]);
		print_frames(frames, &threads[i]);
	}
	print_circles(threads, count);
	free(threads);
	frames_close(frames);
	remains_close(&remains);
	return CMD_DONE;
}

int cmd_stacks(struct cmd_options *options)
{
	struct target_list found;
	int status = cmd_find(options, &found);

	for (size_t i = 0; status == CMD_DONE && i < found.count; i++)
		status = print_process(&found.targets[i]);
	target_list_free(&found);
	return status;
}
