/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a client is not answered, or one client is in another's way. */
#include "clients.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "recording.h"
#include "socket.h"
#include "suite.h"

static char directory[64], path[SOCKET_PATH_BYTES];
static int listener;

/* There is no control thread: the test is it. */
static void setup(void)
{
	snprintf(directory, sizeof(directory), "/tmp/wcprof-test-%d", getpid());
	snprintf(path, sizeof(path), "%s/a.sock", directory);
	setenv("WCPROF_CONTROL", "off", 1);
	recording_begin();
	listener = socket_listen(path, true);
	ck_assert_int_ge(listener, 0);
	clients_begin();
}

static void teardown(void)
{
	clients_leave();
	close(listener);
	unlink(path);
	rmdir(directory);
	recording_end();
}

/* A new client, already accepted or refused. */
static int come(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	clients_accept(listener);
	return fd;
}

/* One round of the thread's, that waits for nothing. */
static void turn(void)
{
	struct pollfd polls[CLIENTS_MAX];

	clients_watch(polls);
	ck_assert_int_ge(poll(polls, CLIENTS_MAX, 0), 0);
	clients_serve(polls);
}

static void say(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* The answer so far; empty: nothing, or it was hung up on. */
static const char *heard(int fd)
{
	static char text[8192];
	ssize_t got = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[got > 0 ? got : 0] = '\0';
	return text;
}

START_TEST(a_line_is_answered_when_it_is_whole)
{
	int fd = come();

	say(fd, "PI");
	turn();
	ck_assert_str_eq(heard(fd), "");
	say(fd, "NG\nPING\nNONSENSE\n");
	turn();
	ck_assert_str_eq(strtok((char *)heard(fd), " "), "OK");
	ck_assert_ptr_nonnull(strstr(strtok(NULL, ""), "\nERR "));
	close(fd);
}
END_TEST

/* Each has its own line, and whoever goes away in the middle of it takes nobody along. */
START_TEST(clients_do_not_mix)
{
	int one = come(), other = come();

	say(one, "PI");
	say(other, "NONSEN");
	turn();
	say(other, "SE\n");
	close(one);
	turn();
	ck_assert_int_eq(strncmp(heard(other), "ERR ", 4), 0);
	close(other);
}
END_TEST

START_TEST(one_more_than_there_is_room_for_is_told_so)
{
	int fds[CLIENTS_MAX], late;

	for (int i = 0; i < CLIENTS_MAX; i++)
		fds[i] = come();
	late = come();
	ck_assert_int_eq(strncmp(heard(late), "ERR busy", 8), 0);
	close(late);
	close(fds[7]);
	turn();
	late = come();
	say(late, "PING\n");
	turn();
	ck_assert_int_eq(strncmp(heard(late), "OK", 2), 0);
}
END_TEST

/* A dump is on its way until its reader has it; another one is refused meanwhile. */
START_TEST(one_dump_at_a_time)
{
	int reader = come(), other = come();

	ck_assert(!clients_tick(1));
	say(reader, "DUMP ack=1\n");
	turn();
	turn();
	ck_assert(clients_tick(1));
	say(other, "DUMP\n");
	turn();
	ck_assert_int_eq(strncmp(heard(other), "ERR busy", 8), 0);
	ck_assert_int_eq(strncmp(heard(reader), "{\"schema_version\"", 17), 0);
	turn();
	ck_assert(clients_tick(1));
	say(reader, "KEPT\n");
	turn();
	ck_assert(!clients_tick(1));
	close(reader);
	close(other);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_line_is_answered_when_it_is_whole);
	TEST(clients_do_not_mix);
	TEST(one_more_than_there_is_room_for_is_told_so);
	TEST(one_dump_at_a_time);
}
