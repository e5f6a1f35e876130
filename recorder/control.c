/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control thread. See control.h; verbs.c has what it understands.
 *
 * One thread serves all clients (clients.c) with non-blocking sockets and poll().
 *
 * The thread's first act is to leave the program's descriptor table and working directory. So
 * nothing that the program closes, duplicates or changes root to can touch it, and no child
 * inherits from it. All signals are blocked in it but glibc's own two, by which setuid() reaches
 * every thread. Nothing here may call libc for input or output, and nothing here records.
 */
#include "control.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "age.h"
#include "arena.h"
#include "aside.h"
#include "attached.h"
#include "budget.h"
#include "census.h"
#include "chunk.h"
#include "clients.h"
#include "clock.h"
#include "delays.h"
#include "gate.h"
#include "handout.h"
#include "idle.h"
#include "inlined.h"
#include "lease.h"
#include "leftovers.h"
#include "mark.h"
#include "objects.h"
#include "owncost.h"
#include "peers.h"
#include "probe_patch.h"
#include "probe_traps.h"
#include "quota.h"
#include "sampler.h"
#include "scope.h"
#include "self.h"
#include "slow.h"
#include "slow_text.h"
#include "snapshot.h"
#include "socket.h"
#include "spare.h"
#include "surplus.h"
#include "survey.h"
#include "switch.h"
#include "syscalls.h"
#include "trial.h"

#include "in_target.h"

enum {
	STACK_BYTES = 131072,
	/* How often a dump looks whether its reader has taken all, or a program that ends wants
	 * to write its own. */
	DUMP_TICK_MS = 5,
	/* While recording is on, so many chunks are ready, or what was used in two ticks. */
	READY_CHUNKS_LEAST = 8,
	READY_CHUNKS_MOST = 256,
	READY_TICK_MS = 10,
	READY_TICK_MS_MOST = 320,
	/* How often new stacks are looked at, for a trial. */
	SLOW_TICK_MS = 10,
	/* Most programs of a build have ended by then. */
	FOLLOWED_PAUSE_MS = 10,
	UNLINK_TRIES = 500,
	UNLINK_PAUSE_NS = 100000
};

/* The control thread's own. */
static struct {
	int listener;          /* < 0: there is no place for the socket */
	uint64_t chunks_taken; /* as of the last tick */
	int ready_tick_ms;
} control;

/* Of the socket's name in the file system: who ends the process removes it, and nobody makes it
 * after that. */
enum socket_state { SOCKET_NONE, SOCKET_STARTING, SOCKET_NAMED, SOCKET_ENDED };

/* The thread's while it is SOCKET_STARTING; empty: there is no file. */
static char socket_name[SOCKET_PATH_BYTES];
static uint32_t socket_state; /* enum socket_state */
static bool socket_has_own_directory;
static bool has_started; /* a thread, in this process or its parent */
static bool is_first;    /* the thread is the first one of a process that was started, not forked */

/* --- The thread ------------------------------------------------------------------------------ */

/* Memory is made ready here, so that the program's threads need not wait for it; seldom, when they
 * record little. */
static void prepare_memory(void)
{
	struct arena *arena = recorder_arena;
	uint64_t taken = load_relaxed(&arena->turn);
	uint32_t used = (uint32_t)(taken - control.chunks_taken);
	uint32_t wanted = 2 * used < READY_CHUNKS_LEAST ? READY_CHUNKS_LEAST : 2 * used;

	arena_tend(arena);
	chunk_prepare(arena, wanted < READY_CHUNKS_MOST ? wanted : READY_CHUNKS_MOST);
	control.chunks_taken = taken;
	if (used > 0)
		control.ready_tick_ms = READY_TICK_MS;
	else if (control.ready_tick_ms < READY_TICK_MS_MOST)
		control.ready_tick_ms *= 2;
}

/* Facts that the program's threads could not find out themselves. */
static void look_up(struct arena *arena)
{
	if ((!objects_are_wanted(arena) && !peers_are_wanted(arena)) || !snapshot_lock(arena))
		return;
	objects_place(arena);
	peers_find(arena);
	snapshot_unlock(arena);
}

static void age(struct arena *arena, uint64_t now_ns)
{
	if (!age_is_due(arena, now_ns) || !snapshot_lock(arena))
		return;
	(void)age_empty(arena,
			age_limit(arena, clock_now_ticks(), clock_own_rate(CLOCK_APART_LEAST_NS)));
	snapshot_unlock(arena);
}

/* Does whatever is due while recording is on. Returns how long until it is due again, -1 = not by
 * itself. */
static int do_what_is_due(uint64_t now_ns, bool is_trial)
{
	/* Pairs with try_to_open() of switch.c: while it is on, there is an arena. */
	bool is_on = load_acquire(&recorder_gate.mode) == GATE_ON;
	struct arena *arena = load_acquire(&recorder_arena);
	bool is_sampling = sampler_tick(is_on, now_ns);

	if (is_on) {
		prepare_memory();
		look_up(arena);
		leftovers_tick(arena, now_ns);
		idle_tick(arena, now_ns);
		quota_tick(arena, now_ns);
		slow_look(arena);
		attached_tick();
		owncost_note_control();
		age(arena, now_ns);
	}
	if (arena)
		surplus_tick(arena, now_ns);
	if (is_on && mark_gap_ticks != MARK_NEVER)
		delays_tick(arena, now_ns);
	if (clients_tick(now_ns))
		return DUMP_TICK_MS;
	if (probe_traps_tick())
		return SLOW_TICK_MS;
	if (is_on && inlined_tick(arena, now_ns))
		return INLINED_TICK_MS;
	if (is_trial || (is_on && ops_may_take_longer()))
		return SLOW_TICK_MS;
	if (is_sampling && control.ready_tick_ms > SAMPLER_TICK_MS)
		return SAMPLER_TICK_MS;
	if (is_on)
		return attached_wait_ms(control.ready_tick_ms);
	return arena ? surplus_wait_ms(arena, now_ns) : -1;
}

/* Of two waits; -1 = not by itself. */
static int sooner(int first_ms, int second_ms)
{
	return first_ms < 0 || (second_ms >= 0 && second_ms < first_ms) ? second_ms : first_ms;
}

static int tick(void)
{
	uint64_t now_ns = clock_take_pair().mono_ns;
	bool is_trial = trial_tick(now_ns);
	int slot_ms = budget_tick(now_ns, trial_is_on());
	int lease_ms = sooner(lease_tick(now_ns), probe_lease_tick(now_ns));
	int due_ms = do_what_is_due(now_ns, is_trial);

	return sooner(sooner(slot_ms, lease_ms), due_ms);
}

static void serve(void)
{
	struct pollfd polls[CLIENTS_MAX + 1];
	int timeout_ms = tick();

	clients_watch(polls);
	polls[CLIENTS_MAX] = (struct pollfd){ control.listener, POLLIN, 0 };
	/* Threads get their names after their beginning, and others later. */
	if (scope_goes_by_name())
		self_begin_period();
	if (sys_poll(polls, CLIENTS_MAX + 1, timeout_ms) <= 0)
		for (int i = 0; i <= CLIENTS_MAX; i++)
			polls[i].revents = 0;
	clients_serve(polls);
	if (polls[CLIENTS_MAX].revents)
		clients_accept(control.listener);
}

/* A program at its limit of tasks is not to print a line because of that. */
static void count_unattended(void)
{
	struct arena *arena = load_acquire(&recorder_arena);

	if (arena)
		arena_count(arena, COUNTER_unattended);
}

/* In a child, or once the program goes on with other rights, standard error may be anything. A
 * command that follows the arenas needs no socket. */
static void say(const char *what, const char *detail)
{
	if (is_first && !recorder_options.keep && gate_is_the_users())
		text_complain(what, detail);
}

static void complain(const char *what, const char *detail)
{
	count_unattended();
	say(what, detail);
}

/* Takes back all that a later thread would trip over. The descriptors go with the table. */
static void stop_serving(void)
{
	uint32_t named = SOCKET_NAMED;

	clients_leave();
	if (control.listener >= 0)
		sys_close(control.listener);
	inlined_forget();
	/* Else the process ends meanwhile, and removes it. */
	if (cas_acq_rel(&socket_state, &named, SOCKET_NONE))
		sys_unlink(socket_name);
}

/* A user who chose a place looks for the socket there. */
static void say_no_place(int error, bool is_reachable)
{
	const char *what = error == -EPERM
				   ? "not a directory of this user alone, no control socket:"
				   : "no control socket:";

	if (!is_reachable)
		complain(what, socket_name);
	else if (recorder_options.dir[0] || recorder_options.socket[0])
		say(what, socket_name);
}

/* Another process of our pid, in another pid name space, may have the name. Without a place for it,
 * as in a chroot or where nothing may be written, there is a socket without a file. */
static int listen_somewhere(void)
{
	int listener = socket_listen(socket_name, socket_has_own_directory);
	int unnamed;

	if (listener == -EADDRINUSE && socket_has_own_directory && socket_path_beside(socket_name))
		listener = socket_listen(socket_name, true);
	if (listener >= 0)
		return listener;
	unnamed = socket_listen_unnamed();
	say_no_place(listener, unnamed >= 0);
	if (unnamed >= 0)
		socket_name[0] = '\0';
	return unnamed;
}

enum { RULES_PAUSE_NS = 1000000, RULES_TRIES = 1000 };

/* Of WCPROF_SLOW, or there are none. */
static uint32_t rules_are_read;

/* A second at most. A run that is to be slowed is so from its start: ops before that would take no
 * longer. A thread that is made to load the library may be in a sleep, which would end early if it
 * paused here. */
static void await_rules(void)
{
	if (!recorder_options.slow[0] || attached_may_be())
		return;
	for (int i = 0; i < RULES_TRIES && load_acquire(&rules_are_read) == 0; i++)
		sys_pause_ns(RULES_PAUSE_NS);
}

/* Arenas of dead processes may be why there is no room: the program was started again. */
static void try_again_to_record(void)
{
	if (recorder_options.enable && is_first && leftovers_make_room() && switch_enable() == 0)
		complain("recording is on now:", "recordings of dead processes were removed");
}

/* Without a table of its own it would sit in the program's: then rather not at all. */
static bool leave_table(void)
{
	if (SYS3(close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0) {
		complain("no control socket:", "this kernel has no close_range");
		return false;
	}
	sys_close(STDIN_FILENO);
	sys_close(STDOUT_FILENO);
	return true;
}

/* wcprof record reads the arenas: a program that it follows has a socket, and memory made ahead,
 * only if it lives that long. Returns whether the thread is to go on. */
static bool outlives_pause(void)
{
	if (recorder_options.keep && !recorder_options.sample_hz && !recorder_options.slow[0])
		(void)sys_poll(NULL, 0, FOLLOWED_PAUSE_MS);
	return !aside_is_wanted();
}

static void serve_until_wanted(void)
{
	uint32_t none = SOCKET_NONE, starting = SOCKET_STARTING;

	(void)SYS3(unshare, CLONE_FS, 0, 0);
	(void)SYS3(prctl, PR_SET_NAME, "wcprof", 0);
	if (!outlives_pause())
		return;
	if (!cas_acq_rel(&socket_state, &none, SOCKET_STARTING))
		return;
	control.listener = listen_somewhere();
	/* Else the process ends meanwhile, and has waited for the name long enough. */
	if (!cas_acq_rel(&socket_state, &starting,
			 control.listener < 0 ? SOCKET_NONE : SOCKET_NAMED)) {
		if (control.listener >= 0)
			sys_unlink(socket_name);
		return;
	}
	if (control.listener < 0) {
		/* Samples are taken, and memory made ready, whoever may listen. */
		if (load_relaxed(&recorder_gate.mode) != GATE_ON && !budget_is_running())
			return;
	} else {
		switch_listens_at(socket_name);
	}
	trial_settle();
	try_again_to_record();
	slow_text_load();
	/* Pairs with await_rules(). */
	store_release(&rules_are_read, 1);
	/* Kept so far for what may have to be said; the listener has a lower number, which poll()
	 * passes over when it is none. */
	sys_close(STDERR_FILENO);
	/* The program may want to unmount where it was. */
	if (socket_name[0] == '/' || !socket_name[0])
		(void)SYS3(chdir, "/", 0, 0);
	while (!aside_is_wanted() && !attached_thread_ends())
		serve();
	budget_leave();
	lease_leave();
	probe_lease_leave();
	stop_serving();
}

static void *control_main(void *unused)
{
	/* Signals 32 and 33 are glibc's own. */
	uint64_t others = ~(UINT64_C(3) << 31);
	bool has_table;

	(void)unused;
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&others, 0, sizeof(others), 0, 0);
	self_retire();
	has_table = leave_table();
	aside_begin();
	if (has_table)
		serve_until_wanted();
	owncost_control_ends();
	aside_end();
	return NULL;
}

struct creation {
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int error;
};

/* With all signals blocked: the thread begins so, too. libc calls the program's allocator here. */
static void create_thread(void *argument)
{
	struct creation *creation = argument;
	pthread_attr_t attributes;
	pthread_t thread;
	int result;

	creation->error = pthread_attr_init(&attributes);
	if (creation->error != 0)
		return;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	result = creation->create(&thread, &attributes, control_main, NULL);
	/* A program with much thread-local storage needs more. */
	if (result == EINVAL && pthread_attr_setstacksize(&attributes, 16 * STACK_BYTES) == 0)
		result = creation->create(&thread, &attributes, control_main, NULL);
	pthread_attr_destroy(&attributes);
	creation->error = result;
}

bool control_start(int (*thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
					void *))
{
	struct creation creation = { thread_create, 0 };

	if (!aside_announce())
		return false;
	clients_begin();
	control.ready_tick_ms = READY_TICK_MS;
	attached_thread_begins();
	is_first = !has_started;
	has_started = true;
	socket_has_own_directory = recorder_options.socket[0] == '\0';
	if (!socket_path(&recorder_options, gate_pid(), gate_is_child(), socket_name)) {
		aside_forget();
		return true;
	}
	spare_call_foreign(create_thread, &creation);
	if (creation.error == 0) {
		await_rules();
		return true;
	}
	aside_forget();
	budget_leave();
	lease_leave();
	if (creation.error == EAGAIN)
		count_unattended();
	else
		complain("no control socket:", "no thread for it");
	return true;
}

void control_forget(void)
{
	store_relaxed(&rules_are_read, 0);
	handout_forget();
	trial_forget();
	aside_fork_child();
	sampler_forget();
	survey_forget();
	budget_fork_child();
	census_fork_child();
	inlined_forget();
	surplus_forget();
	leftovers_forget();
	control.chunks_taken = 0;
	store_relaxed(&socket_state, SOCKET_NONE);
}

void control_unlink(void)
{
	uint32_t state = SOCKET_NONE;

	/* The thread is between making the name and saying so for some microseconds, if it has a
	 * CPU and others of the directory let it. One that comes later removes the name itself. */
	for (int i = 0; i < UNLINK_TRIES; i++) {
		state = load_acquire(&socket_state);
		if ((state != SOCKET_STARTING || i + 1 == UNLINK_TRIES) &&
		    cas_acq_rel(&socket_state, &state, SOCKET_ENDED))
			break;
		sys_pause_ns(UNLINK_PAUSE_NS);
	}
	if (state == SOCKET_NAMED)
		sys_unlink(socket_name);
}
