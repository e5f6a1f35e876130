/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of its caller's stack each hook takes for itself. Below the library libc's functions are
 * replaced by one that does nothing. So each row of the hooks' table is called on painted stacks.
 *
 * usage: rows REAL FORGET SYMBOL... -- where `real` and stack_forget_all() are in the library, as
 * nm prints them. test_stack_budget makes the file TABLE from the library's, and compiles this.
 * Prints for each row and kind of stack: symbol, kind, bytes without the hook, bytes with it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 15, ARGUMENTS_MAX = 8, REAL_MAX = 2000 };

#include "../targets/stack_kinds.h"

struct row {
	const char *symbol;
	const char *version;   /* "" = the usual one */
	const char *arguments; /* a letter each: pointer, string, function, stream or descriptor */
	bool never_returns;
	bool is_pointer; /* so is its result */
	bool is_kept;    /* libc's function is not replaced */
};

static const struct row rows[] = {
#include TABLE
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const long results[] = { 0, -1, 16 /* EBUSY */, 7 };

static void **real;
static void (*forget)(void);
static char zeros[1 << 16] __attribute__((aligned(64)));
static char path[300];

/* --- The call --- */

static struct {
	long (*function)(long, long, long, long, long, long, long, long);
	long arguments[ARGUMENTS_MAX];
	long result;
	void *real[REAL_MAX];
	size_t used;
	uint32_t is_done;
} call;

static sigjmp_buf back_to_run;

/* No hook hears of it. */
static void raw_call(long number, const void *first, long second, long third)
{
	register long fourth __asm__("r10") = 0;

	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(first), "S"(second), "d"(third), "r"(fourth)
			 : "rcx", "r11", "memory");
}

/* For longer than what cannot have blocked: brief calls are not recorded at all. */
static long do_nothing(void)
{
	const struct timespec pause = { 0, 10000 };

	raw_call(SYS_nanosleep, &pause, 0, 0);
	return call.result;
}

static void swap_real(void)
{
	for (int i = 0; i < ROWS; i++) {
		void *other = call.real[i];

		call.real[i] = real[i];
		real[i] = other;
	}
}

/* The jump is a call of libc's, too. */
static void leave(void)
{
	swap_real();
	siglongjmp(back_to_run, 1);
}

static __attribute__((noinline)) void run_call(void)
{
	const long *a = call.arguments;

	call.function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

/* Paints the stack below itself, and sees how much of the paint is left. */
static __attribute__((noinline)) void run(void)
{
	volatile size_t untouched = 0;
	char *here;

	__asm__ volatile("mov %%rsp, %0" : "=r"(here));
	here -= MARGIN_BYTES;
	swap_real();
	memset(stack, PAINT, (size_t)(here - stack));
	if (sigsetjmp(back_to_run, 0) == 0) {
		run_call();
		swap_real();
	}
	while (stack + untouched < here && stack[untouched] == PAINT)
		untouched++;
	call.used = (size_t)(here - stack) - untouched;
	__atomic_store_n(&call.is_done, 1, __ATOMIC_RELEASE);
	raw_call(SYS_futex, &call.is_done, FUTEX_WAKE, 1);
}

static void use_nothing(void)
{
}

/* --- Stacks --- */

static void on_thread(void)
{
	pthread_t thread = start_thread();

	/* Not joined while libc's functions are replaced. */
	while (!__atomic_load_n(&call.is_done, __ATOMIC_ACQUIRE))
		raw_call(SYS_futex, &call.is_done, FUTEX_WAIT, 0);
	pthread_join(thread, NULL);
}

/* --- Rows --- */

/* Of another kind each time, and not described yet. */
static long fresh_descriptor(void)
{
	static unsigned count;
	int pair[2];

	switch (count++ % 3) {
	case 0:
		return open("/etc/passwd", O_RDONLY);
	case 1:
		return pipe(pair) == 0 ? (close(pair[1]), pair[0]) : -1;
	default:
		return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 ? (close(pair[1]), pair[0])
								      : -1;
	}
}

static long argument(char letter, long descriptor)
{
	switch (letter) {
	case 'p':
		return (long)zeros;
	case 's':
		return (long)path;
	case 'f':
		return (long)use_nothing;
	case 'S':
		return (long)stdin;
	default:
		return descriptor;
	}
}

static size_t measure(const struct row *row, size_t kind, void *function, long result)
{
	long descriptor = fresh_descriptor();

	memset(zeros, 0, sizeof(zeros));
	call.function = (long (*)(long, long, long, long, long, long, long, long))function;
	for (size_t i = 0; i < ARGUMENTS_MAX; i++)
		call.arguments[i] =
			i < strlen(row->arguments) ? argument(row->arguments[i], descriptor) : 0;
	call.result = result;
	for (int i = 0; i < ROWS; i++)
		call.real[i] = rows[i].is_kept         ? real[i]
			       : rows[i].never_returns ? (void *)leave
						       : (void *)do_nothing;
	call.is_done = 0;
	forget();
	kinds[kind].run();
	close((int)descriptor);
	return call.used;
}

static void *find(const struct row *row)
{
	return row->version[0] ? dlvsym(RTLD_DEFAULT, row->symbol, row->version)
			       : dlsym(RTLD_DEFAULT, row->symbol);
}

static void measure_row(const struct row *row)
{
	void *hook = find(row);

	for (size_t kind = 0; kind < 3; kind++) {
		size_t bare = 0, hooked = 0;

		for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
			long result = row->is_pointer && i ? (long)zeros : results[i];
			size_t bytes = measure(row, kind, (void *)do_nothing, result);

			bare = bytes > bare ? bytes : bare;
			bytes = measure(row, kind, hook, result);
			hooked = bytes > hooked ? bytes : hooked;
		}
		printf("%s %s %zu %zu\n", row->symbol, kinds[kind].name, bare, hooked);
	}
}

static int find_library(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	if (strstr(info->dlpi_name, "libwcprof"))
		*(uintptr_t *)base = info->dlpi_addr;
	return 0;
}

int main(int count, char **arguments)
{
	uintptr_t base = 0;

	if (count < 4)
		return 2;
	dl_iterate_phdr(find_library, &base);
	if (!base)
		return 2;
	real = (void **)(base + strtoull(arguments[1], NULL, 16));
	forget = (void (*)(void))(base + strtoull(arguments[2], NULL, 16));
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(path, 'a', sizeof(path) - 1);
	memcpy(path, "/tmp/", 5);
	/* Else each pause takes 50 microseconds more. */
	prctl(PR_SET_TIMERSLACK, 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 3; i < count; i++)
		for (int k = 0; k < ROWS; k++)
			if (strcmp(arguments[i], rows[k].symbol) == 0)
				measure_row(&rows[k]);
	return 0;
}
