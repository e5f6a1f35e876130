/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that have the recorder loaded: found by their sockets and arenas, named, told apart.
 *
 * Nothing is kept between calls. One thread.
 */
#include "target.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "arena.h"
#include "options.h"
#include "procfs.h"
#include "socket.h"
#include "strings.h"

_Static_assert(sizeof(((struct target *)0)->socket) >= SOCKET_PATH_BYTES, "any socket's path");

/* --- Lists ------------------------------------------------------------------------------------ */

struct target *target_list_add(struct target_list *list, const struct target *target)
{
	struct target *grown = realloc(list->targets, (list->count + 1) * sizeof(*grown));

	if (!grown) {
		fputs("wcprof: out of memory\n", stderr);
		exit(1);
	}
	list->targets = grown;
	grown[list->count] = *target;
	return &grown[list->count++];
}

void target_list_free(struct target_list *list)
{
	free(list->targets);
	*list = (struct target_list){ 0 };
}

static struct target *list_find_living(const struct target_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->targets[i].pid == pid && !list->targets[i].is_dead)
			return &list->targets[i];
	return NULL;
}

/* --- Sockets ---------------------------------------------------------------------------------- */

/* The path of the socket that a process would have, as the library makes it. */
static bool socket_path_of(unsigned pid, char path[SOCKET_PATH_BYTES])
{
	static struct options options;

	options_read(&options, (const char *(*)(const char *))getenv);
	options.socket[0] = '\0';
	return socket_path(&options, pid, false, path);
}

const char *target_why_silent(const struct target *target)
{
	const char *detached = advice_of_detached(target->pid);

	if (target->is_confined)
		return "it set up a system-call filter and no longer answers; once it has ended, "
		       "wcprof recover saves what it recorded before";
	if (detached)
		return detached;
	return "it does not listen (WCPROF_CONTROL=off? WCPROF_DIR that is not of its user alone? "
	       "Or it changes its rights, and will a second after that)";
}

bool target_directory(char *path, size_t size)
{
	char socket[SOCKET_PATH_BYTES];

	if (!socket_path_of(0, socket))
		return false;
	*strrchr(socket, '/') = '\0';
	snprintf(path, size, "%s", socket);
	return true;
}

/* The name that it was started by, which a link or a script tells better than the file that runs.
 * The file's name if the other is only its beginning. */
static void name_by_process(struct target *target)
{
	char exe[sizeof(target->name)];
	struct procfs_status status;
	bool is_known = procfs_read(target->pid, &status);

	procfs_executable(target->pid, exe, sizeof(exe));
	if (is_known && strncmp(exe, status.name, strlen(status.name)) != 0)
		snprintf(target->name, sizeof(target->name), "%s", status.name);
	else
		snprintf(target->name, sizeof(target->name), "%s", exe);
}

/* Somebody must listen there; what an ended process left is no target. An arena may name any
 * socket. Then it `is_sure` that the process with that pid is meant, or nobody. */
static void add_socket(struct target_list *list, const char *path, pid_t pid_by_name, bool is_sure)
{
	struct target target = { 0 };
	struct target *known;
	pid_t pid = 0;
	int result = client_probe(path, &pid);

	if (result != 0 && (result != -EAGAIN || !procfs_lives(pid_by_name, 0)))
		return;
	if (is_sure && pid > 0 && pid != pid_by_name)
		return;
	target.is_silent = result != 0;
	target.pid = pid > 0 ? pid : pid_by_name;
	snprintf(target.socket, sizeof(target.socket), "%s", path);
	known = list_find_living(list, target.pid);
	if (known) {
		memcpy(known->socket, target.socket, sizeof(known->socket));
		known->is_silent = target.is_silent;
		return;
	}
	name_by_process(&target);
	target_list_add(list, &target);
}

/* Only a directory that nobody else can write to: else anybody could answer for a process. */
static bool directory_is_safe(const char *path)
{
	struct stat stat;

	return lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode) && (stat.st_mode & 022) == 0 &&
	       (geteuid() == 0 || stat.st_uid == geteuid());
}

static void add_sockets(struct target_list *list)
{
	char directory[SOCKET_PATH_BYTES], path[2 * SOCKET_PATH_BYTES + 256];
	const char *own = getenv("WCPROF_SOCKET");
	const struct dirent *entry;
	DIR *stream = NULL;

	if (own && *own)
		add_socket(list, own, 0, false);
	if (target_directory(directory, sizeof(directory)) && directory_is_safe(directory))
		stream = opendir(directory);
	while (stream && (entry = readdir(stream))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".sock") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		add_socket(list, path, (pid_t)atoi(entry->d_name), false);
	}
	if (stream)
		closedir(stream);
}

/* A process that listens anywhere, and is not in the list yet. */
static void add_if_reached(struct target_list *list, struct reach_table *table, pid_t pid)
{
	const struct target *known = list_find_living(list, pid);
	char path[REACH_PATH_BYTES];

	if (!(known && known->socket[0]) && reach_find(table, pid, path))
		add_socket(list, path, pid, false);
}

static void add_reached(struct target_list *list, pid_t only)
{
	struct reach_table table = { 0 };
	const struct dirent *entry;
	DIR *stream = only > 0 ? NULL : opendir("/proc");

	if (only > 0)
		add_if_reached(list, &table, only);
	while (stream && (entry = readdir(stream)))
		if (atoi(entry->d_name) > 0)
			add_if_reached(list, &table, (pid_t)atoi(entry->d_name));
	if (stream)
		closedir(stream);
	reach_table_free(&table);
}

/* --- Arenas ----------------------------------------------------------------------------------- */

static void describe_arena(struct target *target, struct remains *remains)
{
	uint32_t bytes;

	snprintf(target->name, sizeof(target->name), "%.63s",
		 strings_get(remains->arena, remains->arena->exe_name, &bytes));
	target->is_dead = remains_state(remains) == REMAINS_DEAD;
	target->is_confined = load_relaxed(&remains->arena->filtered_ticks) != 0;
	if (remains->pid > 0)
		target->pid = remains->pid;
}

/* A file that cannot be read may still be in use. One that was made and never used is a dead
 * process's. */
static void describe_unread(struct target *target, const struct remains_name *name, int result)
{
	struct procfs_owner owner = {
		.pid_namespace = remains_namespace(name->path),
		.pid = name->pid,
		.start_ticks = name->start_ticks,
		.path = name->path,
	};
	pid_t pid;

	if (lstat(name->path, &owner.file) != 0)
		owner.file = (struct stat){ .st_uid = geteuid() };
	pid = procfs_find(&owner);
	target->is_other_version = result == -EPROTO;
	target->is_damaged = result != -EPROTO && result != -EAGAIN;
	target->is_dead =
		pid == 0 || (pid > 0 && procfs_maps_file(pid, name->path, &owner.file) == 0);
	if (pid > 0)
		target->pid = pid;
}

static void add_arena(struct target_list *list, const struct remains_name *name)
{
	struct target target = { .pid = name->pid };
	char socket[SOCKET_PATH_BYTES] = "";
	struct target *added;
	struct remains remains;
	int result = remains_open(&remains, name->path);

	snprintf(target.arena, sizeof(target.arena), "%s", name->path);
	if (result == 0) {
		describe_arena(&target, &remains);
		memcpy(socket, remains.arena->socket, sizeof(socket));
		remains_close(&remains);
	} else if (result == -ENOENT || result == -EPERM) {
		return;
	} else {
		describe_unread(&target, name, result);
	}
	added = list_find_living(list, target.pid);
	if (added && !target.is_dead) {
		memcpy(added->arena, target.arena, sizeof(added->arena));
		added->is_confined = target.is_confined;
	} else {
		added = target_list_add(list, &target);
	}
	if (!target.is_dead && socket[0] && !added->socket[0])
		add_socket(list, socket, target.pid, true);
}

static int compare_targets(const void *a, const void *b)
{
	const struct target *left = a;
	const struct target *right = b;

	if (left->is_dead != right->is_dead)
		return left->is_dead ? 1 : -1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return strcmp(left->arena, right->arena);
}

void target_list_all(struct target_list *list, enum target_scope scope, pid_t only)
{
	pid_t own_pid = only > 0 ? procfs_own_pid(only) : 0;
	size_t count = 0;
	struct remains_name *names = NULL;

	*list = (struct target_list){ 0 };
	add_sockets(list);
	if (scope != TARGET_NEAR)
		add_reached(list, only);
	if (scope != TARGET_SOCKETS)
		names = remains_list(&count, scope == TARGET_ALL);
	for (size_t i = 0; i < count; i++)
		if (own_pid == 0 || names[i].pid == own_pid)
			add_arena(list, &names[i]);
	free(names);
	if (list->count > 0)
		qsort(list->targets, list->count, sizeof(*list->targets), compare_targets);
}

void target_list_add_silent(struct target_list *list)
{
	const struct dirent *entry;
	DIR *stream = opendir("/proc");

	while (stream && (entry = readdir(stream))) {
		struct target target = { .pid = (pid_t)atoi(entry->d_name), .is_silent = true };

		if (target.pid <= 0 || target.pid == getpid() ||
		    list_find_living(list, target.pid) || !advice_has_library(target.pid) ||
		    !procfs_lives(target.pid, 0))
			continue;
		name_by_process(&target);
		target_list_add(list, &target);
	}
	if (stream)
		closedir(stream);
	if (list->count > 0)
		qsort(list->targets, list->count, sizeof(*list->targets), compare_targets);
}

size_t target_count_others(void)
{
	size_t count, others = 0;
	struct remains_name *names = remains_list(&count, true);

	for (size_t i = 0; i < count; i++)
		others += !names[i].is_own;
	free(names);
	return others;
}
