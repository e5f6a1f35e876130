/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients of the control socket, and their answers. See clients.h.
 *
 * A client's requests are answered one after the other; a DUMP is its last one. One dump is written
 * at a time, piece by piece, whenever its reader takes more: a reader that stalls holds up nobody
 * but other dumps. The dump counts as handed out when the reader has read it to the end: the kernel
 * says how much is still on its way. With ack=1 it does so when the reader says after the end that
 * it has kept all of it. The control thread only; nothing here blocks.
 */
#include "clients.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "arena.h"
#include "chunk.h"
#include "clock.h"
#include "dump.h"
#include "socket.h"
#include "survey.h"
#include "syscalls.h"
#include "verbs.h"

#include "in_target.h"

enum {
	LINE_BYTES_MAX = 512,
	/* A reader that takes nothing for so long loses its dump to the next one that asks. */
	DUMP_STALL_NS = 2000000000
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

static struct {
	struct client list[CLIENTS_MAX];
	struct client *dumper; /* receives the dump; NULL = none is being written */
	struct dump dump;
	char *dump_buffer;
	size_t dump_sent;      /* of dump.text */
	bool dump_filled_last; /* nothing more to fill in: waiting for the reader */
	bool dump_flush;
	bool dump_wants_ack;
	uint64_t dump_moved_ns;  /* when the reader took something last */
	uint64_t dumped_taken;   /* chunks taken as of the last dump that was handed out */
	uint32_t dumped_chunks;  /* taken between that and the one before */
	struct client *surveyor; /* asked for the survey under way; NULL = has gone away */
} clients;

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
	if (clients.surveyor == client)
		clients.surveyor = NULL;
}

/* --- Dumps ----------------------------------------------------------------------------------- */

/* Gives back chunks that a dump has emptied: as many are kept as were used between the two dumps
 * before. */
static void give_memory_back(struct arena *arena)
{
	uint64_t taken = load_relaxed(&arena->turn);
	uint32_t kept = clients.dumped_chunks > CHUNKS_KEPT ? clients.dumped_chunks : CHUNKS_KEPT;

	clients.dumped_chunks = (uint32_t)(taken - clients.dumped_taken);
	clients.dumped_taken = taken;
	chunk_trim(arena, kept);
}

/* `done`: the reader has all of it. */
static void dump_finish(bool done)
{
	struct client *client = clients.dumper;

	assert(client && client->is_dumping);
	dump_end(&clients.dump, done && clients.dump_flush);
	if (done && clients.dump_flush)
		give_memory_back(clients.dump.arena);
	sys_munmap(clients.dump_buffer, DUMP_BUFFER_BYTES);
	clients.dumper = NULL;
	client_close(client);
}

static bool dump_is_stalled(void)
{
	return clock_take_pair().mono_ns - clients.dump_moved_ns > DUMP_STALL_NS;
}

static void dump_start(struct client *client, const struct request *request)
{
	int result = -EBUSY;

	if (clients.dumper && dump_is_stalled())
		dump_finish(false);
	if (!clients.dumper) {
		clients.dump_buffer = sys_mmap(NULL, DUMP_BUFFER_BYTES, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1);
		if (sys_is_error(clients.dump_buffer)) {
			verbs_refuse(&client->answer, "memory", "no memory for a dump");
			return;
		}
		result = dump_begin(&clients.dump, recorder_arena, clients.dump_buffer,
				    DUMP_BUFFER_BYTES, DUMP_RUNNING);
		if (result != 0)
			sys_munmap(clients.dump_buffer, DUMP_BUFFER_BYTES);
	}
	if (result != 0) {
		verbs_refuse(&client->answer, result == -EBUSY ? "busy" : "memory",
			     "no dump now: try again");
		return;
	}
	client->is_dumping = true;
	clients.dumper = client;
	clients.dump_sent = 0;
	clients.dump_flush = request->flush;
	clients.dump_wants_ack = request->wants_ack;
	clients.dump_filled_last = false;
	clients.dump_moved_ns = clock_take_pair().mono_ns;
}

/* Whether all that was sent has been read, or thrown away: reader_is_gone() tells. */
static bool reader_has_all(int fd)
{
	int unread = 0;

	return sys_ioctl(fd, SIOCOUTQ, &unread) == 0 && unread == 0;
}

/* A reader that went away before it had read everything shows as an error of the socket. A hang-up
 * does not say that much, for a client may close its own direction first. */
static bool reader_is_gone(int fd)
{
	int error = 0;
	socklen_t bytes = sizeof(error);

	return sys_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0;
}

/* All was sent: whether the reader has it. */
static void dump_settle(void)
{
	int fd = clients.dumper->fd;
	char word[sizeof(VERB_ACK) - 1] = "";
	long got = -EAGAIN;

	if (!clients.dump_wants_ack && reader_has_all(fd))
		dump_finish(!reader_is_gone(fd));
	else if (!clients.dump_wants_ack && reader_is_gone(fd))
		dump_finish(false);
	else if (clients.dump_wants_ack)
		got = sys_recv(fd, word, sizeof(word), MSG_DONTWAIT);
	if (got != -EAGAIN && got != -EINTR)
		dump_finish(got == sizeof(word) && memcmp(word, VERB_ACK, sizeof(word)) == 0);
}

/* Sends what the reader takes now. */
static void dump_continue(void)
{
	struct text *text = &clients.dump.text;
	int fd = clients.dumper->fd;
	long sent = 0;

	while (!clients.dump_filled_last && sent >= 0) {
		if (clients.dump_sent == text->used) {
			clients.dump_sent = 0;
			clients.dump_filled_last = !dump_fill(&clients.dump);
			continue;
		}
		sent = sys_send(fd, text->bytes + clients.dump_sent, text->used - clients.dump_sent,
				MSG_DONTWAIT | MSG_NOSIGNAL);
		clients.dump_sent += sent > 0 ? (size_t)sent : 0;
	}
	clients.dump_moved_ns = clock_take_pair().mono_ns;
	if (sent < 0 && sent != -EAGAIN && sent != -EINTR)
		dump_finish(false);
	else if (clients.dump_filled_last && sys_shutdown(fd, SHUT_WR) != 0)
		dump_finish(false);
	else if (clients.dump_filled_last)
		dump_settle();
}

static void dump_poll(short events)
{
	if (load_relaxed(&clients.dump.arena->drain_wanted))
		dump_finish(false);
	else if (clients.dump_filled_last)
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
		clients.surveyor = client;
}

/* When all threads have answered that will. */
static void survey_poll(uint64_t now_ns)
{
	struct client *client = clients.surveyor;

	if (!survey_is_under_way() || !survey_is_due(now_ns))
		return;
	clients.surveyor = NULL;
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
	       clients.surveyor != client)
		if (!client_take_line(client))
			break;
	if (client->fd < 0)
		return;
	if (client->is_dumping)
		dump_continue();
	else if (clients.surveyor != client && client->answer_sent == client->answer.used &&
		 client->input_ended && client->line_used == 0)
		client_close(client);
	else if (events & POLLERR)
		client_close(client);
}

void clients_accept(int listener)
{
	static const char busy[] = "ERR busy too many clients\n";
	static const char denied[] = "ERR denied you are another user\n";
	int fd = sys_accept(listener, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client = NULL;

	if (fd < 0)
		return;
	for (int i = 0; i < CLIENTS_MAX && !client; i++)
		if (clients.list[i].fd < 0)
			client = &clients.list[i];
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

/* --- The thread's round ---------------------------------------------------------------------- */

static short client_events(const struct client *client)
{
	if (client->is_dumping)
		return POLLOUT;
	if (client->answer_sent < client->answer.used)
		return POLLOUT;
	return client->input_ended ? 0 : POLLIN;
}

bool clients_tick(uint64_t now_ns)
{
	survey_poll(now_ns);
	return clients.dumper || survey_is_under_way();
}

void clients_watch(struct pollfd polls[CLIENTS_MAX])
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &clients.list[i];

		polls[i] = (struct pollfd){ client->fd, client->fd >= 0 ? client_events(client) : 0,
					    0 };
		/* Nothing to send, or not yet: it would be ready all the time. */
		if ((client->is_dumping && clients.dump_filled_last) || clients.surveyor == client)
			polls[i].fd = -1;
	}
}

void clients_serve(const struct pollfd polls[CLIENTS_MAX])
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &clients.list[i];

		if (client->fd < 0)
			continue;
		if (client->is_dumping)
			dump_poll(polls[i].revents);
		else if (polls[i].revents)
			client_poll(client, polls[i].revents);
	}
}

void clients_leave(void)
{
	if (clients.dumper)
		dump_finish(false);
	if (survey_is_under_way())
		(void)survey_end(NULL);
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (clients.list[i].fd >= 0)
			client_close(&clients.list[i]);
}

void clients_begin(void)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		clients.list[i].fd = -1;
}

void clients_forget(void)
{
	clients.dumper = NULL;
	clients.surveyor = NULL;
	clients.dumped_taken = 0;
	clients.dumped_chunks = 0;
}
