/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the profiled program can be stalled or hurt through its control socket, or
 * loses events. */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "asking.h"
#include "handout.h"
#include "suite.h"

START_TEST(one_line_one_answer)
{
	int fd = connect_to_recorder();

	send_text(fd, "PING\nSTATUS\r\nNONSENSE\n", 22);
	ck_assert(strncmp(read_line(fd), "OK {\"pid\":", 10) == 0);
	ck_assert_ptr_nonnull(strstr(read_line(fd), "\"recording\":\"on\""));
	ck_assert(strncmp(read_line(fd), "ERR unknown ", 12) == 0);
	send_text(fd, "PI", 2);
	send_text(fd, "NG\n", 3);
	ck_assert(strncmp(read_line(fd), "OK {\"pid\":", 10) == 0);
	/* The last line may lack its newline. */
	send_text(fd, "PING", 4);
	shutdown(fd, SHUT_WR);
	ck_assert(strncmp(read_line(fd), "OK {\"pid\":", 10) == 0);
	ck_assert_str_eq(read_line(fd), "");
	close(fd);
}
END_TEST

START_TEST(garbage_is_refused_and_nothing_else)
{
	int fd = connect_to_recorder();
	char line[CLIENT_LINE_BYTES_MAX + 2];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	send_text(fd, line, sizeof(line));
	ck_assert(strncmp(read_line(fd), "ERR overlong ", 13) == 0);
	send_text(fd, "\0\xff\n", 3);
	ck_assert(strncmp(read_line(fd), "ERR unknown ", 12) == 0);
	send_text(fd, "PING\n", 5);
	ck_assert(strncmp(read_line(fd), "OK ", 3) == 0);
	close(fd);
}
END_TEST

START_TEST(a_dump_hands_out_once)
{
	for (int i = 0; i < 5000; i++)
		record_io(1);
	ck_assert_uint_eq(count_events(ask_dump("DUMP flush=0\n"), "k", "io"), 5000);
	ck_assert_uint_eq(count_events(ask_dump("DUMP\n"), "k", "io"), 5000);
	record_io(1);
	ck_assert_uint_eq(count_events(ask_dump("DUMP\n"), "k", "io"), 1);
}
END_TEST

/* Whoever asks may close its own direction at once, as `echo DUMP | socat` does. */
/* Reads a dump to its end, says so, and waits until the recorder has closed. */
static size_t ask_and_say(const char *word)
{
	int fd = connect_to_recorder();
	size_t bytes = 0;
	char block[4096];
	ssize_t got;

	send_text(fd, "DUMP ack=1\n", 11);
	while ((got = read(fd, block, sizeof(block))) > 0)
		bytes += (size_t)got;
	ck_assert_uint_gt(bytes, 0);
	if (*word)
		send_text(fd, word, strlen(word));
	else
		shutdown(fd, SHUT_WR);
	ck_assert_int_eq(poll(&(struct pollfd){ .fd = fd }, 1, 20000), 1);
	close(fd);
	return bytes;
}

START_TEST(a_reader_may_say_when_it_has_kept_it)
{
	/* All of it was read each time; only the last one says that it is kept. */
	static const char *const words[] = { "", "KEP\n?", "DUMP\n", "KEPT\n" };

	record_io(1);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		ck_assert_uint_eq(snapshot_pending(recorder_arena), 1);
		ask_and_say(words[i]);
	}
	while (load_acquire(&recorder_arena->drain_owner) != 0)
		pause_ms(1);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
	ck_assert_uint_eq(json_array_size(ask_dump("DUMP\n")), 1);
}
END_TEST

START_TEST(a_half_closed_reader_gets_its_dump)
{
	int fd;

	for (int i = 0; i < 5000; i++)
		record_io(1);
	fd = connect_to_recorder();
	send_text(fd, "DUMP", 4);
	shutdown(fd, SHUT_WR);
	ck_assert_uint_eq(count_events(read_dump(fd), "k", "io"), 5000);
	ck_assert_uint_eq(count_events(ask_dump("DUMP\n"), "k", "io"), 0);
}
END_TEST

/* Large enough to stall in the socket. */
START_TEST(a_reader_that_stalls_holds_up_nobody)
{
	int stalled, other;

	for (int i = 0; i < 50000; i++)
		record_io(1);
	stalled = connect_to_recorder();
	send_text(stalled, "DUMP\n", 5);
	ck_assert(read_line(stalled)[0] == '{');
	other = connect_to_recorder();
	send_text(other, "PING\n", 5);
	ck_assert(strncmp(read_line(other), "OK ", 3) == 0);
	send_text(other, "DUMP\n", 5);
	ck_assert(strncmp(read_line(other), "ERR busy ", 9) == 0);
	send_text(other, "RESET\n", 6);
	ck_assert(strncmp(read_line(other), "ERR busy ", 9) == 0);
	ck_assert_uint_ne(record_io(1), 0);
	/* It goes away: all of it is in the next dump. */
	close(stalled);
	do {
		send_text(other, "RESETX\nSTATUS\n", 14);
		read_line(other);
	} while (strstr(read_line(other), "\"events\":50001,") == NULL);
	ck_assert_uint_eq(count_events(ask_dump("DUMP\n"), "k", "io"), 50001);
	close(other);
}
END_TEST

START_TEST(what_was_sent_but_not_read_is_not_handed_out)
{
	int fd;

	record_io(1);
	fd = connect_to_recorder();
	send_text(fd, "DUMP\n", 5);
	/* All of it is in the socket; nobody has read it. */
	while (poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, 1000) != 1)
		continue;
	close(fd);
	ck_assert_uint_eq(count_events(ask_dump("DUMP\n"), "k", "io"), 1);
}
END_TEST

START_TEST(a_hundred_clients_at_once)
{
	int fds[100], answered = 0, refused = 0;

	for (int i = 0; i < 100; i++) {
		fds[i] = connect_to_recorder();
		(void)!send(fds[i], "PING\n", 5, MSG_NOSIGNAL);
	}
	for (int i = 0; i < 100; i++) {
		const char *line = read_line(fds[i]);

		answered += strncmp(line, "OK ", 3) == 0;
		refused += strncmp(line, "ERR busy ", 9) == 0;
	}
	for (int i = 0; i < 100; i++)
		close(fds[i]);
	ck_assert_int_eq(answered, 64);
	ck_assert_int_eq(answered + refused, 100);
}
END_TEST

START_TEST(the_programs_descriptors_are_its_own)
{
	int fd = connect_to_recorder();

	/* The numbers go on as without the recorder. */
	ck_assert_int_eq(dup(0), fd + 1);
	/* Closing everything does not reach the recorder. */
	close(fd + 1);
	for (int i = 3; i < 200; i++)
		close(i);
	fd = connect_to_recorder();
	send_text(fd, "PING\n", 5);
	ck_assert(strncmp(read_line(fd), "OK ", 3) == 0);
	close(fd);
}
END_TEST

/* A signal to the process is the program's: its own thread waits for it. */
START_TEST(signals_go_to_the_program)
{
	sigset_t set;
	struct timespec limit = { 5, 0 };

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	close(connect_to_recorder());
	for (int i = 0; i < 50; i++) {
		kill(getpid(), SIGUSR1);
		ck_assert_int_eq(sigtimedwait(&set, NULL, &limit), SIGUSR1);
	}
}
END_TEST

START_TEST(an_end_of_the_process_does_not_wait_for_a_stalled_reader)
{
	char output[64], command[256];
	int stalled;

	snprintf(output, sizeof(output), "/tmp/wcprof-test-%d.jsonl", getpid());
	strcpy(recorder_options.output, output);
	for (int i = 0; i < 50000; i++)
		record_io(1);
	stalled = connect_to_recorder();
	send_text(stalled, "DUMP\n", 5);
	ck_assert(read_line(stalled)[0] == '{');
	recorder_image_ends(END_EXIT);
	snprintf(command, sizeof(command), "test $(grep -c '\"k\":\"io\"' %s) = 50000 && rm %s",
		 output, output);
	ck_assert_int_eq(system(command), 0);
	close(stalled);
}
END_TEST

/* Also to one who has closed his own direction, and several requests in a row. */
START_TEST(stacks_are_told)
{
	int fd = connect_to_recorder();
	const char *line;

	send_text(fd, "STACKS\nPING\nSTACKS\n", 19);
	shutdown(fd, SHUT_WR);
	line = read_line(fd);
	ck_assert(strncmp(line, "OK {\"pid\":", 10) == 0);
	ck_assert_ptr_nonnull(strstr(line, "\"threads\":[{\"tid\":"));
	ck_assert_ptr_nonnull(strstr(line, "\"deadlocks\":[]}"));
	ck_assert_ptr_null(strstr(read_line(fd), "threads"));
	ck_assert_ptr_nonnull(strstr(read_line(fd), "\"threads\":[{\"tid\":"));
	ck_assert_str_eq(read_line(fd), "");
	close(fd);
}
END_TEST

/* In another pid name space another process has our number, and listens here already. */
START_TEST(a_name_that_is_taken)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char taken[sizeof(path)];
	int other = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	snprintf(directory, sizeof(directory), "/tmp/wcprof-test-%d", getpid());
	snprintf(taken, sizeof(taken), "%s/%d.sock", directory, getpid());
	mkdir(directory, 0700);
	strcpy(address.sun_path, taken);
	ck_assert_int_eq(bind(other, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(other, 8), 0);
	setup();
	strcpy(path, taken);
	ck_assert(socket_path_beside(path));
	fd = connect_to_recorder();
	send_text(fd, "STATUS\n", 7);
	ck_assert_int_eq(strncmp(read_line(fd), "OK {", 4), 0);
	close(fd);
	switch_disable(); /* pairs with the thread that wrote the name: both take the switch */
	ck_assert_str_eq(recorder_arena->socket, path);
	recording_end();
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_int_eq(access(taken, F_OK), 0);
	unlink(taken);
	rmdir(directory);
	close(other);
}
END_TEST

SUITE()
{
	TEST(a_name_that_is_taken);
	FIXTURE(setup, teardown);
	TEST(one_line_one_answer);
	TEST(garbage_is_refused_and_nothing_else);
	TEST(a_dump_hands_out_once);
	TEST(a_reader_may_say_when_it_has_kept_it);
	TEST(a_half_closed_reader_gets_its_dump);
	TEST(a_reader_that_stalls_holds_up_nobody);
	TEST(what_was_sent_but_not_read_is_not_handed_out);
	TEST(a_hundred_clients_at_once);
	TEST(the_programs_descriptors_are_its_own);
	TEST(signals_go_to_the_program);
	TEST(an_end_of_the_process_does_not_wait_for_a_stalled_reader);
	TEST(stacks_are_told);
}
