/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: the thread that comes and goes (work_a, work_c) waits for a quantum each time that it
 * wants the lock. Halving its sleep outside does not change that. A lock of the program is what its
 * threads wait for (library), not the interpreter.
 *
 * An interpreter: all that its threads do is under one lock, but for calls that may take long. A
 * thread that has waited for the lock for a quantum asks for it. The one that has it looks after
 * each piece of its program whether it is asked. If so, it hands the lock over, and waits until
 * another thread has it. Threads: the lock's state is guarded by its mutex, the number of switches
 * by one of its own. Not here: signals, and threads that end while others wait for them.
 */
#include "truth.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { QUANTUM_NS = 5000000 };

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t switch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_free, has_switched = PTHREAD_COND_INITIALIZER;
static bool is_locked;
static atomic_bool is_asked;
static atomic_ulong switches;

/* False: the quantum is over, and the lock is where it was. */
static bool wait_a_quantum(void)
{
	unsigned long before = switches;
	struct timespec deadline = to_timespec(now_ns() + QUANTUM_NS);

	return pthread_cond_timedwait(&is_free, &state_lock, &deadline) != ETIMEDOUT ||
	       !is_locked || switches != before;
}

static void take(void)
{
	pthread_mutex_lock(&state_lock);
	while (is_locked)
		if (!wait_a_quantum())
			is_asked = true;
	is_locked = true;
	pthread_mutex_lock(&switch_lock);
	switches++;
	pthread_cond_signal(&has_switched);
	pthread_mutex_unlock(&switch_lock);
	is_asked = false;
	pthread_mutex_unlock(&state_lock);
}

static void drop(void)
{
	pthread_mutex_lock(&state_lock);
	is_locked = false;
	pthread_cond_signal(&is_free);
	pthread_mutex_unlock(&state_lock);
}

static void hand_over(void)
{
	unsigned long before = switches;

	drop();
	pthread_mutex_lock(&switch_lock);
	while (switches == before)
		pthread_cond_wait(&has_switched, &switch_lock);
	pthread_mutex_unlock(&switch_lock);
	take();
}

static void *compute(void *unused UNUSED)
{
	take();
	for (;;) {
		work_b();
		if (is_asked)
			hand_over();
	}
	return NULL;
}

/* fetch: work_a is a call that takes long, what it brought is read (work_c) under the lock. */
static void fetch(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, compute, NULL))
		die("cannot be started", "a thread");
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		take();
		work_c();
		drop();
	}
}

/*
 * library: threads share a lock of their program (work_c, which takes long), and work beside it
 * (work_a). A thread that tries it in vain gives the interpreter back while it waits, as for all
 * that takes long. work_b is what needs the interpreter.
 */
static sem_t program_lock;

static void leave_and(void (*work)(void))
{
	drop();
	work();
	take();
}

static void wait_for_permit(void)
{
	while (sem_wait(&program_lock))
		;
}

static void *client(void *unused UNUSED)
{
	take();
	for (long i = count_of("T_N"); i > 0; i--) {
		leave_and(work_a);
		work_b();
		if (sem_trywait(&program_lock))
			leave_and(wait_for_permit);
		leave_and(work_c);
		if (i % 3 == 0)
			leave_and(work_d);
		sem_post(&program_lock);
	}
	drop();
	return NULL;
}

static void library(void)
{
	sem_init(&program_lock, 0, 1);
	start_many(count_of("T_W"), client);
	join_all();
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = { { "fetch", fetch },
						   { "library", library },
						   { NULL, NULL } };
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&is_free, &monotonic);
	return truth_main(argc, argv, patterns);
}
