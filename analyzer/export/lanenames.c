/* SPDX-License-Identifier: Apache-2.0 */
/* Counts names and hosts; lanenames.h has the contract. */
#include "lanenames.h"
#include "recording/programs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "recording/addresses.h"

enum { HOST_PIDS = 1 << 22 }; /* more than Linux gives */

static char *label_of(const char *name, uint32_t tid, bool is_unique)
{
	size_t bytes = strlen(name) + sizeof(" 4294967295");
	char *label = memory_new(bytes, 1);
	if (is_unique)
		memcpy(label, name, strlen(name));
	else
		snprintf(label, bytes, "%s %" PRIu32, name, tid);
	return label;
}

static void name_threads(struct lane_names *names, const struct walk *walk)
{
	const struct recording *recording = walk->recording;
	uint32_t *counts = memory_new(recording->string_count, sizeof(*counts));
	for (uint32_t i = 0; i < names->thread_count; i++)
		counts[recording->threads[i].name]++;
	for (uint32_t i = 0; i < names->thread_count; i++)
		names->threads[i] = label_of(walk_thread_name(walk, i), recording->threads[i].tid,
					     counts[recording->threads[i].name] == 1);
	free(counts);
}

static void name_processes(struct lane_names *names, const struct recording *recording)
{
	struct addresses hosts = { 0 };
	for (uint32_t i = 0; i < recording->process_count; i++) {
		const struct rec_process *process = &recording->processes[i];
		names->pid_shifts[i] = HOST_PIDS * addresses_add(&hosts, 0, process->host);
		const char *name = program_called(recording, i);
		names->programs[i] = *name ? name : "?";
	}
	addresses_free(&hosts);
}

void lane_names_build(struct lane_names *names, const struct walk *walk)
{
	const struct recording *recording = walk->recording;
	names->thread_count = walk_thread_count(walk);
	names->threads = memory_new(names->thread_count, sizeof(*names->threads));
	names->programs = memory_new(recording->process_count, sizeof(*names->programs));
	names->pid_shifts = memory_new(recording->process_count, sizeof(*names->pid_shifts));
	name_threads(names, walk);
	name_processes(names, recording);
}

void lane_names_free(struct lane_names *names)
{
	for (uint32_t i = 0; i < names->thread_count; i++)
		free(names->threads[i]);
	free(names->threads);
	free(names->programs);
	free(names->pid_shifts);
	*names = (struct lane_names){ 0 };
}
