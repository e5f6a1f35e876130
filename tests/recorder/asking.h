/* SPDX-License-Identifier: Apache-2.0 */
/* A recorder with its control thread, and clients of its socket, for the tests of control.c. */
#ifndef WCPROF_TESTS_ASKING_H
#define WCPROF_TESTS_ASKING_H

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "recording.h"
#include "socket.h"

static char directory[64], path[108];

static inline void pause_ms(long ms)
{
	struct timespec time = { 0, ms * 1000000 };

	nanosleep(&time, NULL);
}

static inline int connect_once(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

static inline void setup(void)
{
	snprintf(directory, sizeof(directory), "/tmp/wcprof-test-%d", getpid());
	snprintf(path, sizeof(path), "%s/%d.sock", directory, getpid());
	setenv("WCPROF_DIR", directory, 1);
	setenv("WCPROF_CONTROL", "on", 1);
	signal(SIGPIPE, SIG_IGN);
	recording_begin();
}

static inline void teardown(void)
{
	recording_end();
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_int_eq(rmdir(directory), 0);
}

/* The thread may still be on its way to the socket. */
static inline int connect_to_recorder(void)
{
	int fd = connect_once();

	while (fd < 0) {
		pause_ms(1);
		fd = connect_once();
	}
	return fd;
}

static inline void send_text(int fd, const char *text, size_t bytes)
{
	ck_assert_int_eq(send(fd, text, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
}

/* Up to the end of a line, or of the file. */
static inline char *read_line(int fd)
{
	static char line[8192];
	size_t used = 0;

	while (used < sizeof(line) - 1 && read(fd, line + used, 1) == 1)
		if (line[used++] == '\n')
			break;
	line[used] = '\0';
	return line;
}

static inline json_t *read_dump(int fd)
{
	char *all = NULL;
	size_t bytes = 0;
	ssize_t got;
	json_t *lines;

	do {
		all = realloc(all, bytes + 65536);
		got = read(fd, all + bytes, 65536);
		bytes += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	lines = recording_parse(all, bytes);
	free(all);
	close(fd);
	return lines;
}

static inline json_t *ask_dump(const char *line)
{
	int fd = connect_to_recorder();

	send_text(fd, line, strlen(line));
	return read_dump(fd);
}

#endif
