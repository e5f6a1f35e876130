/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks on files: from fcntl(), flock() and lockf(), tried, waited for, and had by another process.
 */
#include "scenario.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static int make_file(char path[])
{
	int fd = mkstemp(path);

	(void)!ftruncate(fd, 100);
	return fd;
}

/* Each kind of lock, by each kind of call. */
static void alone(void)
{
	char path[] = "/tmp/wcprof-target-XXXXXX";
	int fd = make_file(path);
	struct flock lock = { .l_type = F_WRLCK, .l_start = 10, .l_len = 5 };

	say_errno("try", fcntl(fd, F_SETLK, &lock));
	lock.l_type = F_RDLCK;
	say_errno("to read", fcntl(fd, F_SETLKW, &lock));
	lock.l_type = F_UNLCK;
	say_errno("unlock", fcntl(fd, F_SETLK, &lock));
	lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_END, .l_start = -20 };
	say_errno("from the end", fcntl(fd, F_OFD_SETLK, &lock));
	lock.l_whence = 9;
	say_errno("no place", fcntl(fd, F_SETLK, &lock));
	say_errno("get", fcntl(fd, F_GETLK, &lock));
	say_errno("no descriptor", fcntl(-1, F_SETLK, &lock));
	lseek(fd, 30, SEEK_SET);
	say_errno("lockf", lockf(fd, F_TLOCK, -10));
	say_errno("lockf", lockf(fd, F_ULOCK, -10));
	printf("place %d\n", (int)lseek(fd, 0, SEEK_CUR));
	say_errno("flock", flock(fd, LOCK_SH));
	say_errno("flock", flock(fd, LOCK_EX | LOCK_NB));
	say_errno("flock", flock(fd, LOCK_UN));
	say_errno("flock", flock(fd, 0));
	close(fd);
	unlink(path);
}

/* A child has the lock: a try is in vain, and a call waits until the child ends. */
static void taken(void)
{
	char path[] = "/tmp/wcprof-target-XXXXXX";
	int fd = make_file(path), ready[2], go[2];
	struct flock lock = { .l_type = F_WRLCK };
	char byte = 0;

	(void)!(pipe(ready) + pipe(go));
	pid_t child = fork();
	if (!child) {
		(void)!write(ready[1], &byte, 0);
		fcntl(fd, F_SETLK, &lock);
		(void)!write(ready[1], &byte, 1);
		(void)!read(go[0], &byte, 1);
		_exit(0);
	}
	(void)!read(ready[0], &byte, 1);
	say_errno("in vain", fcntl(fd, F_SETLK, &lock));
	(void)!write(go[1], &byte, 1);
	say_errno("waited", fcntl(fd, F_SETLKW, &lock));
	waitpid(child, NULL, 0);
	close(fd);
	unlink(path);
}

static const struct scenario scenarios[] = {
	{ "alone", alone },
	{ "taken", taken },
};

SCENARIOS_MAIN
