/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: signals that are sent in every way come to who waits for them in every way.
 * Errors are those of the calls.
 */
#include "scenario.h"

#include <limits.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

enum { NOBODY = INT_MAX - 1 };

static sigset_t waited;
static sem_t got;
static pthread_t listener;
static pid_t listener_tid;

static void *listen_for_signals(void *count)
{
	listener_tid = gettid();
	sem_post(&got);
	for (int i = 0; i < *(int *)count; i++) {
		int number = 0;
		int error = sigwait(&waited, &number);
		printf("%s came: %d\n", sigabbrev_np(number), error);
		sem_post(&got);
	}
	return NULL;
}

static void listener_starts(int *count)
{
	sigemptyset(&waited);
	sigaddset(&waited, SIGUSR1);
	sigaddset(&waited, SIGUSR2);
	sigaddset(&waited, SIGWINCH);
	pthread_sigmask(SIG_BLOCK, &waited, NULL);
	sem_init(&got, 0, 0);
	pthread_create(&listener, NULL, listen_for_signals, count);
	sem_wait(&got);
}

static void sent(const char *how, long result)
{
	int error = errno;
	if (result == 0)
		sem_wait(&got);
	errno = error;
	say_errno(how, result);
}

/* To a thread that waits, by each call. */
static void calls(void)
{
	int count = 8;
	union sigval value = { .sival_int = 7 };

	listener_starts(&count);
	errno = 4711;
	sent("kill", kill(getpid(), SIGUSR1));
	sent("tgkill", tgkill(getpid(), listener_tid, SIGUSR2));
	sent("sigqueue", sigqueue(getpid(), SIGUSR1, value));
	sent("pthread_kill", pthread_kill(listener, SIGUSR2));
	sent("pthread_sigqueue", pthread_sigqueue(listener, SIGUSR1, value));
	sent("SYS_kill", syscall(SYS_kill, getpid(), SIGUSR2));
	sent("SYS_tkill", syscall(SYS_tkill, listener_tid, SIGUSR1));
	sent("SYS_tgkill", syscall(SYS_tgkill, getpid(), listener_tid, SIGUSR2));
	printf("errno is as it was: %d\n", errno == 4711);
	pthread_join(listener, NULL);
	sent("nobody", kill(NOBODY, SIGUSR1));
	sent("what", kill(getpid(), 4711));
	say("pthread_kill", pthread_kill(pthread_self(), 4711));
	printf("is there: %d\n", kill(getpid(), 0));
}

static void answer(int number)
{
	int error = errno;
	kill(getppid(), number);
	errno = error;
}

/* A child that waits in each way, and answers each signal with one, from its handler or not. */
static void child_answers(int ready)
{
	sigset_t others = waited;
	siginfo_t info;
	struct signalfd_siginfo read_info;
	int fd = signalfd(-1, &waited, 0);

	sigdelset(&others, SIGWINCH);
	signal(SIGWINCH, answer);
	(void)!write(ready, "x", 1);
	sigwaitinfo(&waited, &info);
	answer(SIGUSR1);
	sigtimedwait(&waited, &info, &(struct timespec){ .tv_sec = 60 });
	answer(SIGUSR2);
	sigsuspend(&others);
	if (read(fd, &read_info, sizeof(read_info)) == sizeof(read_info))
		answer((int)read_info.ssi_signo);
	exit(0);
}

static void processes(void)
{
	static const int numbers[] = { SIGUSR1, SIGUSR2, SIGWINCH, SIGUSR1 };
	int count = sizeof(numbers) / sizeof(numbers[0]), ends[2], number;
	char byte;

	sigemptyset(&waited);
	sigaddset(&waited, SIGUSR1);
	sigaddset(&waited, SIGUSR2);
	sigaddset(&waited, SIGWINCH);
	pthread_sigmask(SIG_BLOCK, &waited, NULL);
	(void)!pipe(ends);
	pid_t child = fork();
	if (child == 0)
		child_answers(ends[1]);
	(void)!read(ends[0], &byte, 1);
	for (int i = 0; i < count; i++) {
		kill(child, numbers[i]);
		sigwait(&waited, &number);
		printf("%s is answered by %s\n", sigabbrev_np(numbers[i]), sigabbrev_np(number));
	}
	waitpid(child, NULL, 0);
}

static const struct scenario scenarios[] = { { "calls", calls }, { "processes", processes } };

SCENARIOS_MAIN
