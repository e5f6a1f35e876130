/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients of the control socket, and their answers. See clients.h.
 *
 * A client's requests are answered one after the other; a DUMP is its last one. verbs.c has the
 * answers, handout.c those that take time. The control thread only; nothing here blocks.
 */
#include "clients.h"

#include <errno.h>
#include <string.h>

#include "handout.h"
#include "mapping.h"
#include "socket.h"
#include "syscalls.h"
#include "verbs.h"

#include "in_target.h"

static void *table; /* of clients, once one has come; NULL: none has */

static struct client *client_at(int i)
{
	return (struct client *)table + i;
}

static int count(void)
{
	return table ? CLIENTS_MAX : 0;
}

/* False: there is no memory for the first one. */
static bool make_table(void)
{
	if (table)
		return true;
	if (!mapping_ensure(&table, CLIENTS_MAX * sizeof(struct client)))
		return false;
	clients_begin();
	return true;
}

/* --- Clients --------------------------------------------------------------------------------- */

static void client_run_line(struct client *client, size_t bytes)
{
	handout_reset_answer(client);
	if (bytes > 0 && client->line[bytes - 1] == '\r')
		bytes--;
	if (client->is_overlong)
		verbs_refuse(&client->answer, "overlong", "the line is too long");
	else
		verbs_run(client->line, bytes, client);
	client->is_overlong = false;
}

/* Runs the first whole line that was received; false when there is none. */
static bool client_take_line(struct client *client)
{
	char *end = memchr(client->line, '\n', client->line_used);
	size_t bytes = end ? (size_t)(end - client->line) : client->line_used;

	if (!end && client->line_used == CLIENT_LINE_BYTES_MAX) {
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
			handout_close(client);
			return false;
		}
		client->answer_sent += (uint32_t)sent;
	}
	if (client->has_survey)
		handout_reset_answer(client);
	return true;
}

static void client_receive(struct client *client)
{
	long got = sys_recv(client->fd, client->line + client->line_used,
			    CLIENT_LINE_BYTES_MAX - client->line_used, MSG_DONTWAIT);

	if (got == 0)
		client->input_ended = true;
	else if (got > 0)
		client->line_used += (uint32_t)got;
	else if (got != -EAGAIN && got != -EINTR)
		handout_close(client);
}

/* Whatever can be done for this client now. */
static void client_poll(struct client *client, short events)
{
	if (events & (POLLIN | POLLHUP | POLLERR) && !client->input_ended &&
	    client->line_used < CLIENT_LINE_BYTES_MAX)
		client_receive(client);
	while (client->fd >= 0 && client_send(client) && !client->is_dumping &&
	       !handout_is_asking(client))
		if (!client_take_line(client))
			break;
	if (client->fd < 0)
		return;
	if (client->is_dumping)
		handout_continue();
	else if (!handout_is_asking(client) && client->answer_sent == client->answer.used &&
		 client->input_ended && client->line_used == 0)
		handout_close(client);
	else if (events & POLLERR)
		handout_close(client);
}

void clients_accept(int listener)
{
	static const char busy[] = "ERR busy too many clients\n";
	static const char denied[] = "ERR denied you are another user\n";
	int fd = sys_accept(listener, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client = NULL;

	if (fd < 0)
		return;
	for (int i = 0; make_table() && i < CLIENTS_MAX && !client; i++)
		if (client_at(i)->fd < 0)
			client = client_at(i);
	if (client && socket_peer_is_allowed(fd)) {
		client->fd = fd;
		client->line_used = 0;
		client->is_overlong = false;
		client->input_ended = false;
		client->is_dumping = false;
		handout_reset_answer(client);
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
	struct client *client = handout_tick(now_ns);

	if (client)
		verbs_refuse(&client->answer, "memory", "no memory for the answer");
	return handout_is_busy();
}

void clients_watch(struct pollfd polls[CLIENTS_MAX])
{
	for (int i = count(); i < CLIENTS_MAX; i++)
		polls[i] = (struct pollfd){ -1, 0, 0 };
	for (int i = 0; i < count(); i++) {
		struct client *client = client_at(i);

		polls[i] = (struct pollfd){ client->fd, client->fd >= 0 ? client_events(client) : 0,
					    0 };
		/* Nothing to send, or not yet: it would be ready all the time. */
		if (handout_is_waiting(client))
			polls[i].fd = -1;
	}
}

void clients_serve(const struct pollfd polls[CLIENTS_MAX])
{
	for (int i = 0; i < count(); i++) {
		struct client *client = client_at(i);

		if (client->fd < 0)
			continue;
		if (client->is_dumping)
			handout_poll(polls[i].revents);
		else if (polls[i].revents)
			client_poll(client, polls[i].revents);
	}
}

void clients_leave(void)
{
	handout_leave();
	for (int i = 0; i < count(); i++)
		if (client_at(i)->fd >= 0)
			handout_close(client_at(i));
}

void clients_begin(void)
{
	for (int i = 0; i < count(); i++)
		client_at(i)->fd = -1;
}
