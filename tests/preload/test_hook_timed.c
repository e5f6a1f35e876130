/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a call that reads, writes, polls or looks a name up is missed, or its result
 * or errno changes.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "calls",
		  "files",
		  { { "op", "io", "read", 5, 5 },
		    { "op", "io", "pread", 4, 4 },
		    { "op", "io", "pwrite", 4, 4 },
		    { "op", "io", "open", 5, 5 },
		    { "op", "io", "close", 5, 5 },
		    { "op", "io", "fsync", 1, 1 } } },
	/* 1 */
	{ "calls",
	  "aliases",
	  { { "op", "io", "__", 0, 0 },
	    { "op", "poll", "poll", 2, 2 },
	    { "op", "io", "pread", 2, 2 },
	    { "op", "io", "recv", 2, 2 } } },
	/* 2 */
	{ "calls",
	  "sockets",
	  { { "op", "io", "connect", 2, 2 },
	    { "op", "io", "accept", 2, 2 },
	    { "op", "io", "send", 5, 5 },
	    { "op", "io", "recv", 5, 5 } } },
	/* 3 */
	{ "calls",
	  "readiness",
	  { { "op", "poll", "poll", 3, 3 },
	    { "op", "poll", "ppoll", 1, 1 },
	    { "op", "poll", "select", 2, 2 },
	    { "op", "poll", "pselect", 1, 1 },
	    { "op", "poll", "epoll_", 3, 3 } } },
	/* 4 */ { "calls", "cancelled", { { "op", "io", "read", 1, 1 } } },
	/* 5 */
	{ "calls", "jumped", { { "op", "io", "read", 1, 1 }, { "op", "io", "write", 3, 3 } } },
	/* 6 */ { "calls", "interrupted", { { "op", "io", "read", 1, 1 } } },
	/* 7 */
	{ "calls",
	  "moves",
	  { { "op", "io", "tee", 2, 2 },
	    { "op", "io", "splice", 1, 1 },
	    { "op", "io", "ftruncate", 1, 1 },
	    { "op", "io", "truncate", 2, 2 },
	    { "op", "io", "posix_fallocate", 2, 2 },
	    { "op", "io", "lockf", 2, 2 },
	    { "op", "io", "fcntl", 2, 2 },
	    { "op", "io", "creat", 1, 1 },
	    { "op", "io", "vmsplice", 1, 1 } } },
	/* 8 */
	{ "queues",
	  "posix",
	  { { "op", "io", "mq_send", 1, 1 },
	    { "op", "io", "mq_timedsend", 2, 2 },
	    { "op", "io", "mq_receive", 2, 2 },
	    { "op", "io", "mq_timedreceive", 2, 2 } } },
	/* 9 */
	{ "queues",
	  "signals",
	  { { "op", "poll", "sigwait", 3, 3 },
	    { "op", "poll", "sigtimedwait", 1, 1 },
	    { "op", "poll", "sigsuspend", 1, 1 },
	    { "op", "poll", "sigpause", 1, 1 } } },
	/* 10 */
	{ "queues",
	  "places",
	  { { "op", "io", "opendir", 2, 2 },
	    { "op", "io", "closedir", 1, 1 },
	    { "op", "io", "shutdown", 2, 2 },
	    { "op", "io", "tcdrain", 1, 1 },
	    { "op", "io", "sync", 1, 1 } } },
	/* 11 */
	{ "lookups",
	  "forms",
	  { { "op", "dns", "getaddrinfo", 2, 2 },
	    { "op", "dns", "getnameinfo", 1, 1 },
	    { "op", "dns", "gethostbyname", 1, 1 } } },
	/* 12 */
	{ "lookups",
	  "files",
	  { { "op", "dns", "getpwnam", 2, 2 },
	    { "op", "dns", "getpwuid", 1, 1 },
	    { "op", "dns", "getgrgid", 1, 1 },
	    { "op", "dns", "getservbyname", 1, 1 },
	    { "op", "dns", "getprotobynumber", 1, 1 } } },
	/* 13 */
	{ "lookups",
	  "queued",
	  { { "op", "dns", "getaddrinfo_a", 1, 1 }, { "op", "dns", "gai_suspend", 1, 1 } } },
	/* 14 */
	{ "futexes",
	  "raw",
	  { { "op", "io", "write", 2, 2 },
	    { "op", "io", "read", 1, 1 },
	    { "op", "io", "writev", 1, 1 },
	    { "op", "io", "preadv2", 1, 1 },
	    { "op", "io", "sendto", 1, 1 },
	    { "op", "poll", "ppoll", 1, 1 },
	    { "op", "poll", "io_uring_enter", 1, 1 },
	    { "op", "poll", "futex_waitv", 1, 1 } } },
	/* 15 */
	{ "paths",
	  "all",
	  { { "op", "io", "glob", 3, 3 },
	    { "op", "io", "scandir", 2, 2 },
	    /* Only calls that took long leave a record: none, or all seven that begin so. */
	    { "op", "io", "stat", 0, 7 },
	    { "op", "io", "rename", 0, 3 } } },
	/* 16 */
	{ "seldom",
	  "counters",
	  { { "op", "io", "eventfd_read", 2, 2 }, { "op", "io", "eventfd_write", 2, 2 } } },
	/* 17 */
	{ "seldom",
	  "users",
	  { { "op", "io", "lckpwdf", 1, 1 },
	    { "op", "io", "getutent", 2, 2 },
	    { "op", "io", "getutid", 1, 1 },
	    { "op", "dns", "setpwent", 1, 1 } } },
	/* 18 */
	{ "seldom",
	  "tables",
	  { { "op", "io", "getifaddrs", 1, 1 },
	    { "op", "io", "if_nameindex", 1, 1 },
	    { "op", "dns", "gethostid", 1, 1 },
	    { "op", "io", "endmntent", 1, 1 },
	    { "op", "io", "setlocale", 0, 1 } } },
	/* 19 */
	{ "seldom",
	  "shells",
	  { { "op", "io", "wordexp", 2, 2 },
	    { "op", "io", "warn", 2, 2 },
	    { "op", "io", "psignal", 1, 1 } } },
	/* 20 */
	{ "seldom",
	  "memory",
	  { { "op", "io", "mmap", 1, MANY },
	    { "op", "io", "munmap", 1, MANY },
	    { "op", "io", "arc4random", 0, 2 } } },
	/* 21 */
	{ "seldom", "places", { { "op", "io", "lseek", 0, 3 }, { "op", "io", "close", 0, 1 } } },
	/* 22 */
	{ "seldom", "terminals", { { "op", "io", "write", 1, 1 } } },
};

START_TEST(test_case)
{
	struct dumps dumps;

	run_case(&cases[_i], &dumps);
	free_dumps(&dumps);
}
END_TEST

/* Three of four polls returned as many as they had room for. */
START_TEST(a_poll_without_room_says_so)
{
	static const struct target_case crowded = { "calls",
						    "crowded",
						    { { "op", "poll", "epoll_wait", 4, 4 } } };
	struct dumps dumps;
	char full[8] = "";

	run_case(&crowded, &dumps);
	ck_assert_int_eq(dumps.count, 1);
	for (size_t i = 1; i < json_array_size(dumps.lines[0]); i++) {
		json_t *event = json_array_get(dumps.lines[0], i);

		if (strcmp(word_of(event, "k"), "poll") == 0)
			strcat(full, json_object_get(event, "fl") ? "1" : "0");
	}
	ck_assert_str_eq(full, "1110");
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_case, cases);
	TEST(a_poll_without_room_says_so);
}
