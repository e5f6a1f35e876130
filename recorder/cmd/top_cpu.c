/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU times of threads, from /proc/PID/task; top_cpu.h has the contract.
 */
#include "top_cpu.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "grow.h"
#include "procfs.h"

static int compare_tids(const void *left, const void *right)
{
	const struct top_cpu_thread *a = left, *b = right;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

const struct top_cpu_thread *top_cpu_find(const struct top_cpu *cpu, pid_t tid)
{
	const struct top_cpu_thread sought = { .tid = tid };

	return cpu->count ? bsearch(&sought, cpu->threads, cpu->count, sizeof(sought), compare_tids)
			  : NULL;
}

static bool read_thread(struct top_cpu_thread *thread, pid_t pid, pid_t tid)
{
	char path[64], text[128];

	*thread = (struct top_cpu_thread){ .tid = tid };
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	if (procfs_read_file(path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &thread->run_ns, &thread->queued_ns) != 2)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	if (procfs_read_file(path, text, sizeof(text)) > 0)
		snprintf(thread->name, sizeof(thread->name), "%.*s", (int)strcspn(text, "\n"),
			 text);
	return true;
}

static bool list_threads(struct top_cpu *next, pid_t pid)
{
	char path[64];
	const struct dirent *entry;
	struct top_cpu_thread *grown;
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *directory = opendir(path);

	while (directory && (entry = readdir(directory)) != NULL) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid <= 0)
			continue;
		grown = grow_for_one(next->threads, &room, next->count, sizeof(*grown));
		if (!grown)
			break;
		next->threads = grown;
		next->count += read_thread(&next->threads[next->count], pid, tid) &&
			       strcmp(next->threads[next->count].name, "wcprof") != 0;
	}
	if (directory)
		closedir(directory);
	if (next->count)
		qsort(next->threads, next->count, sizeof(*next->threads), compare_tids);
	return next->count > 0;
}

bool top_cpu_look(struct top_cpu *cpu, pid_t pid)
{
	struct top_cpu next = { .at_ns = clock_mono_ns() };

	if (!list_threads(&next, pid)) {
		free(next.threads);
		return false;
	}
	double ns = cpu->at_ns ? (double)(next.at_ns - cpu->at_ns) : 0;

	for (size_t i = 0; i < next.count; i++) {
		struct top_cpu_thread *thread = &next.threads[i];
		const struct top_cpu_thread *before = top_cpu_find(cpu, thread->tid);

		if (!before || ns <= 0 || thread->run_ns < before->run_ns)
			continue;
		thread->run = (double)(thread->run_ns - before->run_ns) / ns;
		thread->queued = (double)(thread->queued_ns - before->queued_ns) / ns;
		next.run += thread->run;
		next.queued += thread->queued;
	}
	free(cpu->threads);
	*cpu = next;
	return true;
}

void top_cpu_stop(struct top_cpu *cpu)
{
	for (size_t i = 0; i < cpu->count; i++)
		cpu->threads[i].run = cpu->threads[i].queued = 0;
	cpu->run = cpu->queued = 0;
}

void top_cpu_free(struct top_cpu *cpu)
{
	free(cpu->threads);
	*cpu = (struct top_cpu){ .count = 0 };
}
