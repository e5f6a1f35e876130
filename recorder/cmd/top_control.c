/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top's questions to the process; top_control.h has the contract.
 */
#include "top_control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visible.h"

#define EVERY_NS UINT64_C(5000000000)

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

bool top_control_begin(struct top_control *control, const char *socket, char arena[TOP_ARENA_BYTES],
		       char *error, size_t size)
{
	struct client_answer answer;

	*control = (struct top_control){ .socket = socket };
	if (!client_ask(socket, "STATUS", &control->before) || !control->before.is_ok) {
		snprintf(error, size, "%.400s", visible(control->before.text));
		return false;
	}
	if (!is_on(&control->before)) {
		if (!client_ask(socket, "ENABLE", &answer) || !answer.is_ok) {
			snprintf(error, size, "%.400s", visible(answer.text));
			return false;
		}
		control->has_enabled = true;
	}
	if (!client_ask(socket, "STATUS", &control->status) || !control->status.is_ok ||
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

static void restore(const struct top_control *control, const char *key, bool is_text)
{
	char line[160], value[64] = "";
	struct client_answer answer;

	if (is_text)
		(void)client_string(control->before.text, key, value, sizeof(value));
	else
		snprintf(value, sizeof(value), "%" PRIu64, number_of(&control->before, key));
	snprintf(line, sizeof(line), "SET %s=%s", key, value);
	(void)client_ask(control->socket, line, &answer);
}

void top_control_end(struct top_control *control)
{
	struct client_answer answer;

	if (!control->has_enabled)
		return;
	control->has_enabled = false;
	(void)client_ask(control->socket, "DISABLE", &answer);
	restore(control, "holds", true);
	restore(control, "sample_hz", false);
	restore(control, "min_io_ns", false);
	restore(control, "port", false);
	restore(control, "thread", true);
	if (number_of(&control->before, "events") == 0)
		(void)client_ask(control->socket, "RESET", &answer);
}

static void ask_status(struct top_control *control)
{
	if (!client_ask(control->socket, "STATUS", &control->status))
		control->status.is_ok = false;
}

void top_control_tick(struct top_control *control, uint64_t now_ns)
{
	struct client_answer answer;

	if (control->asked_ns && now_ns < control->asked_ns + EVERY_NS)
		return;
	control->asked_ns = now_ns;
	ask_status(control);
	if (control->has_enabled && number_of(&control->before, "events") == 0 &&
	    number_of(&control->status, "events") > number_of(&control->status, "events_max") / 2)
		(void)client_ask(control->socket, "RESET", &answer);
}

void top_control_set(struct top_control *control, const char *key, const char *value, char *note,
		     size_t size)
{
	struct client_answer answer;
	char line[160];

	snprintf(line, sizeof(line), "SET %s=%s", key, value);
	if (strchr(value, ' '))
		snprintf(note, size, "%s: no blanks, please", key);
	else if (!client_ask(control->socket, line, &answer) || !answer.is_ok)
		snprintf(note, size, "%.200s", visible(answer.text));
	else
		snprintf(note, size, "%s is %s now", key, value[0] ? visible(value) : "empty");
	ask_status(control);
}

static void set_number(struct top_control *control, const char *key, uint64_t value, char *note,
		       size_t size)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	top_control_set(control, key, text, note, size);
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

void top_control_step(struct top_control *control, int key, char *note, size_t size)
{
	uint64_t hz = number_of(&control->status, "sample_hz");
	uint64_t min_ns = number_of(&control->status, "min_io_ns");

	switch (key) {
	case 'h':
		top_control_set(control, "holds", next_holds(control), note, size);
		break;
	case 's':
		set_number(control, "sample_hz", next_rate(hz, -1), note, size);
		break;
	case 'S':
		set_number(control, "sample_hz", next_rate(hz, 1), note, size);
		break;
	case 'i':
		set_number(control, "min_io_ns",
			   min_ns == 0        ? 100000
			   : min_ns < 1000000 ? 1000000
					      : 0,
			   note, size);
		break;
	default:
		snprintf(note, size, "no such key: ? lists them");
		break;
	}
}
