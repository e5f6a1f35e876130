/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps of the last seconds; top_dump.h has the contract.
 */
#include "top_dump.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "cmd.h"
#include "output.h"

#define MS_NS UINT64_C(1000000)
enum { COPY_BYTES = 65536, TRIES = 8 };
#define NAME_BEGIN "wcprof-top-"
#define NAME_END   "XXXXXX"

/* The directory, with a lock; -1: it is another's, in use, or gone. */
static int lock_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat opened, present;

	if (fd >= 0 && fstat(fd, &opened) == 0 && opened.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0 && lstat(path, &present) == 0 &&
	    present.st_ino == opened.st_ino)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void remove_left(const char *parent)
{
	DIR *stream = opendir(parent);
	const struct dirent *entry;
	char path[TOP_DIRECTORY_BYTES];

	while (stream && (entry = readdir(stream))) {
		size_t length = strlen(entry->d_name);

		if (strncmp(entry->d_name, NAME_BEGIN, strlen(NAME_BEGIN)) != 0 ||
		    length != strlen(NAME_BEGIN) + strlen(NAME_END))
			continue;
		snprintf(path, sizeof(path), "%s/%.*s", parent, (int)length, entry->d_name);
		int fd = lock_directory(path);

		if (fd < 0)
			continue;
		cmd_remove_directory(path);
		close(fd);
	}
	if (stream)
		closedir(stream);
}

/* Another command may find it in the moment without a lock, and remove it: so there is more than
 * one try. */
void top_directory_begin(struct top_directory *directory)
{
	const char *parent = getenv("TMPDIR");

	if (!parent || !parent[0] ||
	    strlen(parent) > TOP_DIRECTORY_BYTES - sizeof("/" NAME_BEGIN NAME_END))
		parent = "/tmp";
	remove_left(parent);
	directory->fd = -1;
	for (int tries = 0; directory->fd < 0 && tries < TRIES; tries++) {
		snprintf(directory->path, TOP_DIRECTORY_BYTES, "%s/" NAME_BEGIN NAME_END, parent);
		if (!mkdtemp(directory->path))
			break;
		directory->fd = lock_directory(directory->path);
	}
	if (directory->fd < 0)
		directory->path[0] = '\0';
}

void top_directory_end(struct top_directory *directory)
{
	if (!directory->path[0])
		return;
	cmd_remove_directory(directory->path);
	close(directory->fd);
	directory->path[0] = '\0';
}

int top_dump_write(const char *path, const char *socket, uint64_t last_ns)
{
	int error = 0, closed;
	struct output *output = output_open(path, &error);

	if (!output)
		return error;
	output_begin(output);
	error = client_dump_last(socket, last_ns / MS_NS, output_write, output);
	(void)output_settle(output, error);
	closed = output_close(output);
	return error ? error : closed;
}

void top_dump_begin(struct top_dump *dump, const char *directory, const char *socket,
		    uint64_t last_ns)
{
	*dump = (struct top_dump){ .error = -ENOENT };
	if (!directory[0])
		return;
	snprintf(dump->path, sizeof(dump->path), "%s/frozen.jsonl", directory);
	dump->child = fork();
	if (dump->child == 0)
		_exit(-top_dump_write(dump->path, socket, last_ns) & 0xff);
	if (dump->child < 0)
		*dump = (struct top_dump){ .error = -EAGAIN };
}

static void take_end(struct top_dump *dump, int status)
{
	dump->child = 0;
	dump->error = WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

bool top_dump_is_done(struct top_dump *dump)
{
	int status;

	if (dump->child > 0 && waitpid(dump->child, &status, WNOHANG) == dump->child)
		take_end(dump, status);
	return dump->child == 0;
}

void top_dump_end(struct top_dump *dump)
{
	if (dump->child > 0) {
		kill(dump->child, SIGKILL);
		waitpid(dump->child, NULL, 0);
	}
	if (dump->path[0])
		unlink(dump->path);
	*dump = (struct top_dump){ .child = 0 };
}

int top_dump_copy(const struct top_dump *dump, const char *path)
{
	int error = dump->error, closed;
	FILE *from = error == 0 ? fopen(dump->path, "re") : NULL;
	struct output *output = from ? output_open(path, &error) : NULL;
	char *buffer = malloc(COPY_BYTES);
	size_t got = 1;

	if (output)
		output_begin(output);
	while (output && buffer && error == 0 && got > 0) {
		got = fread(buffer, 1, COPY_BYTES, from);
		error = output_write(output, buffer, got);
	}
	if (output) {
		(void)output_settle(output, error);
		closed = output_close(output);
		error = error ? error : closed;
	}
	if (from)
		fclose(from);
	free(buffer);
	return error == 0 && !output ? -EIO : error;
}
