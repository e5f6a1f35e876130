/* SPDX-License-Identifier: Apache-2.0 */
/* Answer expected: a program with the note of Go's linker, which takes signals without libc. */
#include "scenario.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

__asm__(".pushsection .note.go.buildid, \"a\", @note\n"
	".balign 4\n"
	".long 4, 4, 4\n"
	".asciz \"Go\\0\"\n"
	".asciz \"abc\"\n"
	".popsection\n");

static volatile unsigned long sink;

static void burn(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 5;
	while (clock() < end)
		sink++;
}

/* As its runtime does: by an instruction of its own. */
static void takes_all(void)
{
	unsigned long action[4] = { (unsigned long)SIG_DFL, 0, 0, 0 };
	long result = 0;

	burn();
	for (long i = 1; i < 32; i++) {
		register unsigned long *from __asm__("rdx") = NULL;
		register long bytes __asm__("r10") = 8;
		__asm__ volatile("syscall"
				 : "=a"(result)
				 : "a"((long)SYS_rt_sigaction), "D"(i), "S"(action), "d"(from),
				   "r"(bytes)
				 : "rcx", "r11", "memory");
	}
	burn();
	puts("alive");
}

static const struct scenario scenarios[] = { { "takes_all", takes_all } };

SCENARIOS_MAIN
