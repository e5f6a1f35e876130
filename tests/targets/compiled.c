/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer: main calls run_script, which calls script_step, which sleeps for 1 ms, ten times.
 * script_step is code made at run time, named in the file of names that its writer keeps for
 * profilers. With an argument, there is no such file.
 */
#include "scenario.h"

#include <string.h>
#include <sys/mman.h>

enum { CODE_BYTES = 4096, SLEEPS = 10 };

typedef int step_code(int (*call)(useconds_t), useconds_t argument);

/* push %rbp; mov %rsp, %rbp; mov %rdi, %rax; mov %esi, %edi; call *%rax; pop %rbp; ret */
static const unsigned char step_bytes[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
					    0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3 };

static step_code *make_step(void)
{
	void *code =
		mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	step_code *step;

	if (code == MAP_FAILED)
		abort();
	memcpy(code, step_bytes, sizeof(step_bytes));
	if (mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC))
		abort();
	*(void **)&step = code;
	return step;
}

static void write_names(step_code *step)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	file = fopen(path, "w");
	if (!file)
		abort();
	fprintf(file, "%lx %x script_step\n", (unsigned long)*(void **)&step, CODE_BYTES);
	fclose(file);
}

static __attribute__((noinline)) void run_script(step_code *step)
{
	for (int i = 0; i < SLEEPS; i++)
		step(usleep, 1000);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	step_code *step = make_step();

	(void)argv;
	if (argc == 1)
		write_names(step);
	run_script(step);
	printf("%d\n", (int)getpid());
	return 0;
}
