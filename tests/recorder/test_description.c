/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, descriptors are described wrongly, or not in the words of their other end. */
#include "description.h"

#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "recording.h"
#include "suite.h"

static struct description description;

static const char *describe_as(int fd, bool is_crowded, bool is_accepted)
{
	description_begin(&description, is_crowded);
	description.is_accepted = is_accepted;
	description_make(&description, fd);
	ck_assert(text_end(&description.text));
	return description.bytes;
}

static const char *describe(int fd)
{
	return describe_as(fd, false, false);
}

static const char *crowded(int fd)
{
	return describe_as(fd, true, false);
}

static unsigned long inode(int fd)
{
	struct stat status;

	ck_assert_int_eq(fstat(fd, &status), 0);
	return status.st_ino;
}

/* The description is this, with numbers in place of the letters. */
#define ck_described(fd, ...)                                            \
	do {                                                             \
		char wanted_text[300];                                   \
		snprintf(wanted_text, sizeof(wanted_text), __VA_ARGS__); \
		ck_assert_str_eq(describe(fd), wanted_text);             \
	} while (0)

/* --- Sockets ------------------------------------------------------------------------------ */

START_TEST(a_socket_is_called_by_what_it_is_being_connected_to)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(80) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	description_begin(&description, false);
	description.peer = &to;
	description.peer_bytes = sizeof(to);
	description_make(&description, fd);
	ck_assert(text_end(&description.text));
	ck_assert(!description.is_passing);
	ck_assert_str_eq(description.bytes, "tcp 0.0.0.0:0>127.0.0.1:80");
}
END_TEST

static int listener_at_loopback(uint16_t *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

/* Two ends: [0] has connected, [1] was accepted. */
static void connect_loopback(int ends[2], int listener, uint16_t ports[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons(ports[1]);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(ends[0], (struct sockaddr *)&address, size), 0);
	ends[1] = accept(listener, NULL, NULL);
	ck_assert_int_ge(ends[1], 0);
	getsockname(ends[0], (struct sockaddr *)&address, &size);
	ports[0] = ntohs(address.sin_port);
}

START_TEST(both_ends_of_a_connection_agree)
{
	uint16_t ports[2];
	int ends[2];
	int listener = listener_at_loopback(&ports[1]);

	connect_loopback(ends, listener, ports);
	ck_described(ends[0], "tcp 127.0.0.1:%d>127.0.0.1:%d", ports[0], ports[1]);
	ck_assert(!description.is_accepted);
	ck_described(ends[1], "tcp 127.0.0.1:%d>127.0.0.1:%d", ports[1], ports[0]);
	ck_assert(description.is_accepted); /* as somebody listens at its port */
	ck_described(listener, "tcp listen 127.0.0.1:%d", ports[1]);
	ck_assert(!description.is_passing);
}
END_TEST

START_TEST(a_listener_beyond_the_scan_is_noted_when_it_is_met)
{
	uint16_t ports[2];
	int ends[2];
	int low = listener_at_loopback(&ports[1]);
	int listener = fcntl(low, F_DUPFD, 400);

	ck_assert_int_ge(listener, 400);
	close(low);
	connect_loopback(ends, listener, ports);
	(void)describe(ends[1]);
	ck_assert(!description.is_accepted);
	(void)describe(listener);
	(void)describe(ends[1]);
	ck_assert(description.is_accepted);
	close(listener);
	description_forget();
	(void)describe(ends[1]);
	ck_assert(description.is_accepted);
}
END_TEST

START_TEST(a_socket_that_is_not_connected_is_passing)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int tcp = socket(AF_INET, SOCK_STREAM, 0);
	int udp = socket(AF_INET, SOCK_DGRAM, 0);
	int local = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_described(tcp, "tcp 0.0.0.0:0>*");
	ck_assert(description.is_passing);
	ck_described(local, "unix:[%lu]", inode(local));
	ck_assert(description.is_passing);
	ck_assert_int_eq(bind(udp, (struct sockaddr *)&any, sizeof(any)), 0);
	(void)describe(udp);
	ck_assert_int_eq(strncmp(description.bytes, "udp 0.0.0.0:", 12), 0);
	ck_assert(!description.is_passing);
}
END_TEST

START_TEST(names_of_unix_sockets)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = "\0wcprof-test-" };
	socklen_t size;
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int client = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int server;

	size = (socklen_t)offsetof(struct sockaddr_un, sun_path) + 13 +
	       (socklen_t)sprintf(path.sun_path + 13, "%d", getpid());
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&path, size), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(connect(client, (struct sockaddr *)&path, size), 0);
	server = accept(listener, NULL, NULL);
	ck_described(listener, "unix seqpacket listen @wcprof-test-%d", getpid());
	ck_described(client, "unix seqpacket @wcprof-test-%d#%lu", getpid(), inode(client));
	ck_assert(!description.is_accepted);
	ck_described(server, "unix seqpacket @wcprof-test-%d#%lu", getpid(), inode(server));
	ck_assert(description.is_accepted);
}
END_TEST

START_TEST(datagrams_have_both_names)
{
	struct sockaddr_un names[2] = { { .sun_family = AF_UNIX }, { .sun_family = AF_UNIX } };
	struct sockaddr_in anywhere = { .sin_family = AF_INET };
	socklen_t bytes[2], size = sizeof(anywhere);
	int fds[3];

	for (int i = 0; i < 2; i++) {
		fds[i] = socket(AF_UNIX, SOCK_DGRAM, 0);
		bytes[i] = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				       snprintf(names[i].sun_path + 1, 40, "wcprof-%c-%d", 'a' + i,
						getpid()));
		ck_assert_int_eq(bind(fds[i], (struct sockaddr *)&names[i], bytes[i]), 0);
	}
	ck_described(fds[1], "unix dgram @wcprof-b-%d#%lu", getpid(), inode(fds[1]));
	ck_assert_int_eq(connect(fds[0], (struct sockaddr *)&names[1], bytes[1]), 0);
	ck_described(fds[0], "unix dgram @wcprof-a-%d>@wcprof-b-%d#%lu", getpid(), getpid(),
		     inode(fds[0]));
	fds[2] = socket(AF_UNIX, SOCK_DGRAM, 0);
	ck_assert_int_eq(connect(fds[2], (struct sockaddr *)&names[1], bytes[1]), 0);
	ck_described(fds[2], "unix dgram *>@wcprof-b-%d#%lu", getpid(), inode(fds[2]));
	fds[0] = socket(AF_INET, SOCK_DGRAM, 0);
	ck_described(fds[0], "udp 0.0.0.0:0>*");
	ck_assert(description.is_passing);
	ck_assert_int_eq(bind(fds[0], (struct sockaddr *)&anywhere, size), 0);
	ck_assert_int_eq(getsockname(fds[0], (struct sockaddr *)&anywhere, &size), 0);
	ck_described(fds[0], "udp 0.0.0.0:%d>*", ntohs(anywhere.sin_port));
	ck_assert(!description.is_passing);
}
END_TEST

START_TEST(a_queue_has_a_name_and_an_inode)
{
	char name[40];

	snprintf(name, sizeof(name), "/wcprof-%d", getpid());
	int queue = mq_open(name, O_RDWR | O_CREAT, 0600, NULL);
	if (queue < 0 && errno == ENOSYS)
		return;
	ck_assert_int_ge(queue, 0);
	ck_described(queue, "mqueue %s#%lu", name, inode(queue));
	ck_assert_int_eq(mq_unlink(name), 0);
	ck_described(queue, "mqueue %s#%lu", name, inode(queue));
	ck_assert_str_eq(crowded(queue) + strlen("mqueue "), name);
}
END_TEST

START_TEST(a_pair_knows_both_ends)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
	ck_described(ends[0], "unix dgram:[%lu]", inode(ends[0]));
	description_pair(ends[0], ends[1]);
	ck_described(ends[0], "unix dgram:[%lu]>[%lu]", inode(ends[0]), inode(ends[1]));
	description_forget();
	ck_described(dup(ends[1]), "unix dgram:[%lu]>[%lu]", inode(ends[1]), inode(ends[0]));
	ck_assert(!description.is_passing && !description.is_accepted);
}
END_TEST

/* --- Files -------------------------------------------------------------------------------- */

START_TEST(digits_of_a_path_are_folded)
{
	char path[] = "/tmp/wcprof-12-a34-XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_eq(strncmp(describe(fd), "file /tmp/wcprof-N-aN-", 22), 0);
	unlink(path);
	ck_assert_int_eq(strncmp(describe(fd), "file /tmp/wcprof-N-aN-", 22), 0);
	ck_assert_ptr_null(strstr(description.bytes, "deleted"));
	ck_assert_str_eq(crowded(fd), "file /tmp/");
	close(fd);
}
END_TEST

static const struct {
	const char *opened;
	const char *text;
} opened[] = {
	/* 0 */ { "/etc/passwd", "file /etc/passwd" },
	/* 1 */ { "/etc/../etc/passwd", "file /etc/passwd" },
	/* 2 */ { "/etc//passwd", "file /etc/passwd" },
	/* 3 */ { "/etc/./passwd", "file /etc/passwd" },
	/* 4 */ { "/dev/fd/0", "file /dev/null" },
	/* 5 */ { "/proc/self/fd/0", "file /dev/null" },
	/* 6 */ { "/proc/self/stat", "file /proc/N/stat" },
	/* 7 */ { "etc/passwd", "file /etc/passwd" },
};

START_TEST(a_path_that_it_was_opened_by_is_taken_if_it_is_plain)
{
	int fd;

	ck_assert_int_eq(dup2(open("/dev/null", O_RDWR), 0), 0);
	ck_assert_int_eq(chdir("/"), 0);
	fd = open(opened[_i].opened, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	description_begin(&description, false);
	description.path = opened[_i].opened;
	description_make(&description, fd);
	ck_assert(text_end(&description.text));
	ck_assert_str_eq(description.bytes, opened[_i].text);
}
END_TEST

START_TEST(a_long_path_is_cut)
{
	char name[200];
	int fd, depth;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(chdir("/tmp"), 0);
	for (depth = 0; depth < 5; depth++) {
		mkdir(name, 0700);
		ck_assert_int_eq(chdir(name), 0);
	}
	fd = open(".", O_RDONLY);
	ck_assert_uint_eq(strlen(describe(fd)), 5 + 511);
	while (depth-- > 0) {
		ck_assert_int_eq(chdir(".."), 0);
		rmdir(name);
	}
}
END_TEST

START_TEST(what_else_there_is)
{
	char path[] = "/tmp/wcprof-fifo-7-XXXXXX";
	int ends[2], fd;

	ck_assert_int_eq(pipe(ends), 0);
	ck_described(ends[0], "pipe:[%lu]", inode(ends[0]));
	ck_described(ends[1], "pipe:[%lu]", inode(ends[0]));
	ck_assert_ptr_nonnull(mkdtemp(path));
	rmdir(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR);
	unlink(path);
	ck_assert_int_eq(strncmp(describe(fd), "fifo /tmp/wcprof-fifo-7-", 24), 0);
	ck_described(epoll_create1(0), "epoll");
	ck_described(inotify_init(), "inotify");
	ck_described(open("/dev/null", O_RDWR), "file /dev/null");
	ck_described(open("/proc/self/status", O_RDONLY), "file /proc/N/status");
	ck_described(memfd_create("a7", 0), "file /memfd:aN");
	ck_described(socket(AF_NETLINK, SOCK_RAW, 0), "netlink");
	fd = posix_openpt(O_RDWR | O_NOCTTY);
	if (fd >= 0)
		ck_described(fd, "tty");
	ck_described(99999, "%s", "");
	ck_assert_uint_eq(description.text.used, 0);
}
END_TEST

static const char *opened_by(int fd, const char *path)
{
	description_begin(&description, false);
	description.path = path;
	description_make(&description, fd);
	ck_assert(text_end(&description.text));
	return description.bytes;
}

/* A descriptor of another kind tells whether it is asked. */
START_TEST(a_path_that_was_a_files_is_not_asked_about_again)
{
	static const char page[] = "/srv/site2/index.html", other[] = "/srv/site3/index.html";
	int ends[2], file = open("/etc/passwd", O_RDONLY);

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_str_eq(opened_by(ends[0], page), "fifo /srv/site2/index.html");
	ck_assert_str_eq(opened_by(file, page), "file /srv/siteN/index.html");
	ck_assert_str_eq(opened_by(ends[0], page), "file /srv/siteN/index.html");
	ck_assert_str_eq(opened_by(ends[0], other), "fifo /srv/site3/index.html");
	ck_assert_str_eq(opened_by(open("/", O_RDONLY), other), "file /srv/siteN/index.html");
	ck_assert_str_eq(opened_by(ends[0], other), "fifo /srv/site3/index.html");
}
END_TEST

START_TEST(eventfds_are_counted)
{
	int fd = eventfd(0, 0);
	uint64_t origin = 0;

	ck_described(eventfd(0, 0), "eventfd:[%d:1]", getpid());
	description_begin(&description, false);
	description.origin = &origin;
	description_make(&description, fd);
	ck_assert_uint_eq(origin, (uint64_t)getpid() << 32 | 2);
	origin = UINT64_C(47) << 32 | 11;
	description_begin(&description, false);
	description.origin = &origin;
	description_make(&description, fd);
	ck_assert(text_end(&description.text));
	ck_assert_str_eq(description.bytes, "eventfd:[47:11]");
}
END_TEST

START_TEST(in_a_crowd_names_are_shared)
{
	uint16_t ports[2];
	char wanted[100];
	int ends[2];
	int listener = listener_at_loopback(&ports[1]);

	connect_loopback(ends, listener, ports);
	snprintf(wanted, sizeof(wanted), "tcp *>127.0.0.1:%d", ports[1]);
	ck_assert_str_eq(crowded(ends[0]), wanted);
	snprintf(wanted, sizeof(wanted), "tcp 127.0.0.1:%d>*", ports[1]);
	ck_assert_str_eq(crowded(ends[1]), wanted);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_str_eq(crowded(ends[0]), "pipe");
	ck_assert_str_eq(crowded(eventfd(0, 0)), "eventfd");
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	description_pair(ends[0], ends[1]);
	ck_assert_str_eq(crowded(ends[0]), "unix");
}
END_TEST

SUITE()
{
	TEST(a_socket_is_called_by_what_it_is_being_connected_to);
	TEST(both_ends_of_a_connection_agree);
	TEST(a_listener_beyond_the_scan_is_noted_when_it_is_met);
	TEST(a_socket_that_is_not_connected_is_passing);
	TEST(names_of_unix_sockets);
	TEST(datagrams_have_both_names);
	TEST(a_queue_has_a_name_and_an_inode);
	TEST(a_pair_knows_both_ends);
	TEST(digits_of_a_path_are_folded);
	EACH(a_path_that_it_was_opened_by_is_taken_if_it_is_plain, opened);
	TEST(a_long_path_is_cut);
	TEST(what_else_there_is);
	TEST(a_path_that_was_a_files_is_not_asked_about_again);
	TEST(eventfds_are_counted);
	TEST(in_a_crowd_names_are_shared);
}
