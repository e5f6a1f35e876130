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
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

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
	    !(flags & LISTENS) || !line[at] || line[at] == '@')
		return false;
	return (size_t)snprintf(entry->path, sizeof(entry->path), "%.*s",
				(int)strcspn(line + at, "\n"), line + at) < sizeof(entry->path);
}

static void table_read(struct reach_table *table, const char *path)
{
	FILE *stream = fopen(path, "re");
	size_t size = 0;
	char *line = NULL;
	struct reach_entry entry;

	while (stream && getline(&line, &size, stream) > 0) {
		struct reach_entry *grown;

		if (!parse_entry(line, &entry))
			continue;
		if ((table->count & (table->count + 1)) == 0) {
			grown = realloc(table->entries, 2 * (table->count + 1) * sizeof(*grown));
			if (!grown)
				break;
			table->entries = grown;
		}
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
	int thread;
	bool is_from_root; /* else from where the thread works */
	const char *rest;
};

static bool parse_way(const char *path, struct way *way)
{
	char from[5] = "";
	int at = 0;

	if (sscanf(path, "/proc/%d/task/%d/%4[a-z]/%n", &way->pid, &way->thread, from, &at) != 3 ||
	    at == 0)
		return false;
	way->is_from_root = strcmp(from, "root") == 0;
	way->rest = path + at;
	return way->is_from_root || strcmp(from, "cwd") == 0;
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
	char thread[40];
	struct way way;

	if (!parse_way(path, &way) || !way.is_from_root)
		return path;
	snprintf(thread, sizeof(thread), "/proc/%d/task/%d", way.pid, way.thread);
	if (!is_same(thread, "root", "/") || !is_same(thread, "ns/mnt", "/proc/self/ns/mnt"))
		return path;
	return way.rest - 1;
}

/* Opens the file, not the socket. */
static int open_socket_file(const char *path, uid_t *user)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char thread[40], from[64];
	struct way way;
	struct stat stat;
	int base, fd;

	if (!parse_way(path, &way))
		return -EINVAL;
	snprintf(thread, sizeof(thread), "/proc/%d/task/%d", way.pid, way.thread);
	snprintf(from, sizeof(from), "%s/%s", thread, way.is_from_root ? "root" : "cwd");
	if (!procfs_user(thread, user))
		return -ESRCH;
	base = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (base < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, base, way.rest, &how, sizeof(how));
	fd = fd < 0 ? -errno : fd;
	close(base);
	if (fd < 0)
		return fd;
	if (fstat(fd, &stat) == 0 && S_ISSOCK(stat.st_mode) && stat.st_uid == *user)
		return fd;
	close(fd);
	return -EPERM;
}

int reach_connect(int fd, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uid_t user, own = geteuid();
	int file = open_socket_file(path, &user);
	bool is_other;
	int result;

	if (file < 0)
		return file;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file);
	is_other = own == 0 && user != own && seteuid(user) == 0;
	result = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : -errno;
	if (is_other && seteuid(own) != 0)
		abort();
	close(file);
	return result;
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

/* A path that is not from the root is from where the thread works. */
static bool lead_to(const char *thread, const struct reach_entry *entry,
		    char path[REACH_PATH_BYTES])
{
	bool is_absolute = entry->path[0] == '/';

	return (size_t)snprintf(path, REACH_PATH_BYTES, "%s/%s/%s", thread,
				is_absolute ? "root" : "cwd",
				entry->path + is_absolute) < REACH_PATH_BYTES;
}

/* Any of the paths that the table has for that inode. */
static bool find_path(const struct reach_table *table, const char *thread, unsigned long inode,
		      char path[REACH_PATH_BYTES])
{
	const struct reach_entry *end = table->entries + table->count;
	const struct reach_entry *entry = table_find(table, inode);

	for (; entry && entry < end && entry->inode == inode; entry++) {
		uid_t user;
		int fd = lead_to(thread, entry, path) ? open_socket_file(path, &user) : -1;

		if (fd < 0)
			continue;
		close(fd);
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

bool reach_find(struct reach_table *table, pid_t pid, char path[REACH_PATH_BYTES])
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
			   strcmp(text, THREAD_NAME) == 0 && find_of_thread(table, thread, path);
	}
	if (stream)
		closedir(stream);
	return is_found;
}
