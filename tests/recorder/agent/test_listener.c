/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, anybody on the machine can make the agent wait, or there are no metrics. */
#include "listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "suite.h"

static struct listener listener;
static unsigned port;

static void make(struct body *body)
{
	body_puts(body, "METRICS\n");
}

/* The first port that is free. */
static void setup(void)
{
	listener_init(&listener);
	for (port = 26100; listener_open(&listener, port) != 0; port++)
		ck_assert_uint_lt(port, 26400);
}

static void teardown(void)
{
	listener_close(&listener);
}

static int connect_to(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* One turn of the loop, in which something is ready. */
static void turn(void)
{
	struct pollfd polls[LISTENER_CLIENTS_MOST + 1];
	size_t count = listener_watch(&listener, polls);

	ck_assert_int_gt(poll(polls, count, 60000), 0);
	listener_serve(&listener, polls, count, make);
}

static char *ask(const char *request)
{
	static char answer[2000];
	int fd = connect_to();
	size_t used = 0;
	ssize_t got;

	turn();
	ck_assert_int_eq(send(fd, request, strlen(request), 0), (ssize_t)strlen(request));
	turn();
	while ((got = recv(fd, answer + used, sizeof(answer) - 1 - used, 0)) > 0)
		used += (size_t)got;
	answer[used] = '\0';
	close(fd);
	return answer;
}

static const struct {
	const char *request, *status, *body;
} rows[] = {
	/* 0 */ { "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK\r\n", "METRICS\n" },
	/* 1 */ { "GET /metrics?x=1 HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "METRICS\n" },
	/* 2 */ { "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ", "metrics are at /metrics\n" },
	/* 3 */ { "POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 ", "metrics are at /metrics\n" },
	/* 4 */ { "\x16\x03\x01\r\n\r\n", "HTTP/1.1 405 ", "metrics are at /metrics\n" },
};

START_TEST(a_request_has_one_answer)
{
	const char *answer = ask(rows[_i].request);

	ck_assert_msg(strncmp(answer, rows[_i].status, strlen(rows[_i].status)) == 0, "%s", answer);
	ck_assert_str_eq(strstr(answer, "\r\n\r\n") + 4, rows[_i].body);
}
END_TEST

START_TEST(a_request_that_does_not_end_is_cut_off)
{
	char request[LISTENER_REQUEST_BYTES];

	memset(request, 'x', sizeof(request) - 1);
	request[sizeof(request) - 1] = '\0';
	ck_assert_ptr_nonnull(strstr(ask(request), "405"));
}
END_TEST

START_TEST(who_only_connects_is_in_nobodys_way)
{
	int fds[LISTENER_CLIENTS_MOST + 2];

	for (int i = 0; i < LISTENER_CLIENTS_MOST + 2; i++) {
		fds[i] = connect_to();
		turn();
	}
	ck_assert_ptr_nonnull(strstr(ask(rows[0].request), "METRICS"));
	for (int i = 0; i < LISTENER_CLIENTS_MOST + 2; i++)
		close(fds[i]);
}
END_TEST

START_TEST(who_hangs_up_leaves_nothing)
{
	struct pollfd polls[LISTENER_CLIENTS_MOST + 1];
	int fd = connect_to();

	turn();
	ck_assert_uint_eq(listener_watch(&listener, polls), 2);
	close(fd);
	turn();
	ck_assert_uint_eq(listener_watch(&listener, polls), 1);
}
END_TEST

START_TEST(without_a_port_there_is_none)
{
	struct pollfd polls[LISTENER_CLIENTS_MOST + 1];

	listener_close(&listener);
	ck_assert_int_eq(listener_open(&listener, 0), 0);
	ck_assert_uint_eq(listener_watch(&listener, polls), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	EACH(a_request_has_one_answer, rows);
	TEST(a_request_that_does_not_end_is_cut_off);
	TEST(who_only_connects_is_in_nobodys_way);
	TEST(who_hangs_up_leaves_nothing);
	TEST(without_a_port_there_is_none);
}
