/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that record into private memory, found by their sockets.
 *
 * Nothing is kept between calls. One thread.
 */
#include "private.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "procfs.h"

static bool is_listed(const struct private_list *list, const char *socket)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->processes[i].socket, socket) == 0)
			return true;
	return false;
}

static bool is_called_socket(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".sock") == 0;
}

/* The process that listens there, if it can answer. Its number in the name may be of another pid
 * name space. */
static bool find_listener(const char *socket, pid_t pid_by_name, pid_t *pid)
{
	struct procfs_status status;
	int fd;

	/* Where it is of ours, one that is stopped is not kept full of connections. */
	if (procfs_read(pid_by_name, &status) && status.is_stopped)
		return false;
	fd = client_connect(socket, pid);
	if (fd < 0)
		return false;
	close(fd);
	return procfs_read(*pid, &status) && !status.is_zombie && !status.is_stopped;
}

/* Records, and has no file to do it in. */
static bool is_private(const char *socket)
{
	struct client_answer answer;
	char arena[64] = "";

	return client_ask(socket, "STATUS", &answer) &&
	       client_string(answer.text, "arena", arena, sizeof(arena)) && arena[0] != '/';
}

static bool add(struct private_list *list, const struct private_process *process)
{
	struct private_process *grown =
		realloc(list->processes, (list->count + 1) * sizeof(*grown));

	if (!grown)
		return false;
	list->processes = grown;
	grown[list->count++] = *process;
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
		  bool (*is_known)(const void *, const char *), const void *context)
{
	DIR *stream = opendir(directory);
	const struct dirent *entry;
	bool is_new = false;

	remove_ended(list);
	while (stream && (entry = readdir(stream))) {
		struct private_process process = { 0 };
		size_t size = sizeof(process.socket);

		if (is_called_socket(entry->d_name) &&
		    (size_t)snprintf(process.socket, size, "%s/%s", directory, entry->d_name) <
			    size &&
		    !is_known(context, process.socket) && !is_listed(list, process.socket) &&
		    find_listener(process.socket, (pid_t)atoi(entry->d_name), &process.pid) &&
		    is_private(process.socket))
			is_new |= add(list, &process);
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
