/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: of jobs in one queue, whoever of a crew is free takes the next; every seventh is slow
 * (work_b), the others are not (work_a). The one who hands them out needs work_c for each. Behind a
 * lock of files or of System V work_a adds up, and work_b outside of it is hidden.
 *
 * A crew has threads, or with T_P=1 processes. Jobs come as datagrams, as connections, or as
 * messages of a queue; a job below 0 ends who takes it. Not here: queues in memory, which
 * conditions.c has.
 */
#include "truth.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { CREW = 4, SLOW_JOB_EVERY = 7, SHARING = 3 };

static int source;
static struct sockaddr_in name = { .sin_family = AF_INET };
static socklen_t name_bytes = sizeof(name);
static char path[64];

static long die_if(long failed, const char *call)
{
	if (failed)
		die(strerror(errno), call);
	return 0;
}

/* --- jobs --- */

static void listen_at(int type)
{
	source = socket(AF_INET, type, 0);
	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	die_if(bind(source, (struct sockaddr *)&name, name_bytes), "bind");
	if (type == SOCK_STREAM)
		die_if(listen(source, 128), "listen");
	die_if(getsockname(source, (struct sockaddr *)&name, &name_bytes), "getsockname");
}

static void udp_make(void)
{
	listen_at(SOCK_DGRAM);
}

static void udp_hand_out(int job)
{
	static int from = -1;

	if (from < 0)
		from = socket(AF_INET, SOCK_DGRAM, 0);
	die_if(sendto(from, &job, sizeof(job), 0, (struct sockaddr *)&name, name_bytes) < 0,
	       "sendto");
}

static int udp_take(void)
{
	int job;

	die_if(recvfrom(source, &job, sizeof(job), 0, NULL, NULL) != sizeof(job), "recvfrom");
	return job;
}

static void accept_make(void)
{
	listen_at(SOCK_STREAM);
}

static void accept_hand_out(int job)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	die_if(connect(fd, (struct sockaddr *)&name, name_bytes), "connect");
	die_if(write(fd, &job, sizeof(job)) != sizeof(job), "write");
	close(fd);
}

static int accept_take(void)
{
	int job, fd = accept(source, NULL, NULL);

	die_if(fd < 0, "accept");
	die_if(read(fd, &job, sizeof(job)) != sizeof(job), "read");
	close(fd);
	return job;
}

/* All wake up for each connection, and all but one come too late. */
static void herd_make(void)
{
	listen_at(SOCK_STREAM);
	die_if(fcntl(source, F_SETFL, O_NONBLOCK), "fcntl");
}

static int herd_take(void)
{
	struct pollfd set = { source, POLLIN, 0 };
	int job, fd;

	do {
		die_if(poll(&set, 1, -1) != 1, "poll");
		fd = accept4(source, NULL, NULL, 0);
	} while (fd < 0);
	die_if(read(fd, &job, sizeof(job)) != sizeof(job), "read");
	close(fd);
	return job;
}

static void mq_make(void)
{
	struct mq_attr size = { .mq_maxmsg = 10, .mq_msgsize = sizeof(int) };

	snprintf(path, sizeof(path), "/crew-%d", getpid());
	source = mq_open(path, O_RDWR | O_CREAT, 0600, &size);
	die_if(source < 0, "mq_open");
	mq_unlink(path);
	path[0] = '\0';
}

static void mq_hand_out(int job)
{
	die_if(mq_send(source, (const char *)&job, sizeof(job), 0), "mq_send");
}

static int mq_take(void)
{
	int job;

	die_if(mq_receive(source, (char *)&job, sizeof(job), NULL) < 0, "mq_receive");
	return job;
}

/* --- locks --- */

static void file_make(void)
{
	snprintf(path, sizeof(path), "/tmp/crew-%d", getpid());
	close(open(path, O_CREAT | O_RDWR, 0600));
}

/* An open file of its own for each: locks of one are no obstacle for itself. */
static int own_file(void)
{
	static __thread int fd = -1;

	if (fd < 0)
		fd = open(path, O_RDWR);
	return fd;
}

static void flock_lock(void)
{
	die_if(flock(own_file(), LOCK_EX), "flock");
}

static void flock_unlock(void)
{
	die_if(flock(own_file(), LOCK_UN), "flock");
}

static void range_lock(int command, short type)
{
	struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };

	die_if(fcntl(own_file(), command, &range), "fcntl");
}

static void fcntl_lock(void)
{
	range_lock(F_SETLKW, F_WRLCK);
}

static void fcntl_unlock(void)
{
	range_lock(F_SETLK, F_UNLCK);
}

static void ofd_lock(void)
{
	range_lock(F_OFD_SETLKW, F_WRLCK);
}

static void ofd_unlock(void)
{
	range_lock(F_OFD_SETLK, F_UNLCK);
}

static void lockf_lock(void)
{
	die_if(lockf(own_file(), F_LOCK, 0), "lockf");
}

static void lockf_unlock(void)
{
	die_if(lockf(own_file(), F_ULOCK, 0), "lockf");
}

static void semop_make(void)
{
	source = semget(IPC_PRIVATE, 1, 0600);
	die_if(source < 0 || semctl(source, 0, SETVAL, 1), "semget");
}

static void semop_by(short by)
{
	struct sembuf operation = { 0, by, SEM_UNDO };

	die_if(semop(source, &operation, 1), "semop");
}

static void semop_lock(void)
{
	semop_by(-1);
}

static void semop_unlock(void)
{
	semop_by(1);
}

/* --- all --- */

static const struct way {
	const char *name;
	void (*make)(void);
	void (*hand_out)(int job);
	int (*take)(void);
	void (*lock)(void);
	void (*unlock)(void);
} ways[] = {
	{ "udp", udp_make, udp_hand_out, udp_take, NULL, NULL },
	{ "accept", accept_make, accept_hand_out, accept_take, NULL, NULL },
	{ "herd", herd_make, accept_hand_out, herd_take, NULL, NULL },
	{ "mq", mq_make, mq_hand_out, mq_take, NULL, NULL },
	{ "flock", file_make, NULL, NULL, flock_lock, flock_unlock },
	{ "fcntl", file_make, NULL, NULL, fcntl_lock, fcntl_unlock },
	{ "ofd", file_make, NULL, NULL, ofd_lock, ofd_unlock },
	{ "lockf", file_make, NULL, NULL, lockf_lock, lockf_unlock },
	{ "semop", semop_make, NULL, NULL, semop_lock, semop_unlock },
};

static const struct way *way;

static void take_jobs(void)
{
	for (int job = way->take(); job >= 0; job = way->take()) {
		if (job % SLOW_JOB_EVERY == 3)
			work_b();
		else
			work_a();
	}
}

static void take_locks(void)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		way->lock();
		work_a();
		way->unlock();
		work_b();
	}
}

static void *member(void *unused UNUSED)
{
	if (way->take)
		take_jobs();
	else
		take_locks();
	return NULL;
}

static void gather(int count)
{
	for (int i = 0; i < count; i++) {
		if (!count_of("T_P")) {
			start(member, 0);
			continue;
		}
		pid_t child = fork();

		die_if(child < 0, "fork");
		if (child == 0) {
			member(NULL);
			exit(0);
		}
	}
}

static void run(void)
{
	int count = way->take ? CREW : SHARING;

	way->make();
	gather(count);
	for (int job = 0; way->take && job < count_of("T_N"); job++) {
		work_c();
		way->hand_out(job);
	}
	for (int i = 0; way->take && i < count; i++)
		way->hand_out(-1);
	join_all();
	for (int i = 0; i < count && count_of("T_P"); i++)
		die_if(wait(NULL) < 0, "wait");
	if (path[0])
		unlink(path);
	if (way->make == semop_make)
		semctl(source, 0, IPC_RMID);
}

/* --- a server --- */

/* Expected: T_M clients queue behind T_W workers. Each of these accepts, answers after work_a and
 * accepts again. The listener's end is theirs. */
static void *serve_worker(void *unused UNUSED)
{
	int job, fd;

	while ((fd = accept(source, NULL, NULL)) >= 0) {
		die_if(read(fd, &job, sizeof(job)) != sizeof(job), "read");
		work_a();
		die_if(write(fd, &job, sizeof(job)) != sizeof(job), "write");
		close(fd);
	}
	return NULL;
}

static void *serve_client(void *unused UNUSED)
{
	for (int job = 0; job < count_of("T_N"); job++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		die_if(connect(fd, (struct sockaddr *)&name, name_bytes), "connect");
		die_if(write(fd, &job, sizeof(job)) != sizeof(job), "write");
		die_if(read(fd, &job, sizeof(job)) != sizeof(job), "read");
		close(fd);
		work_c();
	}
	return NULL;
}

static void serve(void)
{
	pthread_t clients[64];
	long count = count_of("T_M");

	listen_at(SOCK_STREAM);
	for (long i = 0; i < count_of("T_W"); i++)
		start(serve_worker, 0);
	for (long i = 0; i < count; i++)
		die_if(pthread_create(&clients[i], NULL, serve_client, NULL), "pthread_create");
	for (long i = 0; i < count; i++)
		pthread_join(clients[i], NULL);
	shutdown(source, SHUT_RDWR);
	join_all();
}

int main(int argc, char **argv)
{
	enum { WAYS = sizeof(ways) / sizeof(ways[0]) };
	struct pattern patterns[WAYS + 2] = { [WAYS] = { "serve", serve } };

	for (size_t i = 0; i < WAYS; i++) {
		patterns[i] = (struct pattern){ ways[i].name, run };
		if (argc > 1 && !strcmp(ways[i].name, argv[1]))
			way = &ways[i];
	}
	return truth_main(argc, argv, patterns);
}
