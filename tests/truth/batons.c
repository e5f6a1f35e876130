/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: what carries the baton is known, so that work_a and work_b add up (batons.h).
 *
 * Datagrams, streams, connections, counters, queues, and memory that both have. Not here: ways that
 * programs take seldom (batons_seldom.c), bytes that come in parts, which streams.c has, and locks
 * within a process.
 */
#include "batons.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

enum { MESSAGE_BYTES = 16 };

static struct sockaddr_storage names[SIDES];
static socklen_t name_bytes[SIDES];

/* --- datagrams --- */

static void udp_make(void)
{
	for (int i = 0; i < SIDES; i++) {
		struct sockaddr_in *name = (struct sockaddr_in *)&names[i];

		ends[i] = socket(AF_INET, SOCK_DGRAM, 0);
		*name = (struct sockaddr_in){ .sin_family = AF_INET,
					      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		name_bytes[i] = sizeof(*name);
		die_if(bind(ends[i], (struct sockaddr *)name, sizeof(*name)), "bind");
		die_if(getsockname(ends[i], (struct sockaddr *)name, &name_bytes[i]), "name");
	}
}

static void connected_make(void)
{
	udp_make();
	for (int i = 0; i < SIDES; i++)
		die_if(connect(ends[i], (struct sockaddr *)&names[!i], name_bytes[!i]), "connect");
}

static void dgram_make(void)
{
	static const char *const paths[] = { "baton-0", "baton-1" };

	for (int i = 0; i < SIDES; i++) {
		struct sockaddr_un *name = (struct sockaddr_un *)&names[i];

		ends[i] = socket(AF_UNIX, SOCK_DGRAM, 0);
		name->sun_family = AF_UNIX;
		snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "%s-%d", paths[i],
			 getpid());
		name_bytes[i] = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					    strlen(name->sun_path + 1));
		die_if(bind(ends[i], (struct sockaddr *)name, name_bytes[i]), "bind");
	}
}

static void pair_make(void)
{
	die_if(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), "socketpair");
}

static void seqpacket_make(void)
{
	die_if(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), "socketpair");
}

static void to_give(int side)
{
	char message[MESSAGE_BYTES] = { 0 };

	die_if(sendto(ends[side], message, sizeof(message), 0, (struct sockaddr *)&names[!side],
		      name_bytes[!side]) < 0,
	       "sendto");
}

static void from_take(int side)
{
	char message[MESSAGE_BYTES];
	struct sockaddr_storage from;
	socklen_t bytes = sizeof(from);

	die_if(recvfrom(ends[side], message, sizeof(message), 0, (struct sockaddr *)&from, &bytes) <
		       0,
	       "recvfrom");
}

static void send_give(int side)
{
	char message[MESSAGE_BYTES] = { 0 };

	die_if(send(ends[side], message, sizeof(message), 0) < 0, "send");
}

static void polled_take(int side)
{
	struct pollfd set = { ends[side], POLLIN, 0 };
	char message[MESSAGE_BYTES];

	die_if(poll(&set, 1, -1) != 1, "poll");
	die_if(recv(ends[side], message, sizeof(message), MSG_DONTWAIT) < 0, "recv");
}

static void read_take(int side)
{
	char message[MESSAGE_BYTES];

	die_if(read(ends[side], message, sizeof(message)) < 0, "read");
}

static void msg_give(int side)
{
	char message[MESSAGE_BYTES] = { 0 };
	struct iovec part = { message, sizeof(message) };
	struct msghdr header = { &names[!side], name_bytes[!side], &part, 1, NULL, 0, 0 };

	die_if(sendmsg(ends[side], &header, 0) < 0, "sendmsg");
}

static void msg_take(int side)
{
	char message[MESSAGE_BYTES];
	struct iovec part = { message, sizeof(message) };
	struct msghdr header = { NULL, 0, &part, 1, NULL, 0, 0 };

	die_if(recvmsg(ends[side], &header, 0) < 0, "recvmsg");
}

static void mmsg_give(int side)
{
	char message[MESSAGE_BYTES] = { 0 };
	struct iovec part = { message, sizeof(message) };
	struct mmsghdr header = { { &names[!side], name_bytes[!side], &part, 1, NULL, 0, 0 }, 0 };

	die_if(sendmmsg(ends[side], &header, 1, 0) != 1, "sendmmsg");
}

static void mmsg_take(int side)
{
	char message[MESSAGE_BYTES];
	struct iovec part = { message, sizeof(message) };
	struct mmsghdr headers[2] = { { { NULL, 0, &part, 1, NULL, 0, 0 }, 0 },
				      { { NULL, 0, &part, 1, NULL, 0, 0 }, 0 } };

	die_if(recvmmsg(ends[side], headers, 2, MSG_WAITFORONE, NULL) != 1, "recvmmsg");
}

/* --- streams --- */

static void tcp_make(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(name);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	die_if(bind(listener, (struct sockaddr *)&name, bytes), "bind");
	die_if(listen(listener, 1), "listen");
	die_if(getsockname(listener, (struct sockaddr *)&name, &bytes), "getsockname");
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	die_if(connect(ends[0], (struct sockaddr *)&name, bytes), "connect");
	ends[1] = accept(listener, NULL, NULL);
	for (int i = 0; i < SIDES; i++)
		setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* --- connections: each time a new one --- */

static int listeners[SIDES];

static void accept_make(void)
{
	for (int i = 0; i < SIDES; i++) {
		struct sockaddr_in *name = (struct sockaddr_in *)&names[i];

		listeners[i] = socket(AF_INET, SOCK_STREAM, 0);
		*name = (struct sockaddr_in){ .sin_family = AF_INET,
					      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		name_bytes[i] = sizeof(*name);
		die_if(bind(listeners[i], (struct sockaddr *)name, sizeof(*name)), "bind");
		die_if(listen(listeners[i], 5), "listen");
		die_if(getsockname(listeners[i], (struct sockaddr *)name, &name_bytes[i]), "name");
	}
}

static void unix_accept_make(void)
{
	for (int i = 0; i < SIDES; i++) {
		struct sockaddr_un *name = (struct sockaddr_un *)&names[i];

		listeners[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		name->sun_family = AF_UNIX;
		snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "baton-%d-%d", i,
			 getpid());
		name_bytes[i] = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					    strlen(name->sun_path + 1));
		die_if(bind(listeners[i], (struct sockaddr *)name, name_bytes[i]), "bind");
		die_if(listen(listeners[i], 5), "listen");
	}
}

static void connect_give(int side)
{
	int fd = socket(names[0].ss_family, SOCK_STREAM, 0);

	die_if(connect(fd, (struct sockaddr *)&names[!side], name_bytes[!side]), "connect");
	close(fd);
}

static void accept_take(int side)
{
	int fd = accept(listeners[side], NULL, NULL);

	die_if(fd < 0, "accept");
	close(fd);
}

static void accept_polled_take(int side)
{
	struct pollfd set = { listeners[side], POLLIN, 0 };

	die_if(poll(&set, 1, -1) != 1, "poll");
	accept_take(side);
}

/* --- counters and queues --- */

static void event_make(void)
{
	for (int i = 0; i < SIDES; i++)
		die_if((ends[i] = eventfd(0, 0)) < 0, "eventfd");
}

static void event_semaphore_make(void)
{
	for (int i = 0; i < SIDES; i++)
		die_if((ends[i] = eventfd(0, EFD_SEMAPHORE)) < 0, "eventfd");
}

static void event_give(int side)
{
	uint64_t one = 1;

	die_if(write(ends[!side], &one, sizeof(one)) != sizeof(one), "write");
}

/* Two at once: the counter gives both to one read, the semaphore one to each of two. */
static void event_two_give(int side)
{
	uint64_t two = 2;

	die_if(write(ends[!side], &two, sizeof(two)) != sizeof(two), "write");
}

static void event_take(int side)
{
	uint64_t value;

	die_if(read(ends[side], &value, sizeof(value)) != sizeof(value), "read");
}

static void event_two_take(int side)
{
	event_take(side);
	event_take(side);
}

static void event_polled_take(int side)
{
	struct pollfd set = { ends[side], POLLIN, 0 };

	die_if(poll(&set, 1, -1) != 1, "poll");
	event_take(side);
}

static void mq_make(void)
{
	struct mq_attr size = { .mq_maxmsg = 8, .mq_msgsize = MESSAGE_BYTES };
	char name[32];

	for (int i = 0; i < SIDES; i++) {
		snprintf(name, sizeof(name), "/baton-%d-%d", i, getpid());
		ends[i] = mq_open(name, O_RDWR | O_CREAT, 0600, &size);
		die_if(ends[i] < 0, "mq_open");
		mq_unlink(name);
	}
}

static void mq_give(int side)
{
	char message[MESSAGE_BYTES] = { 0 };

	die_if(mq_send(ends[!side], message, sizeof(message), 0), "mq_send");
}

static void mq_take(int side)
{
	char message[MESSAGE_BYTES];

	die_if(mq_receive(ends[side], message, sizeof(message), NULL) < 0, "mq_receive");
}

static void msgq_make(void)
{
	ends[0] = msgget(IPC_PRIVATE, 0600);
	die_if(ends[0] < 0, "msgget");
}

struct letter {
	long type;
	char text[MESSAGE_BYTES];
};

static void msgq_give(int side)
{
	struct letter letter = { .type = !side + 1 };

	die_if(msgsnd(ends[0], &letter, sizeof(letter.text), 0), "msgsnd");
}

static void msgq_take(int side)
{
	struct letter letter;

	die_if(msgrcv(ends[0], &letter, sizeof(letter.text), side + 1, 0) < 0, "msgrcv");
}

static void msgq_remove(void)
{
	msgctl(ends[0], IPC_RMID, NULL);
}

static void semop_make(void)
{
	ends[0] = semget(IPC_PRIVATE, SIDES, 0600);
	die_if(ends[0] < 0, "semget");
}

static void semop_by(int side, int by)
{
	struct sembuf operation = { (unsigned short)side, (short)by, 0 };

	die_if(semop(ends[0], &operation, 1), "semop");
}

static void semop_give(int side)
{
	semop_by(!side, 1);
}

static void semop_take(int side)
{
	semop_by(side, -1);
}

static void semop_remove(void)
{
	semctl(ends[0], 0, IPC_RMID);
}

/* --- memory that both have --- */

struct board {
	uint32_t words[SIDES];
	sem_t semaphores[SIDES];
	pthread_mutex_t mutex;
	pthread_cond_t conditions[SIDES];
};

static struct board *board;

static void board_make(void)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t condition;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	die_if(board == MAP_FAILED, "mmap");
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&board->mutex, &mutex);
	pthread_condattr_init(&condition);
	pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
	for (int i = 0; i < SIDES; i++) {
		sem_init(&board->semaphores[i], 1, 0);
		pthread_cond_init(&board->conditions[i], &condition);
	}
}

static void futex_give(int side)
{
	__atomic_store_n(&board->words[!side], 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &board->words[!side], FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void futex_take(int side)
{
	while (__atomic_load_n(&board->words[side], __ATOMIC_SEQ_CST) == 0)
		syscall(SYS_futex, &board->words[side], FUTEX_WAIT, 0, NULL, NULL, 0);
	__atomic_store_n(&board->words[side], 0, __ATOMIC_SEQ_CST);
}

static void sem_give(int side)
{
	sem_post(&board->semaphores[!side]);
}

static void sem_take(int side)
{
	while (sem_wait(&board->semaphores[side]))
		;
}

static void cond_give(int side)
{
	pthread_mutex_lock(&board->mutex);
	board->words[!side] = 1;
	pthread_cond_signal(&board->conditions[!side]);
	pthread_mutex_unlock(&board->mutex);
}

static void cond_take(int side)
{
	pthread_mutex_lock(&board->mutex);
	while (!board->words[side])
		pthread_cond_wait(&board->conditions[side], &board->mutex);
	board->words[side] = 0;
	pthread_mutex_unlock(&board->mutex);
}

/* --- all --- */

static const struct way ways[] = {
	{ "udp", udp_make, to_give, from_take, NULL },
	{ "connected", connected_make, send_give, read_take, NULL },
	{ "polled", udp_make, to_give, polled_take, NULL },
	{ "msg", udp_make, msg_give, msg_take, NULL },
	{ "mmsg", udp_make, mmsg_give, mmsg_take, NULL },
	{ "dgram", dgram_make, to_give, from_take, NULL },
	{ "pair", pair_make, send_give, read_take, NULL },
	{ "seqpacket", seqpacket_make, send_give, polled_take, NULL },
	{ "tcp", tcp_make, send_give, read_take, NULL },
	{ "accept", accept_make, connect_give, accept_take, NULL },
	{ "accept-polled", accept_make, connect_give, accept_polled_take, NULL },
	{ "accept-unix", unix_accept_make, connect_give, accept_take, NULL },
	{ "event", event_make, event_give, event_take, NULL },
	{ "event-two", event_make, event_two_give, event_take, NULL },
	{ "event-polled", event_make, event_give, event_polled_take, NULL },
	{ "event-semaphore", event_semaphore_make, event_two_give, event_two_take, NULL },
	{ "mq", mq_make, mq_give, mq_take, NULL },
	{ "msgq", msgq_make, msgq_give, msgq_take, msgq_remove },
	{ "semop", semop_make, semop_give, semop_take, semop_remove },
	{ "futex", board_make, futex_give, futex_take, NULL },
	{ "sem", board_make, sem_give, sem_take, NULL },
	{ "cond", board_make, cond_give, cond_take, NULL },
};

int main(int argc, char **argv)
{
	return batons_main(argc, argv, ways, sizeof(ways) / sizeof(ways[0]));
}
