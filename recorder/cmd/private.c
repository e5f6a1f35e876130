/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that record into private memory. See private.h.
 */
#include "private.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "procfs.h"

static bool is_listed(const struct private_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->processes[i].pid == pid)
			return true;
	return false;
}

/* Records, and has no file to do it in. */
static bool is_private(const char *socket)
{
	struct client_answer answer;
	char arena[64] = "";

	return client_ask(socket, "STATUS", &answer) &&
	       client_string(answer.text, "arena", arena, sizeof(arena)) && arena[0] != '/';
}

static bool add(struct private_list *list, pid_t pid, const char *directory)
{
	struct private_process *grown, process = { .pid = pid };

	snprintf(process.socket, sizeof(process.socket), "%.80s/%d.sock", directory, (int)pid);
	if (!is_private(process.socket))
		return false;
	grown = realloc(list->processes, (list->count + 1) * sizeof(*grown));
	if (!grown)
		return false;
	list->processes = grown;
	grown[list->count++] = process;
	list->total++;
	return true;
}

static void remove_ended(struct private_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (procfs_lives(list->processes[i].pid, 0))
			list->processes[kept++] = list->processes[i];
	list->count = kept;
}

bool private_find(struct private_list *list, const char *directory,
		  bool (*is_known)(const void *, pid_t), const void *context)
{
	DIR *stream = opendir(directory);
	const struct dirent *entry;
	bool is_new = false;

	remove_ended(list);
	while (stream && (entry = readdir(stream))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		struct procfs_status status;

		if (pid > 0 && !is_listed(list, pid) && !is_known(context, pid) &&
		    procfs_read(pid, &status) && !status.is_zombie && !status.is_stopped)
			is_new |= add(list, pid, directory);
	}
	if (stream)
		closedir(stream);
	return is_new;
}

void private_free(struct private_list *list)
{
	free(list->processes);
	*list = (struct private_list){ 0 };
}
