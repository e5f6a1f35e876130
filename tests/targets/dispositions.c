/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: a program that sets signal 16, in whatever way and process, is told and gets
 * what it would without us. Threads compute meanwhile.
 */
#include "sampled.h"

#include <errno.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern sighandler_t __sysv_signal(int, sighandler_t);

enum { TAKERS = 3 };

static void handler(int number)
{
	(void)number;
	got++;
}

static const char *name_of(sighandler_t which)
{
	return which == SIG_DFL   ? "default"
	       : which == SIG_IGN ? "ignored"
	       : which == SIG_ERR ? "error"
	       : which == handler ? "own"
				  : "foreign";
}

static void say_action(const char *when, const struct sigaction *action)
{
	printf("%s: %s, flags %x, mask %lx\n", when, name_of(action->sa_handler),
	       (unsigned)action->sa_flags & 0xfbffffff, action->sa_mask.__val[0]);
}

static void say_now(const char *when)
{
	struct sigaction now;
	memset(&now, 0, sizeof(now));
	printf("%d ", sigaction(OURS, NULL, &now));
	say_action(when, &now);
}

/* --- Answers --- */

static void told(void)
{
	struct sigaction to = { .sa_handler = SIG_DFL }, from;

	burn(BURN_MS);
	say_now("1 at first");
	printf("2 %d\n", sigaction(OURS, &to, NULL));
	say_now("3 reset");
	to.sa_flags = SA_RESTART | SA_NODEFER;
	sigaddset(&to.sa_mask, SIGUSR1);
	printf("4 %d\n", sigaction(OURS, &to, &from));
	say_action("5 before", &from);
	say_now("6 with flags");
	printf("7 %s\n", name_of(signal(OURS, SIG_DFL)));
	say_now("8 by signal");
	printf("9 %s\n", name_of(__sysv_signal(OURS, SIG_DFL)));
	say_now("a by sysv_signal");
	burn(BURN_MS);
	to.sa_handler = handler;
	printf("b %d\n", sigaction(OURS, &to, &from));
	say_action("c before own", &from);
	say_now("d own");
	raise(OURS);
	printf("e %s\n", name_of(signal(OURS, SIG_IGN)));
	raise(OURS);
	printf("f %s\n", name_of(signal(OURS, SIG_DFL)));
	burn(BURN_MS);
	printf("got %d\n", got);
}

/* --- Whoever takes it --- */

static void by_sigaction(void)
{
	struct sigaction to = { .sa_handler = handler };
	say_now("before");
	printf("%d\n", sigaction(OURS, &to, NULL));
}

static void by_signal(void)
{
	printf("%s\n", name_of(signal(OURS, handler)));
}

static void by_bsd_signal(void)
{
	sighandler_t (*volatile call)(int, sighandler_t) = ssignal;
	printf("%s\n", name_of(call(OURS, handler)));
}

static void by_sysv_signal(void)
{
	printf("%s\n", name_of(__sysv_signal(OURS, handler)));
	burn(BURN_MS);
	printf("%s\n", name_of(signal(OURS, handler)));
}

static void by_sigset(void)
{
	printf("%s\n", name_of(sigset(OURS, handler)));
}

static void by_sighold(void)
{
	printf("%s\n", name_of(sigset(OURS, SIG_HOLD)));
	burn(BURN_MS);
	printf("%s\n", name_of(sigset(OURS, handler)));
}

static void by_sigignore(void)
{
	printf("%d\n", sigignore(OURS));
	say_now("ignored");
	printf("%s\n", name_of(signal(OURS, handler)));
}

static void by_siginterrupt(void)
{
	printf("%d\n", siginterrupt(OURS, 1));
	say_now("interrupts");
	printf("%s\n", name_of(signal(OURS, handler)));
	say_now("own");
}

struct kernel_action {
	sighandler_t handler;
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static void by_syscall(void)
{
	struct kernel_action from = { 0 }, to = { .handler = SIG_IGN };
	long result = syscall(SYS_rt_sigaction, OURS, NULL, &from, 8);
	printf("%ld %s %lx %lx\n", result, name_of(from.handler), from.flags, from.mask);
	result = syscall(SYS_rt_sigaction, OURS, &to, &from, 8);
	printf("%ld %s %lx %lx\n", result, name_of(from.handler), from.flags, from.mask);
	printf("%ld", syscall(SYS_rt_sigaction, OURS, bad_address(), NULL, 8));
	printf(" %d\n", errno);
	printf("%s\n", name_of(signal(OURS, handler)));
}

static void by_signalfd(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	int fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	struct signalfd_siginfo info;
	burn(BURN_MS);
	printf("%zd\n", read(fd, &info, sizeof(info)));
	printf("%d", signalfd(-1, bad_address(), 0));
	printf(" %d\n", errno);
	printf("%s\n", name_of(signal(OURS, handler)));
	close(fd);
}

static void take_in_handler(int number)
{
	(void)number;
	signal(OURS, handler);
}

static void by_handler(void)
{
	signal(SIGUSR1, take_in_handler);
	raise(SIGUSR1);
}

static void *take_in_thread(void *unused)
{
	signal(OURS, handler);
	return unused;
}

static void by_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, take_in_thread, NULL);
	pthread_join(thread, NULL);
}

static void *take_often(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		signal(OURS, SIG_DFL);
		burn(1);
		signal(OURS, handler);
	}
	return unused;
}

static void by_several(void)
{
	pthread_t threads[TAKERS];
	for (int i = 0; i < TAKERS; i++)
		pthread_create(&threads[i], NULL, take_often, NULL);
	for (int i = 0; i < TAKERS; i++)
		pthread_join(threads[i], NULL);
}

/* A signal that was sent before is still there. */
static void by_waiting_for_it(void)
{
	sigset_t set, pending;
	sigemptyset(&set);
	sigaddset(&set, OURS);
	sigprocmask(SIG_BLOCK, &set, NULL);
	burn(BURN_MS);
	sigpending(&pending);
	printf("pending %d\n", sigismember(&pending, OURS));
	raise(OURS);
	sigpending(&pending);
	printf("pending %d\n", sigismember(&pending, OURS));
	signal(OURS, handler);
	sigpending(&pending);
	printf("pending %d\n", sigismember(&pending, OURS));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	got--;
}

#define TAKEN(way)                              \
	static void taken_##way(void)           \
	{                                       \
		workers_begin();                \
		by_##way();                     \
		workers_end();                  \
		raise(OURS);                    \
		printf("in the end %d\n", got); \
	}
TAKEN(sigaction)
TAKEN(signal)
TAKEN(bsd_signal)
TAKEN(sysv_signal)
TAKEN(sigset)
TAKEN(sighold)
TAKEN(sigignore)
TAKEN(siginterrupt)
TAKEN(syscall)
TAKEN(signalfd)
TAKEN(handler)
TAKEN(thread)
TAKEN(several)
TAKEN(waiting_for_it)

/* --- Resets of all signals --- */

static void reset_all(void)
{
	struct sigaction to = { .sa_handler = SIG_DFL };
	for (int i = 1; i < NSIG; i++) {
		if (i % 2)
			sigaction(i, &to, NULL);
		else
			signal(i, SIG_DFL);
	}
}

static void resets(void)
{
	workers_begin();
	for (int i = 0; i < ROUNDS; i++) {
		reset_all();
		burn(2);
	}
	workers_end();
}

/* --- Children --- */

static void forks(void)
{
	workers_begin();
	for (int i = 0; i < 4; i++) {
		pid_t child = fork();
		if (child == 0) {
			if (i % 2)
				signal(OURS, i == 3 ? SIG_DFL : handler);
			else
				reset_all();
			burn(BURN_MS);
			_exit(i + got);
		}
		printf("%d ends %x\n", i, status_of(child));
	}
	say_now("still");
	workers_end();
}

/* They have dispositions of their own, and our memory. */
static void vforks(void)
{
	workers_begin();
	for (int i = 0; i < 4; i++) {
		sighandler_t before = SIG_ERR;
		volatile sighandler_t *told_to = (volatile sighandler_t *)&before;
		pid_t child = vfork();
		if (child == 0) {
			*told_to = signal(OURS, i % 2 ? SIG_IGN : SIG_DFL);
			execlp("sh", "sh", "-c", "grep SigIgn /proc/$$/status; kill -16 $$; exit 3",
			       (char *)NULL);
			_exit(127);
		}
		printf("%d was %s, ends %x\n", i, name_of(*told_to), status_of(child));
	}
	workers_end();
}

static void spawns(void)
{
	static char shell[] = "sh", option[] = "-c";
	static char command[] = "grep -E 'Sig(Pnd|Ign|Cgt|Blk)' /proc/self/status";
	char *argv[] = { shell, option, command, NULL };
	posix_spawnattr_t attributes;
	sigset_t all;
	char *none[] = { NULL };
	pid_t child;

	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	workers_begin();
	for (int i = 0; i < 4; i++)
		if (posix_spawnp(&child, "sh", NULL, i % 2 ? &attributes : NULL, argv, none) == 0)
			printf("ends %x\n", status_of(child));
	workers_end();
}

static const struct scenario scenarios[] = {
	{ "told", told },
	{ "sigaction", taken_sigaction },
	{ "signal", taken_signal },
	{ "bsd_signal", taken_bsd_signal },
	{ "sysv_signal", taken_sysv_signal },
	{ "sigset", taken_sigset },
	{ "sighold", taken_sighold },
	{ "sigignore", taken_sigignore },
	{ "siginterrupt", taken_siginterrupt },
	{ "syscall", taken_syscall },
	{ "signalfd", taken_signalfd },
	{ "handler", taken_handler },
	{ "thread", taken_thread },
	{ "several", taken_several },
	{ "waiting_for_it", taken_waiting_for_it },
	{ "resets", resets },
	{ "forks", forks },
	{ "vforks", vforks },
	{ "spawns", spawns },
};

SCENARIOS_MAIN
