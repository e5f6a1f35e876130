/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speaks the verbs of a trial: TRY, ENABLE, RULES, SLOW, RESET.
 *
 * A process that does not answer any more has ended, or is as good as that. Its connection is
 * closed; its last figures still count. One that comes in the middle of a window gets
 * the rules and the rest of the window.
 */
#include "try_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "output.h"
#include "procfs.h"

enum {
	LINE_BYTES = 500, /* a line may have 512 */
	KEYS_MAX = 3000   /* a process takes little more rules */
};

/* One process. */
struct party {
	struct target target;
	int fd; /* -1: it takes part no more */
	struct try_figures last;
	struct try_figures sum;
};

struct try_session {
	const struct cmd_options *options;
	struct party *parties;
	size_t count;
	uint64_t end_ns; /* of the trial */
	/* For those that come: rules as lines, with the window that runs. */
	char **lines;
	size_t line_count;
	double factor; /* 0 = no window yet */
	uint64_t window_end_ns;
	bool takes_samples;
	bool has_told; /* that a process does not take part */
	char why[200]; /* the last one left, as a sentence's end */
};

static int ask(struct party *party, const char *line, struct client_answer *answer)
{
	if (party->fd < 0)
		return -1;
	return client_ask_on(party->fd, line, answer) ? 0 : -1;
}

static void leave(struct party *party)
{
	if (party->fd >= 0)
		close(party->fd);
	party->fd = -1;
}

/* It answers no more, or refuses. */
static void drop(struct try_session *session, struct party *party,
		 const struct client_answer *answer)
{
	struct procfs_status status;
	bool has_ended = !procfs_read(party->target.pid, &status) || status.is_zombie;

	leave(party);
	snprintf(session->why, sizeof(session->why), "%.150s",
		 has_ended ? "it has ended" : answer->text);
}

int try_session_fail(const struct try_session *session)
{
	return cmd_fail("%d %s: %s", (int)session->parties[0].target.pid,
			session->parties[0].target.name, session->why);
}

/* --- Coming in -------------------------------------------------------------------------------- */

static uint64_t left_ms(uint64_t end_ns)
{
	uint64_t now_ns = try_now_ns();

	return end_ns > now_ns ? (end_ns - now_ns) / 1000000 + 1 : 1;
}

static bool enable(struct try_session *session, struct party *party, struct client_answer *answer)
{
	return ask(party, session->takes_samples ? "ENABLE sample_hz=" TRY_SAMPLE_HZ : "ENABLE",
		   answer) == 0;
}

/* The end of a trial discards events; those of somebody else's recording are not ours. */
static bool is_free(struct party *party, struct client_answer *answer)
{
	char recording[16] = "";
	uint64_t events = 0;

	if (ask(party, "STATUS", answer) != 0)
		return false;
	(void)client_number(answer->text, "events", &events);
	(void)client_string(answer->text, "recording", recording, sizeof(recording));
	/* While it is on, TRY says so. */
	if (events == 0 || strcmp(recording, "off") != 0)
		return true;
	snprintf(answer->text, sizeof(answer->text),
		 "it has %llu events that nobody has dumped, and a trial would discard them: first "
		 "wcprof dump %d, or wcprof reset %d",
		 (unsigned long long)events, (int)party->target.pid, (int)party->target.pid);
	return false;
}

static bool begin_trial(struct try_session *session, struct party *party,
			struct client_answer *answer)
{
	char line[64];

	snprintf(line, sizeof(line), "TRY ms=%llu", (unsigned long long)left_ms(session->end_ns));
	return is_free(party, answer) && ask(party, line, answer) == 0 &&
	       ask(party, "RESET", answer) == 0 && enable(session, party, answer);
}

static bool send_rules(struct try_session *session, struct party *party,
		       struct client_answer *answer)
{
	for (size_t i = 0; i < session->line_count; i++)
		if (ask(party, session->lines[i], answer) != 0)
			return false;
	return true;
}

static bool send_window(struct try_session *session, struct party *party,
			struct client_answer *answer)
{
	char line[64];

	snprintf(line, sizeof(line), "SLOW factor=%.3f ms=%llu", session->factor,
		 (unsigned long long)left_ms(session->window_end_ns));
	return ask(party, line, answer) == 0;
}

static bool read_figures(const char *object, struct try_figures *now)
{
	uint64_t mono_ns;

	if (!client_number(object, "progress", &now->progress) ||
	    !client_number(object, "slowed", &now->slowed) ||
	    !client_number(object, "extra_ns", &now->extra_ns) ||
	    !client_number(object, "refused", &now->refused) ||
	    !client_number(object, "mono_ns", &mono_ns))
		return false;
	now->at_ns = (double)mono_ns;
	return true;
}

/* The rest of a window that has begun. Figures from before it are not of it. */
static bool join_window(struct try_session *session, struct party *party,
			struct client_answer *answer)
{
	return send_window(session, party, answer) && read_figures(answer->text, &party->last);
}

/* False: answer says why not. */
static bool come_in(struct try_session *session, const struct target *target,
		    struct client_answer *answer)
{
	struct party *grown =
		realloc(session->parties, (session->count + 1) * sizeof(*session->parties));
	struct party *party;

	if (!grown) {
		snprintf(answer->text, sizeof(answer->text), "out of memory");
		return false;
	}
	session->parties = grown;
	party = &grown[session->count++];
	*party = (struct party){ .target = *target, .fd = -1 };
	if (target->socket[0])
		party->fd = client_connect(target->socket, NULL);
	if (party->fd < 0)
		snprintf(answer->text, sizeof(answer->text), "%s",
			 target->socket[0] ? strerror(-party->fd) : target_why_silent(target));
	if (party->fd >= 0 && begin_trial(session, party, answer) &&
	    send_rules(session, party, answer) &&
	    (session->factor == 0 || join_window(session, party, answer)))
		return true;
	leave(party);
	return false;
}

static bool is_known(const struct try_session *session, pid_t pid)
{
	for (size_t i = 0; i < session->count; i++)
		if (session->parties[i].target.pid == pid)
			return true;
	return false;
}

/* A child may not be up yet, or record for somebody else: it is left out then. */
static void look_for_new(struct try_session *session)
{
	struct target_list found;
	struct client_answer answer;
	char error[512];

	if (target_find(&found, session->options->arguments[0], TARGET_TREE | TARGET_AGAIN, error,
			sizeof(error)) != 0)
		return;
	for (size_t i = 0; i < found.count; i++) {
		const struct target *target = &found.targets[i];

		if (!target->socket[0] || is_known(session, target->pid) ||
		    come_in(session, target, &answer) || session->has_told)
			continue;
		session->has_told = true;
		cmd_say(session->options, "%d %s takes no part: %s", (int)target->pid, target->name,
			answer.text);
	}
	target_list_free(&found);
}

static bool open_all(struct try_session *session, const struct target_list *found)
{
	struct client_answer answer;
	size_t living = 0;

	for (size_t i = 0; i < found->count; i++) {
		const struct target *target = &found->targets[i];

		if (come_in(session, target, &answer))
			living++;
		else if (found->count == 1)
			cmd_fail("%d %s: %s", (int)target->pid, target->name, answer.text);
		else
			cmd_say(session->options, "%d %s takes no part: %s", (int)target->pid,
				target->name, answer.text);
	}
	if (living == 0 && found->count > 1)
		cmd_fail("no process takes part");
	return living > 0;
}

struct try_session *try_session_open(const struct cmd_options *options, uint64_t most_ms,
				     bool takes_samples)
{
	struct try_session *session = calloc(1, sizeof(*session));
	struct target_list found;

	if (!session) {
		cmd_fail("out of memory");
		return NULL;
	}
	session->options = options;
	session->takes_samples = takes_samples;
	session->end_ns = try_now_ns() + most_ms * 1000000;
	if (cmd_find(options, &found) != CMD_DONE) {
		free(session);
		return NULL;
	}
	if (!open_all(session, &found)) {
		try_session_close(session);
		session = NULL;
	}
	target_list_free(&found);
	return session;
}

static void forget_lines(struct try_session *session)
{
	while (session->line_count > 0)
		free(session->lines[--session->line_count]);
	free(session->lines);
	session->lines = NULL;
}

void try_session_close(struct try_session *session)
{
	for (size_t i = 0; i < session->count; i++)
		leave(&session->parties[i]);
	forget_lines(session);
	free(session->parties);
	free(session);
}

const char *try_session_name(const struct try_session *session)
{
	return session->parties[0].target.name;
}

size_t try_session_living(const struct try_session *session)
{
	size_t living = 0;

	for (size_t i = 0; i < session->count; i++)
		living += session->parties[i].fd >= 0;
	return living;
}

size_t try_session_seen(const struct try_session *session)
{
	return session->count;
}

/* --- Rules and windows ------------------------------------------------------------------------ */

static void add_line(struct try_session *session, const char *line)
{
	char **grown = realloc(session->lines, (session->line_count + 1) * sizeof(*grown));

	if (!grown)
		return;
	session->lines = grown;
	grown[session->line_count] = strdup(line);
	session->line_count += grown[session->line_count] != NULL;
}

/* As many lines as the keys need. */
static void add_rule(struct try_session *session, const struct try_rule *rule)
{
	char line[LINE_BYTES + TRY_KEY_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < rule->key_count && i < KEYS_MAX; i++) {
		if (used > 0 && used + strlen(rule->keys[i]) + 1 >= LINE_BYTES) {
			add_line(session, line);
			used = 0;
		}
		if (used == 0)
			used = (size_t)snprintf(line, sizeof(line), "RULES %s=%s", rule->word,
						rule->keys[i]);
		else
			used += (size_t)snprintf(line + used, sizeof(line) - used, ",%s",
						 rule->keys[i]);
	}
	if (used > 0)
		add_line(session, line);
}

/* To all that take part. Of a tree, those go on that take it. */
static int send_all(struct try_session *session,
		    bool (*send)(struct try_session *, struct party *, struct client_answer *))
{
	struct client_answer answer;

	for (size_t i = 0; i < session->count; i++) {
		struct party *party = &session->parties[i];

		if (party->fd >= 0 && !send(session, party, &answer))
			drop(session, party, &answer);
	}
	return try_session_living(session) > 0 ? CMD_DONE : try_session_fail(session);
}

int try_session_sample(struct try_session *session)
{
	session->takes_samples = true;
	return send_all(session, enable);
}

int try_session_rules(struct try_session *session, const struct try_row *row,
		      const struct try_rule *progress)
{
	forget_lines(session);
	add_line(session, "RULES clear=1");
	for (size_t i = 0; i < row->rule_count; i++)
		add_rule(session, &row->rules[i]);
	add_rule(session, progress);
	return send_all(session, send_rules);
}

int try_session_slow(struct try_session *session, double factor, uint64_t window_ms)
{
	session->factor = factor;
	session->window_end_ns = try_now_ns() + window_ms * 1000000;
	return send_all(session, send_window);
}

/* --- Counting --------------------------------------------------------------------------------- */

static uint64_t grown(uint64_t before, uint64_t now)
{
	return now >= before ? now - before : now;
}

static bool look_at(struct party *party, const char *object, double *at_ns)
{
	struct try_figures now;

	if (!read_figures(object, &now))
		return false;
	party->sum.progress += grown(party->last.progress, now.progress);
	party->sum.slowed += grown(party->last.slowed, now.slowed);
	party->sum.extra_ns += grown(party->last.extra_ns, now.extra_ns);
	party->sum.refused += grown(party->last.refused, now.refused);
	party->last = now;
	*at_ns += now.at_ns;
	return true;
}

struct try_figures try_session_look(struct try_session *session)
{
	struct try_figures all = { .at_ns = 0 };
	struct client_answer answer;
	size_t answered = 0;
	double at_ns = 0;

	if (session->options->how & TARGET_TREE)
		look_for_new(session);
	for (size_t i = 0; i < session->count; i++) {
		struct party *party = &session->parties[i];

		if (party->fd >= 0) {
			if (ask(party, "SLOW", &answer) == 0 && look_at(party, answer.text, &at_ns))
				answered++;
			else
				drop(session, party, &answer);
		}
		all.progress += party->sum.progress;
		all.slowed += party->sum.slowed;
		all.extra_ns += party->sum.extra_ns;
		all.refused += party->sum.refused;
	}
	all.at_ns = answered ? at_ns / (double)answered : (double)try_now_ns();
	return all;
}

/* --- Recordings ------------------------------------------------------------------------------- */

void try_session_reset(struct try_session *session)
{
	struct client_answer answer;

	for (size_t i = 0; i < session->count; i++)
		(void)ask(&session->parties[i], "RESET", &answer);
}

int try_session_dump(struct try_session *session, const char *path)
{
	int error, result = 0;
	struct output *output = output_open(path, &error);

	if (!output)
		return cmd_fail("%s: %s", path, output_why(error));
	for (size_t i = 0; i < session->count; i++) {
		const struct party *party = &session->parties[i];
		int failed = party->fd >= 0 ? output_dump(output, party->target.socket, false) : 0;

		/* Of a tree, some may end now, or have been quiet. */
		result = failed ? failed : result;
	}
	if (result != 0 && output_bytes(output) > 0)
		result = 0;
	error = output_close(output);
	if (error != 0)
		return cmd_fail("%s: %s", path, output_why(error));
	if (result != 0)
		return cmd_fail("%s: no recording: %s", try_session_name(session),
				strerror(-result));
	return CMD_DONE;
}
