/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control sockets by the processes that listen there. See reach.h.
 *
 * One thread: it becomes another user for the time of a connect().
 */
#include "reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "grow.h"
#include "procfs.h"

/* The recorder's thread has its listener among its first descriptors. */
enum { DESCRIPTORS_MOST = 16 };
/* __SO_ACCEPTCON of /proc/net/unix. */
enum { LISTENS = 0x10000 };

#define THREAD_NAME "wcprof\n"

struct reach_entry {
	unsigned long inode;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* --- The sockets of a network name space ------------------------------------------------------ */

static int compare_entries(const void *a, const void *b)
{
	const struct reach_entry *left = a;
	const struct reach_entry *right = b;

	return left->inode < right->inode ? -1 : left->inode > right->inode;
}

/* "NUMBER: REFERENCES PROTOCOL FLAGS TYPE STATE INODE PATH" */
static bool parse_entry(const char *line, struct reach_entry *entry)
{
	unsigned flags;
	int at = 0;

	if (sscanf(line, "%*s %*s %*s %x %*s %*s %lu %n", &flags, &entry->inode, &at) != 2 || !at ||
	    !(flags & LISTENS) || !line[at])
		return false;
	return (size_t)snprintf(entry->path, sizeof(entry->path), "%.*s",
				(int)strcspn(line + at, "\n"), line + at) < sizeof(entry->path);
}

static void table_read(struct reach_table *table, const char *path)
{
	FILE *stream = fopen(path, "re");
	size_t size = 0, room = 0;
	char *line = NULL;
	struct reach_entry entry;

	while (stream && getline(&line, &size, stream) > 0) {
		struct reach_entry *grown;

		if (!parse_entry(line, &entry))
			continue;
		grown = grow_for_one(table->entries, &room, table->count, sizeof(*grown));
		if (!grown)
			break;
		table->entries = grown;
		table->entries[table->count++] = entry;
	}
	if (table->count > 0)
		qsort(table->entries, table->count, sizeof(entry), compare_entries);
	free(line);
	if (stream)
		fclose(stream);
}

void reach_table_free(struct reach_table *table)
{
	free(table->entries);
	*table = (struct reach_table){ 0 };
}

/* The table of the thread's name space, kept for the next one that is in it. */
static void table_of(struct reach_table *table, const char *thread)
{
	char path[64];
	struct stat stat_of_space;

	snprintf(path, sizeof(path), "%s/ns/net", thread);
	if (stat(path, &stat_of_space) != 0)
		stat_of_space.st_ino = 0;
	if (table->space != 0 && table->space == stat_of_space.st_ino)
		return;
	reach_table_free(table);
	table->space = stat_of_space.st_ino;
	snprintf(path, sizeof(path), "%s/net/unix", thread);
	table_read(table, path);
}

/* The first of that inode: a path with a newline in it may make more of them. NULL: none. */
static const struct reach_entry *table_find(const struct reach_table *table, unsigned long inode)
{
	const struct reach_entry key = { .inode = inode };
	const struct reach_entry *found = NULL;

	if (table->count > 0)
		found = bsearch(&key, table->entries, table->count, sizeof(key), compare_entries);
	while (found && found > table->entries && found[-1].inode == inode)
		found--;
	return found;
}

/* --- The way there ---------------------------------------------------------------------------- */

struct way {
	int pid;
	char thread[40]; /* its directory */
	char from[5];    /* root, cwd, or net for an address without a file */
	const char *rest;
};

static bool parse_way(const char *path, struct way *way)
{
	int thread, at = 0;

	if (sscanf(path, "/proc/%d/task/%d/%4[a-z]/%n", &way->pid, &thread, way->from, &at) != 3 ||
	    at == 0)
		return false;
	snprintf(way->thread, sizeof(way->thread), "/proc/%d/task/%d", way->pid, thread);
	way->rest = path + at;
	return strcmp(way->from, "root") == 0 || strcmp(way->from, "cwd") == 0 ||
	       strcmp(way->from, "net") == 0;
}

pid_t reach_process(const char *path)
{
	struct way way;

	return parse_way(path, &way) ? (pid_t)way.pid : 0;
}

static bool is_same(const char *thread, const char *what, const char *own)
{
	char path[64];
	struct stat theirs, ours;

	snprintf(path, sizeof(path), "%s/%s", thread, what);
	return stat(path, &theirs) == 0 && stat(own, &ours) == 0 && theirs.st_dev == ours.st_dev &&
	       theirs.st_ino == ours.st_ino;
}

const char *reach_shown(const char *path)
{
	struct way way;

	if (!parse_way(path, &way) || strcmp(way.from, "root") != 0 ||
	    !is_same(way.thread, "root", "/") ||
	    !is_same(way.thread, "ns/mnt", "/proc/self/ns/mnt"))
		return path;
	return way.rest - 1;
}

/* Opens the file, not the socket; -EPERM: it is not the user's. */
static int open_socket_file(const struct way *way, uid_t *user)
{
	char from[64];
	struct stat stat;
	int fd;

	if (!procfs_user(way->thread, user))
		return -ESRCH;
	snprintf(from, sizeof(from), "%s/%s", way->thread, way->from);
	fd = procfs_open_inside(from, way->rest, O_PATH | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	if (fstat(fd, &stat) == 0 && S_ISSOCK(stat.st_mode) && stat.st_uid == *user)
		return fd;
	close(fd);
	return -EPERM;
}

/* Root as the user: in his user name space root may be nobody. */
static int connect_as(int fd, const struct sockaddr_un *address, size_t bytes, uid_t user)
{
	uid_t own = geteuid();
	bool is_other = own == 0 && user != own && seteuid(user) == 0;
	int result = connect(fd, (const struct sockaddr *)address, (socklen_t)bytes);

	result = result == 0 ? 0 : -errno;
	if (is_other && seteuid(own) != 0)
		abort();
	return result;
}

static int connect_to_file(int fd, const struct way *way)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uid_t user;
	int file = open_socket_file(way, &user), result;

	if (file < 0)
		return file;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file);
	result = connect_as(fd, &address, sizeof(address), user);
	close(file);
	return result;
}

static int connect_without_file(int fd, const struct way *way)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t bytes = strlen(way->rest);
	uid_t user;

	if (!procfs_user(way->thread, &user))
		return -ESRCH;
	if (bytes >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path + 1, way->rest, bytes);
	return connect_as(fd, &address, offsetof(struct sockaddr_un, sun_path) + 1 + bytes, user);
}

/* A socket belongs to the network name space in which it is made: the thread's. 0, or -errno.
 * leave_space() comes back. *own < 0: the space is ours anyway. */
static int enter_space(const struct way *way, int *own)
{
	char path[64];
	int other, result;

	*own = -1;
	if (is_same(way->thread, "ns/net", "/proc/self/ns/net"))
		return 0;
	snprintf(path, sizeof(path), "%s/ns/net", way->thread);
	other = open(path, O_RDONLY | O_CLOEXEC);
	*own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	result = other >= 0 && *own >= 0 && setns(other, CLONE_NEWNET) == 0 ? 0 : -errno;
	if (other >= 0)
		close(other);
	if (result != 0 && *own >= 0)
		close(*own);
	return result;
}

static void leave_space(int own)
{
	if (own < 0)
		return;
	if (setns(own, CLONE_NEWNET) != 0)
		abort();
	close(own);
}

int reach_socket(const char *path, int flags)
{
	struct way way;
	int own = -1, fd, result = 0;

	if (parse_way(path, &way) && strcmp(way.from, "net") == 0)
		result = enter_space(&way, &own);
	if (result != 0)
		return result;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	fd = fd < 0 ? -errno : fd;
	leave_space(own);
	return fd;
}

int reach_connect(int fd, const char *path)
{
	struct way way;

	if (!parse_way(path, &way))
		return -EINVAL;
	return strcmp(way.from, "net") == 0 ? connect_without_file(fd, &way)
					    : connect_to_file(fd, &way);
}

/* --- The thread of a process ------------------------------------------------------------------ */

/* The socket that this descriptor is; 0: none. */
static unsigned long socket_inode(int directory, const char *name)
{
	char text[64];
	unsigned long inode;
	ssize_t bytes = readlinkat(directory, name, text, sizeof(text) - 1);

	text[bytes > 0 ? bytes : 0] = '\0';
	return sscanf(text, "socket:[%lu]", &inode) == 1 ? inode : 0;
}

/* A path that is not from the root is from where the thread works. An address without a file
 * begins with @. */
static bool lead_to(const char *thread, const struct reach_entry *entry,
		    char path[REACH_PATH_BYTES])
{
	char first = entry->path[0];
	const char *from = first == '/' ? "root" : first == '@' ? "net" : "cwd";

	return (size_t)snprintf(path, REACH_PATH_BYTES, "%s/%s/%s", thread, from,
				entry->path + (first == '/' || first == '@')) < REACH_PATH_BYTES;
}

/* Whether it is the socket of the thread's user, as far as its file can tell. */
static bool is_usable(const char *path)
{
	struct way way;
	uid_t user;
	int file;

	if (!parse_way(path, &way))
		return false;
	if (strcmp(way.from, "net") == 0)
		return true;
	file = open_socket_file(&way, &user);
	if (file >= 0)
		close(file);
	return file >= 0;
}

/* Any of the paths that the table has for that inode. */
static bool find_path(const struct reach_table *table, const char *thread, unsigned long inode,
		      char path[REACH_PATH_BYTES])
{
	const struct reach_entry *end = table->entries + table->count;
	const struct reach_entry *entry = table_find(table, inode);

	for (; entry && entry < end && entry->inode == inode; entry++) {
		if (lead_to(thread, entry, path) && is_usable(path))
			return true;
	}
	return false;
}

static bool find_of_thread(struct reach_table *table, const char *thread,
			   char path[REACH_PATH_BYTES])
{
	char name[64];
	const struct dirent *entry;
	bool is_found = false;
	DIR *stream;

	snprintf(name, sizeof(name), "%s/fd", thread);
	stream = opendir(name);
	for (int i = 0; stream && !is_found && i < DESCRIPTORS_MOST; i++) {
		unsigned long inode;

		entry = readdir(stream);
		if (!entry)
			break;
		inode = socket_inode(dirfd(stream), entry->d_name);
		if (inode == 0)
			continue;
		table_of(table, thread);
		is_found = find_path(table, thread, inode, path);
	}
	if (stream)
		closedir(stream);
	return is_found;
}

/* Whether any thread of that name is one that is looked for. */
static bool any_thread(pid_t pid, struct reach_table *table, char path[REACH_PATH_BYTES])
{
	char name[64], thread[40], text[32];
	const struct dirent *entry;
	bool is_found = false;
	DIR *stream;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	stream = opendir(name);
	while (stream && !is_found && (entry = readdir(stream))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(thread, sizeof(thread), "/proc/%d/task/%d", (int)pid, atoi(entry->d_name));
		snprintf(name, sizeof(name), "%s/comm", thread);
		is_found = procfs_read_file(name, text, sizeof(text)) > 0 &&
			   strcmp(text, THREAD_NAME) == 0 &&
			   (!table || find_of_thread(table, thread, path));
	}
	if (stream)
		closedir(stream);
	return is_found;
}

bool reach_find(struct reach_table *table, pid_t pid, char path[REACH_PATH_BYTES])
{
	return any_thread(pid, table, path);
}

bool reach_has_thread(pid_t pid)
{
	return any_thread(pid, NULL, NULL);
}
