/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a caller of some version of a function is bound to libc past our wrapper.
 * Or two versions are bound to the same one.
 */
#include "target.h"
#include "suite.h"

/* The loader's own account of what a target was bound to. */
static void read_bindings(const char *target, char *text, size_t room)
{
	char command[5 * PATH_MAX];
	char library[2 * PATH_MAX];
	snprintf(library, sizeof(library), "%s", build_path("libwcprof.so"));
	snprintf(command, sizeof(command),
		 "WCPROF_CONTROL=off LD_BIND_NOW=1 LD_DEBUG=bindings LD_PRELOAD=%s %s none 2>&1 |"
		 " grep 'binding file [^ ]*/targets/'",
		 library, build_path(target));
	FILE *pipe = popen(command, "r");
	size_t size = fread(text, 1, room - 1, pipe);
	text[size] = 0;
	pclose(pipe);
}

static bool is_bound(const char *text, const char *symbol, const char *version)
{
	char wanted[200];
	snprintf(wanted, sizeof(wanted), "libwcprof.so [0]: normal symbol `%s' [%s]", symbol,
		 version);
	return strstr(text, wanted) != NULL;
}

static const struct {
	const char *target;
	const char *symbol;
	const char *version;
} bindings[] = {
	/* 0 */ { "conditions", "pthread_cond_wait", "GLIBC_2.2.5" },
	/* 1 */ { "conditions", "pthread_cond_wait", "GLIBC_2.3.2" },
	/* 2 */ { "conditions", "pthread_cond_signal", "GLIBC_2.2.5" },
	/* 3 */ { "conditions", "pthread_cond_signal", "GLIBC_2.3.2" },
	/* 4 */ { "conditions", "pthread_cond_clockwait", "GLIBC_2.34" },
	/* 5 */ { "conditions", "pthread_mutex_lock", "GLIBC_2.2.5" },
	/* 6 */ { "children", "posix_spawn", "GLIBC_2.2.5" },
	/* 7 */ { "children", "posix_spawn", "GLIBC_2.15" },
	/* 8 */ { "children", "vfork", "GLIBC_2.2.5" },
	/* 9 */ { "calls", "__read_chk", "GLIBC_2.4" },
	/* 10 */ { "calls", "epoll_pwait2", "GLIBC_2.35" },
	/* 11 */ { "futexes", "syscall", "GLIBC_2.2.5" },
	/* 12 */ { "images", "execl", "GLIBC_2.2.5" },
	/* 13 */ { "queues", "lio_listio", "GLIBC_2.4" },
	/* 14 */ { "queues", "lio_listio", "GLIBC_2.2.5" },
	/* 15 */ { "queues", "lio_listio", "GLIBC_2.34" },
	/* 16 */ { "queues", "__pthread_mutex_lock", "GLIBC_2.2.5" },
	/* 17 */ { "queues", "mq_timedsend", "GLIBC_2.34" },
	/* 18 */ { "queues", "thrd_yield", "GLIBC_2.28" },
};

START_TEST(test_binding)
{
	static char text[1 << 20];
	char target[64];
	snprintf(target, sizeof(target), "tests/targets/%s", bindings[_i].target);
	read_bindings(target, text, sizeof(text));
	ck_assert_msg(is_bound(text, bindings[_i].symbol, bindings[_i].version),
		      "%s %s is not bound to us:\n%s", bindings[_i].symbol, bindings[_i].version,
		      text);
}
END_TEST

SUITE()
{
	EACH(test_binding, bindings);
}
