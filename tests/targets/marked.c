/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places within functions to be probed: marks of its authors (USDT), and lines. Reads a number of
 * rounds, plays them, and says "done" and in how many somebody looked at the guarded mark. Each
 * result is checked: where one is wrong, it ends silently with status 1.
 *
 *	threads   four threads play, and a handler of SIGALRM as well, all the time
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#ifdef __clang__ /* which makes no clones */
#define LEFT_ALONE __attribute__((noinline, used))
#else
#define LEFT_ALONE __attribute__((noinline, noclone, used))
#endif
/* As <sys/sdt.h> does it: a nop, and a note that says where it is and where the arguments are. */
#define MARK(name, semaphore, arguments, ...)                         \
	__asm__ volatile("990:	nop\n"                                 \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n" \
			 ".balign 4\n"                                \
			 ".4byte 992f-991f, 994f-993f, 3\n"           \
			 "991:	.asciz \"stapsdt\"\n"                  \
			 "992:	.balign 4\n"                           \
			 "993:	.8byte 990b, 0, " #semaphore "\n"     \
			 ".asciz \"marked\"\n"                        \
			 ".asciz \"" #name "\"\n"                     \
			 ".asciz \"" arguments "\"\n"                 \
			 "994:	.balign 4\n"                           \
			 ".popsection\n" ::__VA_ARGS__)

enum { THREADS = 4, ALARM_US = 300, TABLE = 64 };

__extension__ unsigned short guarded_semaphore __attribute__((section(".probes")));
static int rounds;
static volatile int zero;
static long numbers[TABLE];

/* It has no frame, and its variables are below the stack pointer. */
LEFT_ALONE static int leaf(int number)
{
	volatile int below[8];

	for (int i = 0; i < 8; i++)
		below[i] = number + i;
	MARK(leaf, 0, "-4@%0 4@$7", "r"(number));
	for (int i = 0; i < 8; i++)
		number += below[i] - i;
	return number;
}

/* The comparison before the mark is asked for behind it. */
LEFT_ALONE static int flags(long number, long other)
{
	int is_less, is_carry;

	__asm__ volatile("cmp %2, %3\n"
			 "990:	nop\n"
			 "mov %2, %%rax\n"
			 "setl %b0\n"
			 "setc %b1\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991:	.asciz \"stapsdt\"\n"
			 "992:	.balign 4\n"
			 "993:	.8byte 990b, 0, 0\n"
			 ".asciz \"marked\"\n"
			 ".asciz \"flags\"\n"
			 ".asciz \"-8@%3 -8@%2\"\n"
			 "994:	.balign 4\n"
			 ".popsection\n"
			 : "=&q"(is_less), "=&q"(is_carry)
			 : "r"(other), "r"(number)
			 : "rax", "cc");
	return (is_less & 1) + 2 * (is_carry & 1);
}

LEFT_ALONE static int guarded(const char *word)
{
	if (__builtin_expect(*(volatile unsigned short *)&guarded_semaphore, 0) == 0)
		return 0;
	MARK(guarded, guarded_semaphore, "8@%0 8@%1", "r"(word), "m"(numbers[3]));
	return 1;
}

/* A loop jumps to what follows the nop, which is shorter than a jump. */
LEFT_ALONE static int looped(int number)
{
	__asm__ volatile("1:	nop\n"
			 "990:	nop\n"
			 "2:	dec %0\n"
			 "	jg 2b\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991:	.asciz \"stapsdt\"\n"
			 "992:	.balign 4\n"
			 "993:	.8byte 990b, 0, 0\n"
			 ".asciz \"marked\"\n"
			 ".asciz \"looped\"\n"
			 ".asciz \"\"\n"
			 "994:	.balign 4\n"
			 ".popsection\n"
			 : "+r"(number)::"cc");
	return number;
}

LEFT_ALONE static long lines(long first, int count)
{
	long sum = first;

	for (int i = 0; i < count; i++) {
		numbers[i] = sum;
		sum += numbers[i] * 3; /* probed */
		sum ^= i + zero;
	}
	return sum;
}

static void check(int is_right)
{
	if (!is_right)
		_exit(1);
}

static long lines_expected(long first, int count)
{
	for (int i = 0; i < count; i++)
		first = (first * 4) ^ i;
	return first;
}

static int check_all(int n)
{
	check(leaf(n) == n * 9);
	check(flags(n, 50) == (n < 50) + 2 * (n < 50));
	check(flags(-1 - n, 50) == 1);
	check(looped(n + 1) == 0);
	return guarded(n % 2 ? "odd" : "even");
}

static void *play(void *seen)
{
	int count = 0;

	for (int i = 0; i < rounds; i++)
		count += check_all(i % 100);
	if (seen)
		*(int *)seen = count;
	return NULL;
}

static void on_alarm(int number)
{
	check(leaf(number) == number * 9);
	check(flags(1, 2) == 3);
}

static int play_all(int threads)
{
	pthread_t others[THREADS];
	int seen = 0;

	for (int i = 1; i < threads; i++)
		check(pthread_create(&others[i], NULL, play, NULL) == 0);
	(void)play(&seen);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	for (int i = 0; i < rounds; i++)
		check(lines(i, 5) == lines_expected(i, 5));
	return seen;
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, ALARM_US }, { 0, ALARM_US } };
	int threads = 1;

	if (argc > 1 && strcmp(argv[1], "threads") == 0) {
		struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

		threads = THREADS;
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &often, NULL);
	}
	puts("ready");
	fflush(stdout);
	while (scanf("%d", &rounds) == 1) {
		printf("done %d\n", play_all(threads));
		fflush(stdout);
	}
	return 0;
}
