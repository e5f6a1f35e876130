/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: of jobs run two at a time, the big one at the end (work_b) decides. The many small
 * ones (work_a) do not, although they sum up to more. work_c after all of them counts in full.
 *
 * Patterns of several processes, each of which may be recorded on its own: fork, fork and exec, a
 * lock and pipes between processes. Only the parent starts and awaits children; children never
 * return. Not here: threads; whatever is waited for is another process.
 */
#include "truth.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { JOBS = 6, JOBS_AT_ONCE = 2, RELAY_STAGES = 2, SHARING = 3, BUILDERS = 4 };

static void die_if(int failed, const char *call)
{
	if (failed)
		die(strerror(errno), call);
}

static void wait_for_one(void)
{
	int status;

	die_if(wait(&status) < 0 || status, "wait");
}

/* Runs `job` in children, JOBS_AT_ONCE at a time; the last one is told that it is. */
static void run_jobs(void (*job)(int is_last))
{
	for (int i = 0; i < JOBS; i++) {
		pid_t child;

		if (i >= JOBS_AT_ONCE)
			wait_for_one();
		child = fork();
		die_if(child < 0, "fork");
		if (child == 0) {
			job(i == JOBS - 1);
			exit(0);
		}
	}
	for (int i = 0; i < JOBS_AT_ONCE; i++)
		wait_for_one();
	work_c();
}

static void job_here(int is_last)
{
	if (is_last)
		work_b();
	else
		work_a();
}

static void job_elsewhere(int is_last)
{
	static char small[] = "smalljob", big[] = "bigjob";
	char *arguments[] = { program_invocation_name, is_last ? big : small, NULL };

	execv(arguments[0], arguments);
	die(strerror(errno), arguments[0]);
}

/* forkjobs: the children work themselves. execjobs: they become another program, as make's do. */
static void forkjobs(void)
{
	run_jobs(job_here);
}

static void execjobs(void)
{
	run_jobs(job_elsewhere);
}

static void smalljob(void)
{
	work_a();
	exit(0);
}

static void bigjob(void)
{
	work_b();
	exit(0);
}

/* sharedlock: satlock across processes; work_a inside decides, work_b outside is hidden. */
static pthread_mutex_t *shared_lock(void)
{
	pthread_mutex_t *lock = mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attributes;

	die_if(lock == MAP_FAILED, "mmap");
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(lock, &attributes);
	return lock;
}

static void sharedlock(void)
{
	pthread_mutex_t *lock = shared_lock();
	long rounds = count_of("T_N");

	for (int i = 0; i < SHARING; i++) {
		pid_t child = fork();

		die_if(child < 0, "fork");
		if (child > 0)
			continue;
		for (long round = 0; round < rounds; round++) {
			pthread_mutex_lock(lock);
			work_a();
			pthread_mutex_unlock(lock);
			work_b();
		}
		exit(0);
	}
	for (int i = 0; i < SHARING; i++)
		wait_for_one();
}

/* relay: source (work_a) | filter (work_b) | sink (work_c), as in a shell; the slowest decides. */
static void relay_stage(int from, int to, long rounds, void (*work)(void))
{
	char letter = 'x';

	for (long i = 0; i < rounds; i++) {
		if (from >= 0)
			die_if(read(from, &letter, 1) != 1, "read");
		work();
		if (to >= 0)
			die_if(write(to, &letter, 1) != 1, "write");
	}
}

static void relay(void)
{
	void (*const works[RELAY_STAGES])(void) = { work_b, work_c };
	long rounds = count_of("T_N");
	int pipes[RELAY_STAGES][2];

	for (int i = 0; i < RELAY_STAGES; i++)
		die_if(pipe(pipes[i]), "pipe");
	for (int i = 0; i < RELAY_STAGES; i++) {
		pid_t child = fork();

		die_if(child < 0, "fork");
		if (child == 0) {
			relay_stage(pipes[i][0], i ? -1 : pipes[1][1], rounds, works[i]);
			exit(0);
		}
	}
	relay_stage(-1, pipes[0][1], rounds, work_a);
	for (int i = 0; i < RELAY_STAGES; i++)
		wait_for_one();
}

/* jobserver: builders whose jobs (work_a) need one of T_W bytes in a pipe; work_b needs none. */
static void jobserver_builder(const int ends[2], long rounds)
{
	char token;

	for (long i = 0; i < rounds; i++) {
		work_b();
		die_if(read(ends[0], &token, 1) != 1, "read");
		work_a();
		die_if(write(ends[1], &token, 1) != 1, "write");
	}
	exit(0);
}

static void jobserver(void)
{
	long rounds = count_of("T_N");
	int ends[2];

	die_if(pipe(ends), "pipe");
	for (int i = 0; i < count_of("T_W"); i++)
		die_if(write(ends[1], "+", 1) != 1, "write");
	for (int i = 0; i < BUILDERS; i++) {
		pid_t child = fork();

		die_if(child < 0, "fork");
		if (child == 0)
			jobserver_builder(ends, rounds);
	}
	for (int i = 0; i < BUILDERS; i++)
		wait_for_one();
}

/* signalled: as forkjobs, but SIGCHLD says that a child ended, as in shells. */
static void on_child(int number)
{
	(void)number;
}

static void wait_for_signal(const sigset_t *mask)
{
	int status;

	for (;;) {
		pid_t child = waitpid(-1, &status, WNOHANG);

		die_if(child < 0 || (child > 0 && status), "waitpid");
		if (child > 0)
			return;
		sigsuspend(mask);
	}
}

static void signalled(void)
{
	sigset_t children, before;
	long rounds = count_of("T_N");

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	die_if(sigprocmask(SIG_BLOCK, &children, &before), "sigprocmask");
	signal(SIGCHLD, on_child);
	for (long i = 0; i < rounds; i++) {
		pid_t child;

		if (i >= JOBS_AT_ONCE)
			wait_for_signal(&before);
		child = fork();
		die_if(child < 0, "fork");
		if (child == 0) {
			if (i % 3)
				work_a();
			else
				work_b();
			exit(0);
		}
	}
	for (int i = 0; i < JOBS_AT_ONCE; i++)
		wait_for_signal(&before);
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = { { "forkjobs", forkjobs },
						   { "execjobs", execjobs },
						   { "smalljob", smalljob },
						   { "bigjob", bigjob },
						   { "relay", relay },
						   { "sharedlock", sharedlock },
						   { "jobserver", jobserver },
						   { "signalled", signalled },
						   { NULL, NULL } };

	return truth_main(argc, argv, patterns);
}
