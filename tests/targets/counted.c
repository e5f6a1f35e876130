/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of threads that read /dev/zero and count, in a file, the reads that have returned. */
/*
 * counted FILE PROCESSES THREADS ENDING MICROSECONDS
 *
 * Each thread reads by a descriptor of its own and adds one to its count after each read. So
 * whoever ends it at any moment knows a lower bound of its reads. The parent is one of the
 * processes. After so long each process ends itself: kill, segv, abort, exit, _exit or exec (of
 * true). With "memory" it takes all there is; with "never" it waits to be killed from outside.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES_MAX = 16, THREADS_MAX = 16 };

struct count {
	_Atomic uint64_t reads;
	int32_t pid;
	int32_t fd;
};

static struct count (*counts)[THREADS_MAX];

static void *count_reads(void *argument)
{
	struct count *count = argument;
	char byte;

	count->pid = getpid();
	count->fd = open("/dev/zero", O_RDONLY);
	for (;;) {
		if (read(count->fd, &byte, 1) != 1)
			abort();
		count->reads++;
	}
	return NULL;
}

static void take_all_memory(void)
{
	enum { PIECE_BYTES = 1 << 20 };

	for (;;) {
		char *piece = malloc(PIECE_BYTES);

		if (piece)
			memset(piece, 1, PIECE_BYTES);
	}
}

static void end(const char *ending)
{
	static volatile int *volatile nowhere;

	if (strcmp(ending, "kill") == 0)
		kill(getpid(), SIGKILL);
	else if (strcmp(ending, "segv") == 0)
		*nowhere = 1;
	else if (strcmp(ending, "abort") == 0)
		abort();
	else if (strcmp(ending, "memory") == 0)
		take_all_memory();
	else if (strcmp(ending, "exit") == 0)
		exit(0);
	else if (strcmp(ending, "_exit") == 0)
		_exit(0);
	else if (strcmp(ending, "exec") == 0)
		execlp("true", "true", (char *)NULL);
	for (;;)
		pause();
}

static struct count (*share(const char *path))[THREADS_MAX]
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	size_t bytes = sizeof(struct count) * PROCESSES_MAX * THREADS_MAX;
	void *mapping = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return mapping == MAP_FAILED ? NULL : mapping;
}

int main(int argc, char **argv)
{
	int processes = argc > 5 ? atoi(argv[2]) : 0;
	int threads = argc > 5 ? atoi(argv[3]) : 0;
	long wait_us = argc > 5 ? atol(argv[5]) : 0;
	struct timespec wait = { wait_us / 1000000, wait_us % 1000000 * 1000 };
	pthread_t thread;
	int mine = 0;

	if (processes < 1 || processes > PROCESSES_MAX || threads < 1 || threads > THREADS_MAX ||
	    !(counts = share(argv[1]))) {
		fprintf(stderr, "usage: %s FILE PROCESSES THREADS ENDING MICROSECONDS\n", argv[0]);
		return 2;
	}
	for (int i = 1; i < processes && mine == 0; i++)
		if (fork() == 0)
			mine = i;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, count_reads, &counts[mine][i]) != 0)
			return 1;
	nanosleep(&wait, NULL);
	end(argv[4]);
	return 0;
}
