/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's life in a process: start, threads' ends, fork, end.
 *
 * This is the first constructor of all (-z initfirst), before libc's own. It resolves, and asks
 * whether a filter of system calls forbids the rest. Then come the key that tells of threads' ends,
 * and the handlers around fork and at quick_exit. Last the recorder, which opens the gate. The key
 * comes early so that its number is low and setting it never allocates. Handlers registered first
 * run last before and first after a fork, and last at an exit.
 *
 * A thread's end is heard of by the key's destructor, after C++ thread_local objects and other
 * keys' destructors. It re-arms itself until the last round, so that their calls are still
 * recorded. Threads: the constructor runs alone; hooks_set_up() in any thread; the destructor in
 * the one that ends.
 */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "guests.h"
#include "hooks.h"
#include "program.h"
#include "slots.h"
#include "watch.h"

__thread struct hooks_thread hooks_thread;

static __thread unsigned char rounds_left;
static pthread_key_t thread_key;
static bool has_thread_key;

/* Relaxed is enough: written before any thread exists, but for calls from earlier constructors. */
static bool is_resolved;
static bool is_started;

void hooks_resolve_once(void)
{
	if (__atomic_load_n(&is_resolved, __ATOMIC_ACQUIRE))
		return;
	hooks_resolve();
	__atomic_store_n(&is_resolved, true, __ATOMIC_RELEASE);
}

void hooks_set_up(bool may_create_thread)
{
	hooks_resolve_once();
	if (__atomic_load_n(&is_started, __ATOMIC_ACQUIRE))
		recorder_wake_up(may_create_thread);
}

/* Runs in each round of destructors; the thread ends for us in the last one that libc promises. */
static void thread_leaves(void *unused)
{
	(void)unused;
	if (rounds_left > 0) {
		rounds_left--;
		pthread_setspecific(thread_key, &hooks_thread);
		return;
	}
	watch_thread_ends((const void *)pthread_self());
	thread_end();
}

void hooks_arm_thread(struct self *self)
{
	hooks_thread.is_armed = true;
	publishers_find();
	watch_publish_thread(self, (const void *)pthread_self());
	if (!has_thread_key)
		return;
	rounds_left = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
	pthread_setspecific(thread_key, &hooks_thread);
}

/* The child has one thread, and no op that it began as its parent. */
static void child_begins(void)
{
	for (int i = 0; i < READ_HOLDS_MAX; i++)
		hooks_thread.read_holds[i].lock = NULL;
	for (int i = 0; i < LOCKS_HELD_MAX; i++)
		hooks_thread.held[i].lock = NULL;
	recorder_fork_child();
	slots_fork_done();
}

/*
 * --- A thread that libc does not count --- The last of a program's threads to end by
 * pthread_exit() or from its start routine ends the process. libc counts threads for that, and its
 * count has the control thread in it. It is taken out, so that such a program still ends; were it
 * ever to end itself, libc would take it out again.
 */

static void *(*uncounted_start)(void *);

static void *uncounted_main(void *argument)
{
	void *result = uncounted_start(argument);
	__atomic_add_fetch(hooks_libc_threads, 1, __ATOMIC_RELAXED);
	return result;
}

static int create_uncounted(pthread_t *thread, const pthread_attr_t *attributes,
			    void *(*start)(void *), void *argument)
{
	if (!hooks_libc_threads)
		return real.pthread_create(thread, attributes, start, argument);
	uncounted_start = start;
	int result = real.pthread_create(thread, attributes, uncounted_main, argument);
	if (result == 0)
		__atomic_sub_fetch(hooks_libc_threads, 1, __ATOMIC_RELAXED);
	return result;
}

/* --- A library that was opened late --- */

static void fork_prepare(void)
{
	slots_fork_prepare();
	recorder_fork_prepare();
}

static void fork_parent(void)
{
	recorder_fork_parent();
	slots_fork_done();
}

__attribute__((visibility("default"))) void wcprof_attach(void)
{
	if (__atomic_load_n(&is_started, __ATOMIC_ACQUIRE))
		recorder_attach();
}

static void image_ends(void)
{
	recorder_image_ends(END_EXIT);
}

/*
 * --- A sanitizer begins before us --- It would begin at our first call of a function that it has
 * replaced. It takes the stack that it begins on for the main thread's. ThreadSanitizer does not
 * even begin then, and crashes in the first thread that we create.
 */

#define SANITIZER_BEGINS(name) extern void name(void) __attribute__((weak))
SANITIZER_BEGINS(__asan_init);
SANITIZER_BEGINS(__msan_init);
SANITIZER_BEGINS(__tsan_init);

static void begin_sanitizer(void)
{
	static void (*const begins[])(void) = { __asan_init, __msan_init, __tsan_init };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (begins[i])
			begins[i]();
}

__attribute__((constructor)) static void library_begins(int argc, char **argv, char **envp)
{
	static struct recorder_host host = {
		.call_names = hooks_call_names,
		.call_count = CALL_COUNT,
		.functions = (const void *const *)&real,
		.function_count = HOOK_COUNT,
	};

	(void)argc;
	(void)argv;
	hooks_resolve_once();
	if (!environ)
		environ = envp; /* libc's constructor, which sets the same, comes after ours */
	if (recorder_is_shut_out())
		return;
	begin_sanitizer();
	if (!hooks_are_late())
		guests_find();
	publishers_find();
	has_thread_key = pthread_key_create(&thread_key, thread_leaves) == 0;
	pthread_atfork(fork_prepare, fork_parent, child_begins);
	at_quick_exit(image_ends);
	host.is_go = program_is_go();
	host.thread_create = create_uncounted;
	if (hooks_are_late()) {
		host.point_calls = slots_point;
		host.look_for_objects = slots_look;
	}
	recorder_start(&host);
	__atomic_store_n(&is_started, true, __ATOMIC_RELEASE);
}

/* By exit(), which writes what lies in the streams after the last of all destructors. */
__attribute__((destructor)) static void library_ends(void)
{
	hooks_streams_end(CALLER);
	image_ends();
}
