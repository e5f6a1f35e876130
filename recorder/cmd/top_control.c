/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top's questions to the process; top_control.h has the contract.
 */
#include "top_control.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cmd.h"
#include "visible.h"

/* After a change: long enough for a rate, soon enough for who waits for it. */
#define AFTER_CHANGE_NS UINT64_C(2000000000)
enum {
	/* The longest window, and then some: a dump of it is taken after it was seen. */
	KEEP_S = 90,
	LINE_BYTES = TOP_NOTE_BYTES
};

static bool is_on(const struct client_answer *status)
{
	char recording[16] = "";

	(void)client_string(status->text, "recording", recording, sizeof(recording));
	return strcmp(recording, "off") != 0;
}

static uint64_t number_of(const struct client_answer *status, const char *key)
{
	uint64_t value = 0;

	(void)client_number(status->text, key, &value);
	return value;
}

/* --- what it costs --- */

static uint64_t own_ns(const struct client_answer *status)
{
	return number_of(status, "own_ns") - number_of(status, "own_dumps_ns");
}

/* Dumps are not in it: who takes one knows that it costs something. */
static struct top_cost cost_between(const struct client_answer *from,
				    const struct client_answer *to, double seconds)
{
	uint64_t own = own_ns(to) - own_ns(from);
	uint64_t cpu = number_of(to, "cpu_ns") - number_of(from, "cpu_ns");
	struct top_cost cost = { .is_known = from->is_ok && to->is_ok && seconds > 0 &&
					     own_ns(to) >= own_ns(from) };

	if (cost.is_known) {
		cost.per_s_ns = (double)own / seconds;
		cost.share = cpu ? (double)own / (double)cpu : 0;
	}
	return cost;
}

static void ask_status(struct top_control *control)
{
	struct client_answer last = control->status;
	uint64_t now_ns = clock_mono_ns();

	if (!client_ask(control->socket, "STATUS", &control->status))
		control->status.is_ok = false;
	control->cost =
		cost_between(&last, &control->status,
			     control->asked_ns ? (double)(now_ns - control->asked_ns) / 1e9 : 0);
	control->asked_ns = now_ns;
}

static void say_cost(struct top_control *control, char note[TOP_NOTE_BYTES])
{
	size_t used;

	if (!control->change[0] || !control->cost.is_known)
		return;
	used = (size_t)snprintf(note, TOP_NOTE_BYTES, "%s: costs %.3f ms of CPU a second",
				control->change, control->cost.per_s_ns / 1e6);
	if (control->cost_before.is_known && used < TOP_NOTE_BYTES)
		snprintf(note + used, TOP_NOTE_BYTES - used, ", %.3f before",
			 control->cost_before.per_s_ns / 1e6);
	control->change[0] = '\0';
}

/* --- settings --- */

static void remember(struct top_control *control, const char *setting)
{
	char key[TOP_KEY_BYTES];

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(setting, "="), setting);
	for (size_t i = 0; i < control->changed_count; i++)
		if (strcmp(control->changed[i], key) == 0)
			return;
	if (control->changed_count < TOP_CHANGES_MAX)
		memcpy(control->changed[control->changed_count++], key, sizeof(key));
}

static void restore(const struct top_control *control, const char *key)
{
	char line[LINE_BYTES], value[128] = "";
	struct client_answer answer;

	if (!client_string(control->before.text, key, value, sizeof(value)))
		snprintf(value, sizeof(value), "%" PRIu64, number_of(&control->before, key));
	snprintf(line, sizeof(line), "SET %s=%s", key, value);
	(void)client_ask(control->socket, line, &answer);
}

static bool ask(const struct top_control *control, const char *line, char *error, size_t size)
{
	struct client_answer answer;

	if (client_ask(control->socket, line, &answer) && answer.is_ok)
		return true;
	snprintf(error, size, "%.400s", visible(answer.text));
	return false;
}

static bool has_lease(const struct client_answer *status)
{
	uint64_t left_ms;

	return client_number(status->text, "lease_left_ms", &left_ms) &&
	       number_of(status, "lease_s") == TOP_LEASE_S;
}

/* Begins the line with a lease, and a setting that has it forget. */
static size_t begin_line(struct top_control *control)
{
	bool was_on = is_on(&control->before);
	bool is_shared = was_on && has_lease(&control->before);
	size_t used = (size_t)snprintf(control->line, LINE_BYTES, was_on ? "SET" : "ENABLE");

	control->is_ours = !was_on || is_shared;
	control->forgets = is_shared ? number_of(&control->before, "keep_s") == KEEP_S
				     : !was_on && number_of(&control->before, "events") == 0;
	if (control->is_ours)
		used += (size_t)snprintf(control->line + used, LINE_BYTES - used, " lease_s=%d",
					 TOP_LEASE_S);
	if (control->forgets && number_of(&control->before, "keep_s") == 0)
		used += (size_t)snprintf(control->line + used, LINE_BYTES - used, " keep_s=%d",
					 KEEP_S);
	return used;
}

/* ENABLE, or SET where it is on: with the settings. */
static bool turn_on(struct top_control *control, char *const *settings, char *error, size_t size)
{
	size_t used = begin_line(control);

	for (; *settings; settings++) {
		cmd_join_condition(*settings);
		if (strpbrk(*settings, " \t\n") || used + strlen(*settings) + 2 > LINE_BYTES) {
			snprintf(error, size, "%.200s: too long, or has spaces",
				 visible(*settings));
			return false;
		}
		used += (size_t)snprintf(control->line + used, LINE_BYTES - used, " %s", *settings);
		remember(control, *settings);
	}
	control->renewed_ns = clock_mono_ns();
	return (!control->is_ours && !control->changed_count) ||
	       ask(control, control->line, error, size);
}

bool top_control_begin(struct top_control *control, const char *socket, char *const *settings,
		       char arena[TOP_ARENA_BYTES], char *error, size_t size)
{
	*control = (struct top_control){ .socket = socket, .arena_fd = -1 };
	if (!client_ask(socket, "STATUS", &control->before) || !control->before.is_ok) {
		snprintf(error, size, "%.400s", visible(control->before.text));
		return false;
	}
	if (!turn_on(control, settings, error, size)) {
		control->is_ours = false;
		return false;
	}
	ask_status(control);
	if (!control->status.is_ok ||
	    !client_string(control->status.text, "arena", arena, TOP_ARENA_BYTES) ||
	    arena[0] != '/') {
		snprintf(error, size,
			 "its recording is in private memory: nothing can be seen from outside "
			 "(wcprof record -p)");
		top_control_end(control);
		return false;
	}
	return true;
}

/* --- several of these --- */

static struct flock first_byte(short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
}

void top_control_share(struct top_control *control, int arena_fd)
{
	struct flock lock = first_byte(F_RDLCK);

	control->arena_fd = arena_fd;
	(void)fcntl(arena_fd, F_OFD_SETLK, &lock);
}

/* Where two of them leave at once, each sees the other: then the lease ends. */
static bool is_last(const struct top_control *control)
{
	struct flock lock = first_byte(F_WRLCK);

	return control->arena_fd < 0 || fcntl(control->arena_fd, F_OFD_GETLK, &lock) != 0 ||
	       lock.l_type == F_UNLCK;
}

/* The end of the lease brings back the settings, too. */
void top_control_end(struct top_control *control)
{
	struct client_answer answer;
	bool ends;

	if (control->is_ours)
		ask_status(control);
	ends = control->is_ours && has_lease(&control->status) && is_last(control);
	if (ends)
		(void)client_ask(control->socket, "DISABLE", &answer);
	for (size_t i = 0; !ends && i < control->changed_count; i++)
		restore(control, control->changed[i]);
	if (ends && control->forgets)
		(void)client_ask(control->socket, "RESET", &answer);
	control->is_ours = false;
	control->changed_count = 0;
}

/* A lease that has ended did so while this command was suspended, and recording with it. */
static void renew(struct top_control *control, char note[TOP_NOTE_BYTES])
{
	char line[LINE_BYTES], error[TOP_NOTE_BYTES];
	uint64_t now_ns = clock_mono_ns();
	bool has_ended = now_ns - control->renewed_ns > TOP_LEASE_S * UINT64_C(1000000000);

	if (!control->is_ours || !control->status.is_ok)
		return;
	if (has_lease(&control->status)) {
		snprintf(line, sizeof(line), "SET lease_s=%d", TOP_LEASE_S);
		(void)ask(control, line, error, sizeof(error));
	} else if (has_ended && !is_on(&control->status)) {
		if (ask(control, control->line, error, sizeof(error)))
			snprintf(note, TOP_NOTE_BYTES, "recording had ended: it is on again");
	} else {
		/* somebody else has turned it off, or on for good */
		control->is_ours = false;
	}
	control->renewed_ns = now_ns;
}

/* Where nobody has asked for probes yet, none is this command's. The answer of before stays: it
 * tells which are new. */
static void renew_probes(const struct top_control *control)
{
	char line[32];
	struct client_answer answer;

	snprintf(line, sizeof(line), "PROBES lease_s=%d", TOP_LEASE_S);
	if (control->probes.is_ok)
		(void)client_ask(control->socket, line, &answer);
}

void top_control_tick(struct top_control *control, char note[TOP_NOTE_BYTES])
{
	struct client_answer answer;
	uint64_t wait_ns = control->change[0] || !control->cost.is_known ? AFTER_CHANGE_NS
									 : TOP_CONTROL_EVERY_NS;

	if (control->asked_ns && clock_mono_ns() < control->asked_ns + wait_ns)
		return;
	ask_status(control);
	say_cost(control, note);
	renew(control, note);
	renew_probes(control);
	if (control->is_ours && control->forgets &&
	    number_of(&control->status, "events") > number_of(&control->status, "events_max") / 2)
		(void)client_ask(control->socket, "RESET", &answer);
}

void top_control_changed(struct top_control *control, const char *note)
{
	control->cost_before = control->cost;
	snprintf(control->change, sizeof(control->change), "%s", note);
	ask_status(control);
}

bool top_control_set(struct top_control *control, const char *key, const char *value,
		     char note[TOP_NOTE_BYTES])
{
	struct client_answer answer;
	char line[LINE_BYTES], setting[LINE_BYTES];

	control->change[0] = '\0';
	snprintf(setting, sizeof(setting), "%s=%s", key, value);
	cmd_join_condition(setting);
	snprintf(line, sizeof(line), "SET %.500s", setting);
	if (strpbrk(setting, " \t")) {
		snprintf(note, TOP_NOTE_BYTES, "%s: no spaces; in a pattern, ? stands for one",
			 key);
		return false;
	}
	if (!client_ask(control->socket, line, &answer) || !answer.is_ok) {
		snprintf(note, TOP_NOTE_BYTES, "%.200s", visible(answer.text));
		return false;
	}
	remember(control, key);
	snprintf(note, TOP_NOTE_BYTES, "%s is %.100s now", key,
		 value[0] ? visible(value) : "empty");
	top_control_changed(control, note);
	return true;
}

static void set_number(struct top_control *control, const char *key, uint64_t value,
		       char note[TOP_NOTE_BYTES])
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	(void)top_control_set(control, key, text, note);
}

static const char *next_holds(const struct top_control *control)
{
	char holds[16] = "";

	(void)client_string(control->status.text, "holds", holds, sizeof(holds));
	return strcmp(holds, "contended") == 0 ? "all"
	       : strcmp(holds, "all") == 0     ? "none"
					       : "contended";
}

/* Of numbers in order, the one above or below; the last and the first stay. */
static uint64_t next_rate(uint64_t rate, int step)
{
	static const uint64_t rates[] = { 0, 10, 99, 499, 999 };
	int last = (int)(sizeof(rates) / sizeof(rates[0])) - 1, at = 0;

	while (at < last && rates[at] < rate)
		at++;
	at += step;
	return rates[at < 0 ? 0 : at > last ? last : at];
}

void top_control_step(struct top_control *control, int key, char note[TOP_NOTE_BYTES])
{
	uint64_t hz = number_of(&control->status, "sample_hz");
	uint64_t min_ns = number_of(&control->status, "min_io_ns");

	switch (key) {
	case 'h':
		(void)top_control_set(control, "holds", next_holds(control), note);
		break;
	case 's':
		set_number(control, "sample_hz", next_rate(hz, -1), note);
		break;
	case 'S':
		set_number(control, "sample_hz", hz == 0 ? 99 : next_rate(hz, 1), note);
		break;
	case 'i':
		set_number(control, "min_io_ns",
			   min_ns == 0        ? 100000
			   : min_ns < 1000000 ? 1000000
					      : 0,
			   note);
		break;
	default:
		snprintf(note, TOP_NOTE_BYTES, "no such key: ? lists them");
		break;
	}
}

void top_control_ask_probes(struct top_control *control)
{
	if (!client_ask(control->socket, "PROBES", &control->probes))
		control->probes.is_ok = false;
}

uint64_t top_control_sample_ns(const struct top_control *control)
{
	uint64_t hz = number_of(&control->status, "sample_hz");

	return hz ? 1000000000 / hz : 0;
}
