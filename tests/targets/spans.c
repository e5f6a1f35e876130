/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: a client and a server, two programs, that work for traces. Request n is of trace
 * aa0n...01. The client is in span c00n then, the server in span 5e0n. Both publish OpenTelemetry's
 * record for threads. Before the server answers request 3 it waits for a lock that another thread
 * has. Prints how many answers came.
 *
 * `spans` is the client, and starts the server.
 */
#include "scenario.h"

#include <netinet/in.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { REQUESTS = 8, SLOW = 3, WORK_NS = 500000, HELD_NS = 10000000, CLIENT = 0xc0, SERVER = 0x5e };

struct published {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t valid;
	uint8_t flags;
	uint16_t attribute_bytes;
} __attribute__((packed, aligned(2)));

__attribute__((visibility("default"))) extern __thread struct published *otel_thread_ctx_v1;
__thread struct published *otel_thread_ctx_v1;

struct message {
	uint8_t trace_id[16];
	uint8_t number;
};

pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_asked;
static int is_held[2]; /* a pipe */
static pid_t server;

/* OpenTelemetry's process context: a header, and behind it a message with the service's name. */
static void publish_service(const char *name)
{
	struct {
		char signature[8];
		uint32_t version, bytes;
		uint64_t published_ns, message;
	} * header;
	size_t length = strlen(name), room = 4096;
	int fd = memfd_create("OTEL_CTX", 0);
	if (ftruncate(fd, (off_t)room))
		exit(1);
	header = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	char *message = (char *)(header + 1);
	header->bytes = (uint32_t)sprintf(message, "\x0a%c\x0a%c\x0a\x0cservice.name\x12%c\x0a%c%s",
					  (int)length + 20, (int)length + 18, (int)length + 2,
					  (int)length, name);
	header->message = (uint64_t)(uintptr_t)message;
	header->version = 2;
	header->published_ns = 1;
	madvise(header, room, MADV_DONTFORK);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(header->signature, "OTEL_CTX", sizeof(header->signature));
}

static void begin_span(const uint8_t *trace_id, uint8_t kind, uint8_t number)
{
	static __thread struct published record;
	record.valid = 0;
	memcpy(record.trace_id, trace_id, sizeof(record.trace_id));
	record.span_id[0] = kind;
	record.span_id[1] = number;
	record.valid = 1;
	otel_thread_ctx_v1 = &record;
}

static void end_span(void)
{
	otel_thread_ctx_v1 = NULL;
}

static void rest(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void *hold_table(void *unused)
{
	sem_wait(&is_asked);
	pthread_mutex_lock(&table_lock);
	if (write(is_held[1], "", 1) != 1)
		exit(1);
	until_in_call(server, SYS_futex);
	rest(HELD_NS);
	pthread_mutex_unlock(&table_lock);
	return unused;
}

static void answer(int connection, const struct message *question)
{
	if (question->number == SLOW) {
		char byte;
		sem_post(&is_asked);
		if (read(is_held[0], &byte, 1) != 1)
			exit(1);
	}
	pthread_mutex_lock(&table_lock);
	rest(WORK_NS);
	pthread_mutex_unlock(&table_lock);
	if (write(connection, question, sizeof(*question)) < 0)
		exit(1);
}

static int serve(int listener)
{
	struct message question;
	pthread_t holder;
	sem_init(&is_asked, 0, 0);
	server = gettid();
	if (pipe(is_held))
		return 1;
	pthread_create(&holder, NULL, hold_table, NULL);
	int connection = accept(listener, NULL, NULL);
	while (read(connection, &question, sizeof(question)) == (ssize_t)sizeof(question)) {
		begin_span(question.trace_id, SERVER, question.number);
		answer(connection, &question);
		end_span();
	}
	pthread_join(holder, NULL);
	return 0;
}

static int ask(int connection)
{
	int answers = 0;
	for (uint8_t i = 1; i <= REQUESTS; i++) {
		struct message question = { .trace_id = { 0xaa, i, [15] = 1 }, .number = i }, got;
		begin_span(question.trace_id, CLIENT, i);
		if (write(connection, &question, sizeof(question)) < 0)
			return 1;
		answers += read(connection, &got, sizeof(got)) == (ssize_t)sizeof(got);
		end_span();
		rest(WORK_NS);
	}
	printf("answers: %d\n", answers);
	return 0;
}

static void be_server(const char *program, int listener)
{
	char number[12];
	snprintf(number, sizeof(number), "%d", listener);
	execl(program, "spans-server", number, (char *)NULL);
	_exit(1);
}

int main(int count, char **arguments)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	publish_service(count > 1 ? "spans-server" : "spans-client");
	if (count > 1)
		return serve(atoi(arguments[1]));
	int listener = socket(AF_INET, SOCK_STREAM, 0),
	    connection = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		return 1;
	pid_t child = fork();
	if (child == 0)
		be_server(arguments[0], listener);
	close(listener);
	if (connect(connection, (struct sockaddr *)&address, sizeof(address)))
		return 1;
	int failed = ask(connection);
	shutdown(connection, SHUT_RDWR);
	waitpid(child, NULL, 0);
	return failed;
}
