/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that take time. See handout.h.
 */
#include "handout.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "arena.h"
#include "clock.h"
#include "dump.h"
#include "owncost.h"
#include "survey.h"
#include "syscalls.h"
#include "trial.h"
#include "verbs.h"

#include "in_target.h"

/* A reader that takes nothing for so long loses its dump to the next one that asks. */
enum { DUMP_STALL_NS = 2000000000 };

static struct {
	struct client *dumper; /* receives the dump; NULL = none is being written */
	struct dump dump;
	char *dump_buffer;
	size_t dump_sent;        /* of dump.text */
	bool dump_filled_last;   /* nothing more to fill in: waiting for the reader */
	uint64_t dump_moved_ns;  /* when the reader took something last */
	struct client *surveyor; /* asked for the survey under way; NULL = has gone away */
} handout;

/* --- Clients' ends ---------------------------------------------------------------------------- */

void handout_reset_answer(struct client *client)
{
	if (client->has_survey)
		survey_release(&client->answer);
	client->has_survey = false;
	client->answer_sent = 0;
	client->answer =
		(struct text){ .bytes = client->answer_bytes, .size = CLIENT_ANSWER_BYTES_MAX };
}

void handout_close(struct client *client)
{
	sys_close(client->fd);
	client->fd = -1;
	trial_closes(client);
	handout_reset_answer(client);
	if (handout.surveyor == client)
		handout.surveyor = NULL;
}

/* --- Dumps ----------------------------------------------------------------------------------- */

/* `done`: the reader has all of it. */
static void dump_finish(bool done)
{
	struct client *client = handout.dumper;

	assert(client && client->is_dumping);
	dump_end(&handout.dump, done && handout.dumper->flush);
	sys_munmap(handout.dump_buffer, DUMP_BUFFER_BYTES);
	handout.dumper = NULL;
	handout_close(client);
}

static bool dump_is_stalled(void)
{
	return clock_take_pair().mono_ns - handout.dump_moved_ns > DUMP_STALL_NS;
}

int handout_dump(struct client *client, bool flush, bool wants_ack, uint64_t last_ns)
{
	int result;

	if (handout.dumper && dump_is_stalled())
		dump_finish(false);
	if (handout.dumper)
		return -EBUSY;
	handout.dump_buffer = sys_mmap(NULL, DUMP_BUFFER_BYTES, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (sys_is_error(handout.dump_buffer))
		return -ENOMEM;
	owncost_note_control();
	result = dump_begin_last(&handout.dump, recorder_arena, handout.dump_buffer,
				 DUMP_BUFFER_BYTES, DUMP_RUNNING, last_ns);
	if (result != 0) {
		sys_munmap(handout.dump_buffer, DUMP_BUFFER_BYTES);
		return result;
	}
	client->is_dumping = true;
	client->flush = flush;
	client->wants_ack = wants_ack;
	handout.dumper = client;
	handout.dump_sent = 0;
	handout.dump_filled_last = false;
	handout.dump_moved_ns = clock_take_pair().mono_ns;
	return 0;
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
	int fd = handout.dumper->fd;
	char word[sizeof(VERB_ACK) - 1] = "";
	long got = -EAGAIN;

	if (!handout.dumper->wants_ack && reader_has_all(fd))
		dump_finish(!reader_is_gone(fd));
	else if (!handout.dumper->wants_ack && reader_is_gone(fd))
		dump_finish(false);
	else if (handout.dumper->wants_ack)
		got = sys_recv(fd, word, sizeof(word), MSG_DONTWAIT);
	if (got != -EAGAIN && got != -EINTR)
		dump_finish(got == sizeof(word) && memcmp(word, VERB_ACK, sizeof(word)) == 0);
}

void handout_continue(void)
{
	uint64_t begun_ns = clock_thread_cpu_ns();
	struct text *text = &handout.dump.text;
	int fd = handout.dumper->fd;
	long sent = 0;

	while (!handout.dump_filled_last && sent >= 0) {
		if (handout.dump_sent == text->used) {
			handout.dump_sent = 0;
			handout.dump_filled_last = !dump_fill(&handout.dump);
			continue;
		}
		sent = sys_send(fd, text->bytes + handout.dump_sent, text->used - handout.dump_sent,
				MSG_DONTWAIT | MSG_NOSIGNAL);
		handout.dump_sent += sent > 0 ? (size_t)sent : 0;
	}
	handout.dump_moved_ns = clock_take_pair().mono_ns;
	owncost_note_dump(clock_thread_cpu_ns() - begun_ns);
	if (sent < 0 && sent != -EAGAIN && sent != -EINTR)
		dump_finish(false);
	else if (handout.dump_filled_last && sys_shutdown(fd, SHUT_WR) != 0)
		dump_finish(false);
	else if (handout.dump_filled_last)
		dump_settle();
}

void handout_poll(short events)
{
	/* First: what a reader has is not to be in the dump of a program that ends, too. */
	if (handout.dump_filled_last)
		dump_settle();
	else if (events)
		handout_continue();
	if (handout.dumper && load_relaxed(&handout.dump.arena->drain_wanted))
		dump_finish(false);
}

/* --- Surveys --------------------------------------------------------------------------------- */

int handout_stacks(struct client *client)
{
	int result = survey_begin(clock_take_pair().mono_ns);

	if (result == 0)
		handout.surveyor = client;
	return result;
}

struct client *handout_tick(uint64_t now_ns)
{
	struct client *client = handout.surveyor;

	if (!survey_is_under_way() || !survey_is_due(now_ns))
		return NULL;
	handout.surveyor = NULL;
	if (!client) {
		(void)survey_end(NULL);
		return NULL;
	}
	client->has_survey = survey_end(&client->answer);
	return client->has_survey ? NULL : client;
}

/* --- Both ------------------------------------------------------------------------------------ */

bool handout_is_busy(void)
{
	return handout.dumper || survey_is_under_way();
}

bool handout_is_asking(const struct client *client)
{
	return handout.surveyor == client;
}

bool handout_is_waiting(const struct client *client)
{
	return (client->is_dumping && handout.dump_filled_last) || handout_is_asking(client);
}

void handout_leave(void)
{
	if (handout.dumper && handout.dump_filled_last)
		dump_settle();
	if (handout.dumper)
		dump_finish(false);
	if (survey_is_under_way())
		(void)survey_end(NULL);
	handout.surveyor = NULL;
}

void handout_forget(void)
{
	handout.dumper = NULL;
	handout.surveyor = NULL;
}
