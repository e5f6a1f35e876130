/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions to be probed: each passes or leaves values in a way of its own, and each result is
 * checked. Reads a number of rounds, plays them on four threads, and says "done"; ends silently
 * with status 1 where a result is wrong.
 *
 *	alarms  a handler calls them as well, all the time
 *	fork    a child plays the rounds
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define PROBED static __attribute__((noinline, used))
#else
#define PROBED static __attribute__((noinline, noclone, used))
#endif
/* Nothing is known of memory behind it. */
#define WALL __asm__ volatile("" ::: "memory")

enum { THREADS = 4, ALARM_US = 300 };

typedef float vector __attribute__((vector_size(16)));
struct large {
	long parts[6];
};

static int rounds;
static volatile int zero; /* so that a function is longer than a jump */

int brief(void);
__asm__(".pushsection .text\nbrief:\n	xor %eax, %eax\n	ret\n"
	".type brief, @function\n.size brief, . - brief\n.popsection\n");

PROBED int sum(int a, int b)
{
	return a + b + zero;
}

PROBED int depth(int n)
{
	int below = n ? depth(n - 1) : -1;

	WALL; /* or it would be a loop */
	return below + 1 + zero;
}

PROBED void jumps(jmp_buf *to, int value)
{
	WALL;
	if (value)
		longjmp(*to, value);
}

PROBED void *leaves(void *result)
{
	WALL;
	if (result)
		pthread_exit(result);
	return result;
}

PROBED vector vectors(vector a, vector b, double c, double d)
{
	WALL;
	return a + b * (float)(c - d);
}

PROBED double scale(double factor, float part, int n)
{
	WALL;
	return factor * n + (double)part;
}

PROBED long registers(long a, long b, long c, long d, long e, long f)
{
	WALL;
	return a ^ b * 3 ^ c * 5 ^ d * 7 ^ e * 11 ^ f * 13;
}

PROBED __int128 pair(long high, unsigned long low)
{
	WALL;
	return (__int128)high << 64 | low;
}

PROBED long double third(int n)
{
	WALL;
	return (long double)n / 3;
}

PROBED struct large large(long first)
{
	struct large made;

	WALL;
	for (int i = 0; i < 6; i++)
		made.parts[i] = first + i;
	return made;
}

PROBED int words(const char *word)
{
	WALL;
	return word[0] + zero;
}

PROBED int many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	WALL;
	return a + b + c + d + e + f + g * h;
}

/* Its caller may rely on registers that it leaves alone: this one needs few. */
PROBED int alone(int a, int b)
{
	return a * 3 + b;
}

static void check(int is_right)
{
	if (!is_right)
		_exit(1);
}

static void check_jump(int value)
{
	jmp_buf here;
	volatile int kept = value;
	int came = setjmp(here);

	if (came == 0)
		jumps(&here, kept);
	check(came == kept);
}

static void check_vectors(int n)
{
	vector v = vectors((vector){ 1, 2, 3, 4 }, (vector){ (float)n, 1, 1, 1 }, 3, 1);

	check(v[0] == 1 + 2 * (float)n && v[3] == 6);
	check(scale(n * 0.5 - 1, -0.25F, 3) == n * 1.5 - 3.25);
}

static void check_all(int n)
{
	struct large made = large(n);
	int a = n * 7, b = n ^ 5, c = n + 11;
	char word[16];

	check(sum(n, 2) == n + 2);
	check(depth(n % 30) == n % 30);
	check_jump(n % 3);
	check_vectors(n);
	check(registers(n, 1, 2, 3, 4, 5) == (n ^ 3 ^ 10 ^ 21 ^ 44 ^ 65));
	check(pair(n, 9) == ((__int128)n << 64 | 9));
	check(third(n) == (long double)n / 3);
	check(many(1, 2, 3, 4, 5, 6, n, 2) == 21 + 2 * n);
	check(brief() == 0);
	snprintf(word, sizeof(word), "word %d", n);
	check(words(word) == 'w');
	for (int i = 0; i < 6; i++)
		check(made.parts[i] == n + i);
	check(alone(n, 2) + a * b + c == n * 3 + 2 + (n * 7) * (n ^ 5) + n + 11);
}

static void *leave(void *result)
{
	(void)leaves(NULL);
	return leaves(result);
}

static void *play(void *first)
{
	for (int i = 0; i < rounds; i++) {
		pthread_t thread;
		void *result;

		check_all(i % 100);
		if (!first)
			continue;
		check(pthread_create(&thread, NULL, leave, &rounds) == 0);
		check(pthread_join(thread, &result) == 0 && result == &rounds);
	}
	return NULL;
}

/* The first alone has counted calls. */
static void play_all(int threads)
{
	pthread_t others[THREADS];

	for (int i = 1; i < threads; i++)
		check(pthread_create(&others[i], NULL, play, NULL) == 0);
	(void)play(&rounds);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
}

static void on_alarm(int number)
{
	check(sum(number, 1) == number + 1);
	check(depth(5) == 5);
}

static void play_in_child(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		play_all(1);
		_exit(0);
	}
	check(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	const struct itimerval often = { { 0, ALARM_US }, { 0, ALARM_US } };

	if (strcmp(how, "alarms") == 0) {
		struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &often, NULL);
	}
	puts("ready");
	fflush(stdout);
	while (scanf("%d", &rounds) == 1) {
		if (strcmp(how, "fork") == 0)
			play_in_child();
		play_all(strcmp(how, "alarms") == 0 ? THREADS : 1);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
