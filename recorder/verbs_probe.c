/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs of probes. See verbs.h and probe_patch.h.
 */
#include "verbs.h"

#include <string.h>

#include "clock.h"
#include "handout.h"
#include "probe_patch.h"

#include "in_target.h"

static int digit_of(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
}

static bool read_order(const struct setting_value *argument, struct probe_order *order)
{
	uint8_t *to = (uint8_t *)order;

	if (!argument || argument->value_bytes != 2 * sizeof(*order))
		return false;
	for (size_t i = 0; i < sizeof(*order); i++) {
		int high = digit_of(argument->value[2 * i]);
		int low = digit_of(argument->value[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		to[i] = (uint8_t)(high << 4 | low);
	}
	return probe_order_is_valid(order);
}

enum { LEASE_S_MAX = 86400 };
#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

/* When the lease ends that is asked for; 0 = none is. False: it is no such time. */
static bool read_lease(const struct request *request, uint64_t *until_ns)
{
	const struct setting_value *argument = verbs_find(request, "lease_s");
	uint64_t seconds;

	*until_ns = 0;
	if (!argument)
		return true;
	if (!text_parse_u64(argument->value, argument->value_bytes, &seconds) || seconds < 1 ||
	    seconds > LEASE_S_MAX)
		return false;
	*until_ns = clock_mono_ns() + seconds * NS_PER_S;
	return true;
}

static void refuse_lease(struct text *answer)
{
	verbs_refuse(answer, "argument", "lease_s is a number from 1 to 86400");
}

/* Of the control thread's. */
static struct probe_order order;

void verb_PROBE(struct request *request, struct text *answer)
{
	uint64_t until_ns;
	const char *why;

	if (!read_lease(request, &until_ns)) {
		refuse_lease(answer);
		return;
	}
	if (!read_order(verbs_find(request, "order"), &order)) {
		verbs_refuse(answer, "argument",
			     "no such order: wcprof probe of the same version makes them");
		return;
	}
	why = probe_add(&order, until_ns);
	if (why) {
		verbs_refuse(answer, "refused", why);
		return;
	}
	verbs_begin_answer(answer);
	text_put_key_string(answer, "name", order.name);
	text_put_literal(answer, "}\n");
}

void verb_UNPROBE(struct request *request, struct text *answer)
{
	const struct setting_value *name = verbs_find(request, "name");
	uint32_t count =
		probe_remove(name ? name->value : "", name ? (uint32_t)name->value_bytes : 0);

	if (count == 0 && name) {
		verbs_refuse(answer, "unknown", "there is no probe of that name");
		return;
	}
	verbs_begin_answer(answer);
	text_put_key_u64(answer, "removed", count);
	text_put_literal(answer, "}\n");
}

/* Of one, with what comes behind the last: each byte of its name may become six. */
enum { PROBE_TEXT_BYTES = 6 * (PROBE_ORDER_NAME_BYTES + CONDITION_BYTES) + 256 };

/* Of the slowest calls it is what has been found so far. */
static uint64_t min_ns_of(const struct probe *probe)
{
	uint64_t rate = clock_own_rate(CLOCK_APART_LEAST_NS);

	if (!probe->order.min_permille)
		return probe->order.min_ns;
	return (uint64_t)((unsigned __int128)load_relaxed(&probe->min_ticks) * rate >> 32);
}

static uint64_t left_ms(const struct probe *probe)
{
	uint64_t now_ns = clock_mono_ns();

	return now_ns < probe->until_ns ? (probe->until_ns - now_ns) / NS_PER_MS : 0;
}

static void put_probe(struct text *answer, uint32_t index)
{
	const struct probe *probe = &probe_table[index];

	text_put_literal(answer, "{\"name\":");
	text_put_json(answer, probe->order.name, strlen(probe->order.name));
	text_put_key_u64(answer, "calls", probe_hits(index, PROBE_CALLS));
	text_put_key_u64(answer, "brief", probe_hits(index, PROBE_BRIEF));
	text_put_key_u64(answer, "unmet", probe_hits(index, PROBE_UNMET));
	text_put_key_u64(answer, "min_ns", min_ns_of(probe));
	text_put_key_u64(answer, "min_permille", probe->order.min_permille);
	text_put_key(answer, "when");
	text_put_json(answer, probe->order.when, strlen(probe->order.when));
	if (probe->until_ns)
		text_put_key_u64(answer, "lease_left_ms", left_ms(probe));
	text_put_literal(answer, "}");
}

void verb_PROBES(struct request *request, struct text *answer)
{
	bool is_first = true;
	uint64_t left_out = 0, until_ns;

	if (!read_lease(request, &until_ns)) {
		refuse_lease(answer);
		return;
	}
	if (until_ns)
		probe_lease_renew(until_ns);
	verbs_begin_answer(answer);
	text_put_key(answer, "probes");
	text_put_literal(answer, "[");
	for (uint32_t i = 0; probe_table && i < PROBES_MAX; i++) {
		if (!probe_table[i].is_on)
			continue;
		if (text_room(answer) < PROBE_TEXT_BYTES) {
			left_out++;
			continue;
		}
		if (!is_first)
			text_put_literal(answer, ",");
		is_first = false;
		put_probe(answer, i);
	}
	text_put_literal(answer, "]");
	text_put_key_u64(answer, "left_out", left_out);
	text_put_literal(answer, "}\n");
}
