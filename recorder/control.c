/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control thread. See control.h; verbs.c has what it understands.
 *
 * One thread serves all clients with non-blocking sockets and poll(). A client's requests are
 * answered one after the other; a DUMP is its last one. One dump is written at a time, piece by
 * piece, whenever its reader takes more: a reader that stalls holds up nobody but other dumps. The
 * dump counts as handed out when the reader has read it to the end (the kernel says how much is
 * still on its way); or, with ack=1, when it says after the end that it has kept all of it.
 *
 * The thread's first act is to leave the program's descriptor table and working directory, so that
 * nothing the program closes, duplicates or changes root to can touch it, and no child inherits
 * from it. All signals are blocked in it but glibc's own two, by which setuid() reaches every
 * thread. Nothing here may call libc for input or output, and nothing here records.
 */
#include "control.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arena.h"
#include "aside.h"
#include "chunk.h"
#include "clock.h"
#include "delays.h"
#include "dump.h"
#include "inlined.h"
#include "mark.h"
#include "objects.h"
#include "peers.h"
#include "process.h"
#include "sampler.h"
#include "scope.h"
#include "self.h"
#include "socket.h"
#include "survey.h"
#include "syscalls.h"
#include "verbs.h"

#include "in_target.h"

enum {
	CLIENTS_MAX = 64,
	LINE_BYTES_MAX = 512,
	STACK_BYTES = 131072,
	/* How often a dump looks whether its reader has taken all, or a program that ends wants
	 * to write its own. */
	DUMP_TICK_MS = 5,
	/* A reader that takes nothing for so long loses its dump to the next one that asks. */
	DUMP_STALL_NS = 2000000000,
	/* While recording is on, so many chunks are ready, or what was used in two ticks. */
	READY_CHUNKS_LEAST = 8,
	READY_CHUNKS_MOST = 256,
	READY_TICK_MS = 10,
	READY_TICK_MS_MOST = 320,
	UNLINK_TRIES = 100,
	UNLINK_PAUSE_NS = 100000
};

struct client {
	int fd; /* -1 = free */
	uint32_t line_used;
	uint32_t answer_sent;
	bool is_overlong; /* the rest of the line is to be skipped */
	bool input_ended;
	bool is_dumping;
	bool has_survey; /* its answer is survey.c's */
	char line[LINE_BYTES_MAX];
	struct text answer;
	char answer_bytes[VERB_ANSWER_BYTES_MAX];
};

/* The control thread's own. */
static struct {
	struct client clients[CLIENTS_MAX];
	int listener;
	struct client *dumper; /* who receives the dump; NULL = none is being written */
	struct dump dump;
	char *dump_buffer;
	size_t dump_sent;      /* of dump.text */
	bool dump_filled_last; /* nothing more to fill in: waiting for the reader */
	bool dump_flush;
	bool dump_wants_ack;
	uint64_t dump_moved_ns; /* when the reader took something last */
	uint64_t chunks_taken;  /* as of the last tick */
	uint64_t dumped_taken;  /* as of the last dump that was handed out */
	uint32_t dumped_chunks; /* taken between that and the one before */
	int ready_tick_ms;
	struct client *surveyor; /* who asked for the survey under way; NULL = has gone away */
} control;

/* Of the socket's name in the file system: who ends the process removes it, and nobody makes it
 * after that. */
enum socket_state { SOCKET_NONE, SOCKET_STARTING, SOCKET_NAMED, SOCKET_ENDED };

static char socket_name[SOCKET_PATH_BYTES]; /* the thread's while it is SOCKET_STARTING */
static uint32_t socket_state;               /* enum socket_state */
static bool socket_has_own_directory;
static bool has_started; /* a thread, in this process or its parent */
static bool is_first;    /* the thread is the first one of a process that was started, not forked */
static bool is_child;

/* --- Clients' ends ---------------------------------------------------------------------------- */

/* From now on it has a short answer, of its own memory. */
static void client_reset_answer(struct client *client)
{
	if (client->has_survey)
		survey_release(&client->answer);
	client->has_survey = false;
	client->answer_sent = 0;
	client->answer =
		(struct text){ .bytes = client->answer_bytes, .size = VERB_ANSWER_BYTES_MAX };
}

static void client_close(struct client *client)
{
	sys_close(client->fd);
	client->fd = -1;
	client_reset_answer(client);
	if (control.surveyor == client)
		control.surveyor = NULL;
}

/* --- Dumps ----------------------------------------------------------------------------------- */

/* What a dump has emptied: as much is kept as was used between the two before. */
static void give_memory_back(struct arena *arena)
{
	uint64_t taken = load_relaxed(&arena->turn);
	uint32_t kept = control.dumped_chunks > CHUNKS_KEPT ? control.dumped_chunks : CHUNKS_KEPT;

	control.dumped_chunks = (uint32_t)(taken - control.dumped_taken);
	control.dumped_taken = taken;
	chunk_trim(arena, kept);
}

/* `done`: the reader has all of it. */
static void dump_finish(bool done)
{
	struct client *client = control.dumper;

	assert(client && client->is_dumping);
	dump_end(&control.dump, done && control.dump_flush);
	if (done && control.dump_flush)
		give_memory_back(control.dump.arena);
	sys_munmap(control.dump_buffer, DUMP_BUFFER_BYTES);
	control.dumper = NULL;
	client_close(client);
}

static bool dump_is_stalled(void)
{
	return clock_take_pair().mono_ns - control.dump_moved_ns > DUMP_STALL_NS;
}

static void dump_start(struct client *client, const struct request *request)
{
	int result = -EBUSY;

	if (control.dumper && dump_is_stalled())
		dump_finish(false);
	if (!control.dumper) {
		control.dump_buffer = sys_mmap(NULL, DUMP_BUFFER_BYTES, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1);
		if (sys_is_error(control.dump_buffer)) {
			verbs_refuse(&client->answer, "memory", "no memory for a dump");
			return;
		}
		result = dump_begin(&control.dump, recorder_arena, control.dump_buffer,
				    DUMP_BUFFER_BYTES, DUMP_RUNNING);
		if (result != 0)
			sys_munmap(control.dump_buffer, DUMP_BUFFER_BYTES);
	}
	if (result != 0) {
		verbs_refuse(&client->answer, result == -EBUSY ? "busy" : "memory",
			     "no dump now: try again");
		return;
	}
	client->is_dumping = true;
	control.dumper = client;
	control.dump_sent = 0;
	control.dump_flush = request->flush;
	control.dump_wants_ack = request->wants_ack;
	control.dump_filled_last = false;
	control.dump_moved_ns = clock_take_pair().mono_ns;
}

/* Whether all that was sent has been read, or thrown away: reader_is_gone() tells. */
static bool reader_has_all(int fd)
{
	int unread = 0;

	return sys_ioctl(fd, SIOCOUTQ, &unread) == 0 && unread == 0;
}

/* A reader that went away before it had read everything shows as an error of the socket; a
 * hang-up does not say that much, for whoever asks may close its own direction first. */
static bool reader_is_gone(int fd)
{
	int error = 0;
	socklen_t bytes = sizeof(error);

	return sys_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0;
}

/* All was sent: whether the reader has it. */
static void dump_settle(void)
{
	int fd = control.dumper->fd;
	char word[sizeof(VERB_ACK) - 1] = "";
	long got = -EAGAIN;

	if (!control.dump_wants_ack && reader_has_all(fd))
		dump_finish(!reader_is_gone(fd));
	else if (!control.dump_wants_ack && reader_is_gone(fd))
		dump_finish(false);
	else if (control.dump_wants_ack)
		got = sys_recv(fd, word, sizeof(word), MSG_DONTWAIT);
	if (got != -EAGAIN && got != -EINTR)
		dump_finish(got == sizeof(word) && memcmp(word, VERB_ACK, sizeof(word)) == 0);
}

/* Sends what the reader takes now. */
static void dump_continue(void)
{
	struct text *text = &control.dump.text;
	int fd = control.dumper->fd;
	long sent = 0;

	while (!control.dump_filled_last && sent >= 0) {
		if (control.dump_sent == text->used) {
			control.dump_sent = 0;
			control.dump_filled_last = !dump_fill(&control.dump);
			continue;
		}
		sent = sys_send(fd, text->bytes + control.dump_sent, text->used - control.dump_sent,
				MSG_DONTWAIT | MSG_NOSIGNAL);
		control.dump_sent += sent > 0 ? (size_t)sent : 0;
	}
	control.dump_moved_ns = clock_take_pair().mono_ns;
	if (sent < 0 && sent != -EAGAIN && sent != -EINTR)
		dump_finish(false);
	else if (control.dump_filled_last && sys_shutdown(fd, SHUT_WR) != 0)
		dump_finish(false);
	else if (control.dump_filled_last)
		dump_settle();
}

static void dump_poll(short events)
{
	if (load_relaxed(&control.dump.arena->drain_wanted))
		dump_finish(false);
	else if (control.dump_filled_last)
		dump_settle();
	else if (events)
		dump_continue();
}

/* --- Surveys --------------------------------------------------------------------------------- */

static void survey_start(struct client *client)
{
	int result = survey_begin(clock_take_pair().mono_ns);

	if (result == -EBUSY)
		verbs_refuse(&client->answer, "busy", "another client asks just now: try again");
	else if (result == -ESRCH)
		verbs_refuse(&client->answer, "proc", "/proc cannot be read");
	else if (result != 0)
		verbs_refuse(&client->answer, "memory", "no memory for the threads");
	else
		control.surveyor = client;
}

/* When all threads have answered that will. */
static void survey_poll(uint64_t now_ns)
{
	struct client *client = control.surveyor;

	if (!survey_is_under_way() || !survey_is_due(now_ns))
		return;
	control.surveyor = NULL;
	if (!client)
		(void)survey_end(NULL);
	else if (survey_end(&client->answer))
		client->has_survey = true;
	else
		verbs_refuse(&client->answer, "memory", "no memory for the answer");
}

/* --- Clients --------------------------------------------------------------------------------- */

static void client_run_line(struct client *client, size_t bytes)
{
	struct request request;

	client_reset_answer(client);
	if (bytes > 0 && client->line[bytes - 1] == '\r')
		bytes--;
	if (client->is_overlong)
		verbs_refuse(&client->answer, "overlong", "the line is too long");
	else
		verbs_run(client->line, bytes, &request, &client->answer);
	if (!client->is_overlong && request.wants_dump)
		dump_start(client, &request);
	else if (!client->is_overlong && request.wants_stacks)
		survey_start(client);
	client->is_overlong = false;
}

/* Runs the first whole line that was received; false when there is none. */
static bool client_take_line(struct client *client)
{
	char *end = memchr(client->line, '\n', client->line_used);
	size_t bytes = end ? (size_t)(end - client->line) : client->line_used;

	if (!end && client->line_used == LINE_BYTES_MAX) {
		client->is_overlong = true;
		client->line_used = 0;
		return false;
	}
	/* A last line may lack its newline. */
	if (!end && (!client->input_ended || (client->line_used == 0 && !client->is_overlong)))
		return false;
	client_run_line(client, bytes);
	client->line_used -= (uint32_t)(bytes + (end != NULL));
	if (end)
		memmove(client->line, end + 1, client->line_used);
	return true;
}

/* Sends what is left of the answer; false when more cannot be sent now, or never. */
static bool client_send(struct client *client)
{
	while (client->answer_sent < client->answer.used) {
		long sent = sys_send(client->fd, client->answer.bytes + client->answer_sent,
				     client->answer.used - client->answer_sent,
				     MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent == -EINTR)
			continue;
		if (sent == -EAGAIN)
			return false;
		if (sent <= 0) {
			client_close(client);
			return false;
		}
		client->answer_sent += (uint32_t)sent;
	}
	if (client->has_survey)
		client_reset_answer(client);
	return true;
}

static void client_receive(struct client *client)
{
	long got = sys_recv(client->fd, client->line + client->line_used,
			    LINE_BYTES_MAX - client->line_used, MSG_DONTWAIT);

	if (got == 0)
		client->input_ended = true;
	else if (got > 0)
		client->line_used += (uint32_t)got;
	else if (got != -EAGAIN && got != -EINTR)
		client_close(client);
}

/* Whatever can be done for this client now. */
static void client_poll(struct client *client, short events)
{
	if (events & (POLLIN | POLLHUP | POLLERR) && !client->input_ended &&
	    client->line_used < LINE_BYTES_MAX)
		client_receive(client);
	while (client->fd >= 0 && client_send(client) && !client->is_dumping &&
	       control.surveyor != client)
		if (!client_take_line(client))
			break;
	if (client->fd < 0)
		return;
	if (client->is_dumping)
		dump_continue();
	else if (control.surveyor != client && client->answer_sent == client->answer.used &&
		 client->input_ended && client->line_used == 0)
		client_close(client);
	else if (events & POLLERR)
		client_close(client);
}

static void client_accept(void)
{
	static const char busy[] = "ERR busy too many clients\n";
	static const char denied[] = "ERR denied you are another user\n";
	int fd = sys_accept(control.listener, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client = NULL;

	if (fd < 0)
		return;
	for (int i = 0; i < CLIENTS_MAX && !client; i++)
		if (control.clients[i].fd < 0)
			client = &control.clients[i];
	if (client && socket_peer_is_allowed(fd)) {
		client->fd = fd;
		client->line_used = 0;
		client->is_overlong = false;
		client->input_ended = false;
		client->is_dumping = false;
		client_reset_answer(client);
		return;
	}
	if (client)
		(void)sys_send(fd, denied, sizeof(denied) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		(void)sys_send(fd, busy, sizeof(busy) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	sys_close(fd);
}

/* --- The thread ------------------------------------------------------------------------------ */

static short client_events(const struct client *client)
{
	if (client->is_dumping)
		return POLLOUT;
	if (client->answer_sent < client->answer.used)
		return POLLOUT;
	return client->input_ended ? 0 : POLLIN;
}

/* Memory is made ready here, so that the program's threads need not wait for it; seldom, when they
 * record little. */
static void prepare_memory(void)
{
	struct arena *arena = recorder_arena;
	uint64_t taken = load_relaxed(&arena->turn);
	uint32_t used = (uint32_t)(taken - control.chunks_taken);
	uint32_t wanted = 2 * used < READY_CHUNKS_LEAST ? READY_CHUNKS_LEAST : 2 * used;

	chunk_prepare(arena, wanted < READY_CHUNKS_MOST ? wanted : READY_CHUNKS_MOST);
	control.chunks_taken = taken;
	if (used > 0)
		control.ready_tick_ms = READY_TICK_MS;
	else if (control.ready_tick_ms < READY_TICK_MS_MOST)
		control.ready_tick_ms *= 2;
}

/* What the program's threads could not find out themselves. */
static void look_up(struct arena *arena)
{
	if ((!objects_are_wanted(arena) && !peers_are_wanted(arena)) || !snapshot_lock(arena))
		return;
	objects_place(arena);
	peers_find(arena);
	snapshot_unlock(arena);
}

/* What is due while recording is on; how long until it is due again, -1 = not by itself. */
static int tick(void)
{
	bool is_on = load_relaxed(&recorder_gate.mode) == GATE_ON;
	uint64_t now_ns = clock_take_pair().mono_ns;
	bool is_sampling = sampler_tick(is_on, now_ns);

	if (is_on) {
		prepare_memory();
		look_up(recorder_arena);
	}
	if (is_on && mark_gap_ticks != MARK_NEVER)
		delays_tick(recorder_arena, now_ns);
	survey_poll(now_ns);
	if (control.dumper || survey_is_under_way())
		return DUMP_TICK_MS;
	if (is_on && inlined_tick(recorder_arena, now_ns))
		return INLINED_TICK_MS;
	if (is_sampling && control.ready_tick_ms > SAMPLER_TICK_MS)
		return SAMPLER_TICK_MS;
	return is_on ? control.ready_tick_ms : -1;
}

static void serve(void)
{
	struct pollfd polls[CLIENTS_MAX + 1];
	int timeout_ms = tick();
	int ready;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &control.clients[i];

		polls[i] = (struct pollfd){ client->fd, client->fd >= 0 ? client_events(client) : 0,
					    0 };
		/* Nothing to send, or not yet: it would be ready all the time. */
		if ((client->is_dumping && control.dump_filled_last) || control.surveyor == client)
			polls[i].fd = -1;
	}
	polls[CLIENTS_MAX] = (struct pollfd){ control.listener, POLLIN, 0 };
	/* Threads get their names after their beginning, and others later. */
	if (scope_goes_by_name())
		self_begin_period();
	ready = sys_poll(polls, CLIENTS_MAX + 1, timeout_ms);
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &control.clients[i];

		if (client->fd < 0)
			continue;
		if (client->is_dumping)
			dump_poll(ready > 0 ? polls[i].revents : 0);
		else if (ready > 0 && polls[i].revents)
			client_poll(client, polls[i].revents);
	}
	if (ready > 0 && polls[CLIENTS_MAX].revents)
		client_accept();
}

/* In a child, or once the program goes on with other rights, standard error may be anything. */
static void complain(const char *what, const char *detail)
{
	if (is_first && process_is_the_users())
		text_complain(what, detail);
}

/* What a later thread would trip over. The descriptors go with the table. */
static void stop_serving(void)
{
	uint32_t named = SOCKET_NAMED;

	if (control.dumper)
		dump_finish(false);
	if (survey_is_under_way())
		(void)survey_end(NULL);
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (control.clients[i].fd >= 0)
			client_close(&control.clients[i]);
	sys_close(control.listener);
	inlined_forget();
	/* Else the process ends meanwhile, and removes it. */
	if (cas_acq_rel(&socket_state, &named, SOCKET_NONE))
		sys_unlink(socket_name);
}

/* Another process of our pid, in another pid name space, may have the name. */
static int listen_somewhere(void)
{
	int listener = socket_listen(socket_name, socket_has_own_directory);

	if (listener == -EADDRINUSE && socket_has_own_directory && socket_path_beside(socket_name))
		listener = socket_listen(socket_name, true);
	return listener;
}

static void serve_until_wanted(void)
{
	uint32_t none = SOCKET_NONE;

	/* Without a table of its own it would sit in the program's: then rather not at all. */
	if (SYS3(close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0) {
		complain("no control socket:", "this kernel has no close_range");
		return;
	}
	sys_close(STDIN_FILENO);
	sys_close(STDOUT_FILENO);
	(void)SYS3(unshare, CLONE_FS, 0, 0);
	(void)SYS3(prctl, PR_SET_NAME, "wcprof", 0);
	if (!cas_acq_rel(&socket_state, &none, SOCKET_STARTING))
		return;
	control.listener = listen_somewhere();
	store_release(&socket_state, control.listener < 0 ? SOCKET_NONE : SOCKET_NAMED);
	if (control.listener < 0) {
		complain(control.listener == -EPERM
				 ? "directory is not ours alone, no control socket:"
				 : "no control socket:",
			 socket_name);
		return;
	}
	process_listens_at(socket_name);
	/* Kept so far for what may have to be said; the listener has a lower number. */
	sys_close(STDERR_FILENO);
	while (!aside_is_wanted())
		serve();
	stop_serving();
}

static void *control_main(void *unused)
{
	(void)unused;
	self_retire();
	aside_begin();
	serve_until_wanted();
	aside_end();
	return NULL;
}

static bool create_thread(int (*thread_create)(pthread_t *, const pthread_attr_t *,
					       void *(*)(void *), void *))
{
	pthread_attr_t attributes;
	pthread_t thread;
	int result;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	result = thread_create(&thread, &attributes, control_main, NULL);
	/* A program with much thread-local storage needs more. */
	if (result == EINVAL && pthread_attr_setstacksize(&attributes, 16 * STACK_BYTES) == 0)
		result = thread_create(&thread, &attributes, control_main, NULL);
	pthread_attr_destroy(&attributes);
	return result == 0;
}

void control_start(int (*thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
					void *))
{
	/* Signals 32 and 33 are glibc's own. */
	uint64_t all = ~(UINT64_C(3) << 31);
	uint64_t before = 0;

	for (int i = 0; i < CLIENTS_MAX; i++)
		control.clients[i].fd = -1;
	control.ready_tick_ms = READY_TICK_MS;
	is_first = !has_started;
	has_started = true;
	socket_has_own_directory = recorder_options.socket[0] == '\0';
	if (!socket_path(&recorder_options, process_pid(), is_child, socket_name))
		return;
	aside_announce();
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof(all), 0, 0);
	if (!create_thread(thread_create)) {
		aside_forget();
		complain("no control socket:", "no thread for it");
	}
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
}

void control_forget(void)
{
	control.dumper = NULL;
	aside_forget();
	sampler_forget();
	survey_forget();
	control.surveyor = NULL;
	inlined_forget();
	control.chunks_taken = control.dumped_taken = 0;
	control.dumped_chunks = 0;
	store_relaxed(&socket_state, SOCKET_NONE);
	is_child = true;
}

void control_unlink(void)
{
	uint32_t state = SOCKET_NONE;

	/* The thread is between making the name and saying so for some microseconds at most. */
	for (int i = 0; i < UNLINK_TRIES; i++) {
		state = load_acquire(&socket_state);
		if (state != SOCKET_STARTING && cas_acq_rel(&socket_state, &state, SOCKET_ENDED))
			break;
		sys_pause_ns(UNLINK_PAUSE_NS);
	}
	if (state == SOCKET_NAMED)
		sys_unlink(socket_name);
}
