/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps of the last seconds; top_dump.h has the contract.
 */
#include "top_dump.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "cmd.h"
#include "output.h"

#define MS_NS UINT64_C(1000000)
enum { COPY_BYTES = 65536 };

void top_directory_begin(char directory[TOP_DIRECTORY_BYTES])
{
	const char *parent = getenv("TMPDIR");

	if (!parent || strlen(parent) > TOP_DIRECTORY_BYTES - sizeof("/wcprof-top-XXXXXX"))
		parent = "/tmp";
	snprintf(directory, TOP_DIRECTORY_BYTES, "%s/wcprof-top-XXXXXX", parent);
	if (!mkdtemp(directory))
		directory[0] = '\0';
}

void top_directory_end(const char *directory)
{
	if (directory[0])
		cmd_remove_directory(directory);
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
