/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, another user can give orders, or the socket is not where it is looked for. */
#include "socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "recording.h"
#include "suite.h"

static char directory[64];
static struct options options;

static void setup(void)
{
	snprintf(directory, sizeof(directory), "/tmp/wcprof-test-%d", getpid());
	memset(&options, 0, sizeof(options));
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static const char *path_of(const char *dir, const char *socket, const char *runtime, bool is_child)
{
	static char path[SOCKET_PATH_BYTES];

	strcpy(options.dir, dir);
	strcpy(options.socket, socket);
	strcpy(options.runtime_dir, runtime);
	return socket_path(&options, 42, is_child, path) ? path : NULL;
}

START_TEST(where_it_is)
{
	char expected[64];

	ck_assert_str_eq(path_of("/d", "", "/run/user/1", false), "/d/42.sock");
	ck_assert_str_eq(path_of("", "", "/run/user/1", false), "/run/user/1/wcprof/42.sock");
	snprintf(expected, sizeof(expected), "/tmp/wcprof-%d/42.sock", (int)geteuid());
	ck_assert_str_eq(path_of("", "", "", false), expected);
	ck_assert_str_eq(path_of("/d", "/s/x", "", false), "/s/x");
	/* A forked child cannot have its parent's. */
	ck_assert_str_eq(path_of("/d", "/s/x", "", true), "/s/x.42");
	ck_assert_str_eq(path_of("/d", "", "", true), "/d/42.sock");
	ck_assert_ptr_null(path_of(
		"/a/path/that/is/longer/than/what/fits/into/the/address/of/a/unix/socket/which/is/"
		"one/hundred/and/eight/bytes",
		"", "", false));
}
END_TEST

START_TEST(there_is_room_beside_it)
{
	char path[SOCKET_PATH_BYTES] = "/d.sock/42.sock", expected[64], longest[SOCKET_PATH_BYTES];
	struct stat stat_of_namespace;

	ck_assert_int_eq(stat("/proc/self/ns/pid", &stat_of_namespace), 0);
	snprintf(expected, sizeof(expected), "/d.sock/42-%llu.sock",
		 (unsigned long long)stat_of_namespace.st_ino);
	ck_assert(socket_path_beside(path));
	ck_assert_str_eq(path, expected);
	snprintf(longest, sizeof(longest), "/%.*s42.sock", SOCKET_PATH_BYTES - 9,
		 "a/path/that/is/as/long/as/what/fits/into/the/address/of/a/unix/socket/which/is/"
		 "one/hundred/and/eight/bytes/long/nearly");
	ck_assert(!socket_path_beside(longest));
}
END_TEST

/* Whoever holds the lock of the directory holds nobody up for long. */
START_TEST(a_lock_is_not_waited_for)
{
	char path[SOCKET_PATH_BYTES];
	int lock, fd;

	snprintf(path, sizeof(path), "%s/a.sock", directory);
	mkdir(directory, 0700);
	lock = open(directory, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(flock(lock, LOCK_EX), 0);
	fd = socket_listen(path, true);
	ck_assert_int_ge(fd, 0);
	close(fd);
	close(lock);
}
END_TEST

START_TEST(only_the_user_may_enter)
{
	char path[SOCKET_PATH_BYTES];
	struct stat stat;
	int fd;

	snprintf(path, sizeof(path), "%s/a.sock", directory);
	fd = socket_listen(path, true);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(lstat(directory, &stat), 0);
	ck_assert_int_eq(stat.st_mode & 07777, 0700);
	ck_assert_int_eq(lstat(path, &stat), 0);
	ck_assert_int_eq(stat.st_mode & 07777, 0600);
}
END_TEST

START_TEST(a_directory_of_others_is_refused)
{
	char path[SOCKET_PATH_BYTES], target[96];

	snprintf(path, sizeof(path), "%s/a.sock", directory);
	snprintf(target, sizeof(target), "%s-target", directory);
	/* Open to others. */
	mkdir(directory, 0700);
	chmod(directory, 0755);
	ck_assert_int_eq(socket_listen(path, true), -EPERM);
	rmdir(directory);
	/* A symbolic link. */
	mkdir(target, 0700);
	ck_assert_int_eq(symlink(target, directory), 0);
	ck_assert_int_eq(socket_listen(path, true), -EPERM);
	unlink(directory);
	rmdir(target);
	/* Somebody else's. */
	if (geteuid() == 0) {
		mkdir(directory, 0700);
		ck_assert_int_eq(chown(directory, 12345, 0), 0);
		ck_assert_int_eq(socket_listen(path, true), -EPERM);
	}
}
END_TEST

START_TEST(a_dead_sockets_name_is_taken_a_living_ones_is_not)
{
	char path[SOCKET_PATH_BYTES];
	int first, second;

	snprintf(path, sizeof(path), "%s/a.sock", directory);
	first = socket_listen(path, true);
	ck_assert_int_ge(first, 0);
	ck_assert_int_eq(socket_listen(path, true), -EADDRINUSE);
	close(first);
	second = socket_listen(path, true);
	ck_assert_int_ge(second, 0);
}
END_TEST

START_TEST(a_file_in_the_way_stays)
{
	char path[SOCKET_PATH_BYTES];
	struct stat stat;
	FILE *file;

	snprintf(path, sizeof(path), "%s/a.sock", directory);
	mkdir(directory, 0700);
	file = fopen(path, "w");
	fclose(file);
	ck_assert_int_eq(chmod(path, 0600), 0);
	ck_assert_int_lt(socket_listen(path, true), 0);
	ck_assert_int_eq(lstat(path, &stat), 0);
	ck_assert(S_ISREG(stat.st_mode));
}
END_TEST

/* The kernel gives each a name of its own, and makes no file. */
START_TEST(without_a_file)
{
	struct sockaddr_un first, second;
	socklen_t bytes = sizeof(first), other_bytes = sizeof(second);
	int fds[2] = { socket_listen_unnamed(), socket_listen_unnamed() };
	int client = socket(AF_UNIX, SOCK_STREAM, 0), server;

	ck_assert_int_eq(getsockname(fds[0], (struct sockaddr *)&first, &bytes), 0);
	ck_assert_int_eq(getsockname(fds[1], (struct sockaddr *)&second, &other_bytes), 0);
	ck_assert_int_eq(first.sun_path[0], '\0');
	ck_assert_int_eq(bytes, other_bytes);
	ck_assert_mem_ne(&first, &second, bytes);
	ck_assert_int_eq(connect(client, (struct sockaddr *)&first, bytes), 0);
	server = accept(fds[0], NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert(socket_peer_is_allowed(server));
	close(server);
	close(client);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

START_TEST(the_same_user_is_allowed)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert(socket_peer_is_allowed(fds[0]));
	/* Not a socket at all: nobody. */
	ck_assert(!socket_peer_is_allowed(-1));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(where_it_is);
	TEST(there_is_room_beside_it);
	TEST(a_lock_is_not_waited_for);
	TEST(only_the_user_may_enter);
	TEST(a_directory_of_others_is_refused);
	TEST(a_dead_sockets_name_is_taken_a_living_ones_is_not);
	TEST(a_file_in_the_way_stays);
	TEST(without_a_file);
	TEST(the_same_user_is_allowed);
}
