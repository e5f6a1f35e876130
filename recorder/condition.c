/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions: their text, and whether they hold. See condition.h.
 */
#include "condition.h"

#include <string.h>

#include "clock.h"
#include "entries.h"
#include "glob.h"
#include "handles.h"
#include "stacks.h"
#include "strings.h"

#include "in_target.h"

enum {
	PERMILLE_LEAST = 500,
	PERMILLE_MOST = 999,
	REFRESHED_EVERY = 32, /* requests; a percentile that has moved is looked up then */
	ADDRESS_BYTES = 20    /* 0x, 16 digits, and its end */
};

/* --- Text ------------------------------------------------------------------------------------- */

struct piece {
	const char *at;
	size_t bytes;
};

static bool begins(const struct piece *piece, const char *with)
{
	return piece->bytes >= strlen(with) && memcmp(piece->at, with, strlen(with)) == 0;
}

static void skip(struct piece *piece, size_t bytes)
{
	piece->at += bytes;
	piece->bytes -= bytes;
}

static struct piece trimmed(struct piece piece)
{
	while (piece.bytes && piece.at[0] == ' ')
		skip(&piece, 1);
	while (piece.bytes && piece.at[piece.bytes - 1] == ' ')
		piece.bytes--;
	return piece;
}

/* The text before the next " and " or comma, if there is one: then *rest is the text after it. */
static bool take_first(struct piece *rest, struct piece *first)
{
	static const char word[] = " and ";

	for (size_t i = 0; i < rest->bytes; i++) {
		struct piece here = { rest->at + i, rest->bytes - i };
		size_t joint = begins(&here, word) ? strlen(word) : here.at[0] == ',';

		if (joint == 0)
			continue;
		*first = trimmed((struct piece){ rest->at, i });
		skip(rest, i + joint);
		return true;
	}
	*first = trimmed(*rest);
	return false;
}

/* "95", "99.9". */
static bool parse_permille(struct piece piece, uint32_t *permille)
{
	const char *point = memchr(piece.at, '.', piece.bytes);
	size_t whole_bytes = point ? (size_t)(point - piece.at) : piece.bytes;
	uint64_t whole, tenth = 0;

	if (!text_parse_u64(piece.at, whole_bytes, &whole) || whole > 100 ||
	    (point && (piece.bytes - whole_bytes != 2 || !text_parse_u64(point + 1, 1, &tenth))))
		return false;
	*permille = (uint32_t)(whole * 10 + tenth);
	return *permille >= PERMILLE_LEAST && *permille <= PERMILLE_MOST;
}

/* "10ms" */
static bool parse_time(struct piece piece, uint64_t *ns)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	size_t digits = 0;
	uint64_t number;

	while (digits < piece.bytes && piece.at[digits] >= '0' && piece.at[digits] <= '9')
		digits++;
	if (!text_parse_u64(piece.at, digits, &number) || number > UINT32_MAX)
		return false;
	skip(&piece, digits);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].unit) != piece.bytes || !begins(&piece, units[i].unit))
			continue;
		*ns = number * units[i].ns;
		return true;
	}
	return false;
}

static bool parse_request(struct piece piece, struct condition_term *term)
{
	piece = trimmed(piece);
	if (piece.bytes == 0)
		return true;
	if (piece.at[0] != '>')
		return false;
	skip(&piece, 1);
	piece = trimmed(piece);
	if (begins(&piece, "p")) {
		skip(&piece, 1);
		return parse_permille(piece, &term->permille);
	}
	return parse_time(piece, &term->least_ns);
}

static bool parse_pattern(struct piece piece, struct condition_term *term)
{
	if (piece.bytes == 0 || piece.bytes >= sizeof(term->pattern))
		return false;
	memcpy(term->pattern, piece.at, piece.bytes);
	return true;
}

static bool parse_term(struct piece piece, struct condition_term *term)
{
	static const struct {
		const char *begin;
		enum condition_type type;
		bool (*parse)(struct piece, struct condition_term *); /* NULL: nothing follows */
	} types[] = {
		{ "op:", CONDITION_OP, parse_pattern },
		{ "class:", CONDITION_CLASS, parse_pattern },
		{ "lock:", CONDITION_LOCK, parse_pattern },
		{ "lock@", CONDITION_SITE, parse_pattern },
		{ "lock", CONDITION_LOCK, NULL },
		{ "request", CONDITION_REQUEST, parse_request },
	};

	*term = (struct condition_term){ .type = CONDITION_REQUEST };
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!begins(&piece, types[i].begin))
			continue;
		skip(&piece, strlen(types[i].begin));
		term->type = types[i].type;
		return types[i].parse ? types[i].parse(piece, term) : piece.bytes == 0;
	}
	return false;
}

static void complain(struct text *why, const struct piece *piece, const char *text)
{
	enum { SHOWN = 32 };

	text_put_json(why, piece->at, piece->bytes < SHOWN ? piece->bytes : SHOWN);
	text_put_literal(why, " at byte ");
	text_put_u64(why, (size_t)(piece->at - text) + 1);
	text_put_literal(why, " is none of request, request>10ms, request>p95 (p50 to p99.9), "
			      "op:NAME, class:NAME, lock, lock:NAME, lock@SITE");
}

const char *condition_site(const struct condition *condition)
{
	for (uint32_t i = 0; i < condition->count; i++)
		if (condition->terms[i].type == CONDITION_SITE)
			return condition->terms[i].pattern;
	return NULL;
}

/* NULL: it is one. */
static const char *parse_all(const char *text, size_t bytes, struct condition *condition,
			     struct piece *piece)
{
	struct piece rest = { text, bytes };
	bool has_more = bytes > 0;

	while (has_more) {
		has_more = take_first(&rest, piece);
		if (condition->count == CONDITION_TERMS_MAX)
			return "more than 4 are joined";
		if (!parse_term(*piece, &condition->terms[condition->count]))
			return "";
		if (condition->terms[condition->count].type == CONDITION_SITE &&
		    condition_site(condition))
			return "it has lock@ more than once";
		condition->count++;
	}
	return NULL;
}

bool condition_parse(const char *text, size_t bytes, struct condition *condition, struct text *why)
{
	struct piece piece = { text, 0 };
	const char *wrong = "it has more than 127 bytes";

	condition->count = 0;
	condition->sites.count = 0;
	if (bytes < CONDITION_BYTES)
		wrong = parse_all(text, bytes, condition, &piece);
	if (wrong && !wrong[0] && why)
		complain(why, &piece, text);
	else if (wrong && why)
		text_put(why, wrong);
	return !wrong;
}

void condition_settle(struct condition *condition)
{
	for (uint32_t i = 0; i < condition->count; i++)
		condition->terms[i].least_ticks = clock_ticks_of(condition->terms[i].least_ns);
}

bool condition_asks_for_requests(const struct condition *condition)
{
	for (uint32_t i = 0; i < condition->count; i++)
		if (condition->terms[i].type == CONDITION_REQUEST)
			return true;
	return false;
}

/* --- What the thread is in -------------------------------------------------------------------- */

static const char *string_of(uint32_t id)
{
	uint32_t bytes;

	return strings_get(recorder_arena, id, &bytes);
}

static bool has_name(const struct condition_term *term, uint32_t id)
{
	return glob_matches(term->pattern, string_of(id));
}

/* The op that the thread works for, and those around it. */
static bool is_within(const struct condition_term *term, uint64_t op)
{
	enum { LEVELS_MAX = 16 };

	for (uint32_t i = 0; op && i < LEVELS_MAX; i++) {
		uint32_t index = handles_find(recorder_arena, op);
		const struct open_entry *entry =
			index != HANDLE_NONE ? handles_at(recorder_arena, index) : NULL;

		if (!entry || load_relaxed(&entry->record.type) != RECORD_OP)
			return false;
		if (has_name(term, load_relaxed(&entry->record.name)))
			return true;
		op = load_relaxed(&entry->record.parent);
	}
	return false;
}

/* [0] is the thread's own op, which is no part of its work. */
static bool is_in_op(const struct condition_term *term, const struct self *self)
{
	for (uint32_t i = self->slot ? self->depth : 0; i-- > 1;) {
		const struct record *record = &self->slot->entries[i].record;

		if (record->type == RECORD_ATTACHED ? is_within(term, record->id)
						    : record->type == RECORD_OP &&
							      (term->type == CONDITION_CLASS ||
							       record->what == KIND_OP_USER) &&
							      has_name(term, record->name))
			return true;
	}
	return false;
}

/* "0x7f..."; the recorder's own text of it has other digits before that. */
static bool is_at(const struct condition_term *term, uint64_t address)
{
	char digits[ADDRESS_BYTES];
	char *at = &digits[ADDRESS_BYTES - 1];

	*at = '\0';
	do {
		*--at = "0123456789abcdef"[address % 16];
		address /= 16;
	} while (address);
	*--at = 'x';
	*--at = '0';
	return glob_matches(term->pattern, at);
}

static bool is_lock(const struct condition_term *term, const struct record *hold)
{
	const char *name = string_of(hold->name), *behind = name;

	if (!term->pattern[0] || glob_matches(term->pattern, name) || is_at(term, hold->value))
		return true;
	while (*behind && *behind++ != ' ')
		continue;
	return glob_matches(term->pattern, behind);
}

/* Whether the call that took it was made from there, or from what was called there. */
static bool is_taken_at(const struct condition_sites *sites, const struct record *hold)
{
	uint32_t count = 0;
	const uint64_t *pcs = hold->stack ? stacks_get(recorder_arena, hold->stack, &count) : NULL;

	for (uint32_t i = 0; i < count; i++)
		for (uint64_t k = 0; k < sites->count; k++)
			/* A call returns behind it, which may be another line's. */
			if (pcs[i] - 1 >= sites->ranges[k].low &&
			    pcs[i] - 1 < sites->ranges[k].high)
				return true;
	return false;
}

static bool has_lock(const struct condition *condition, const struct condition_term *term,
		     const struct self *self)
{
	for (uint32_t i = self->slot ? self->depth : 0; i-- > 1;) {
		const struct open_entry *entry = &self->slot->entries[i];

		if (entry_is_hold(entry) && !field_is_released(&entry->record) &&
		    !entry_is_taken(entry) &&
		    (term->type == CONDITION_SITE ? is_taken_at(&condition->sites, &entry->record)
						  : is_lock(term, &entry->record)))
			return true;
	}
	return false;
}

/* --- Requests --------------------------------------------------------------------------------- */

/* The age that a request must have; UINT64_MAX: it is not known yet. */
static uint64_t least_of(struct condition_term *term, enum request_kind kind)
{
	uint32_t ended;

	if (!term->permille)
		return term->least_ticks;
	ended = requests_ended(kind);
	if (ended - load_relaxed(&term->known_at[kind]) >= REFRESHED_EVERY) {
		store_relaxed(&term->known_ticks[kind], requests_percentile(kind, term->permille));
		store_relaxed(&term->known_at[kind], ended);
	}
	return load_relaxed(&term->known_ticks[kind]) ? load_relaxed(&term->known_ticks[kind])
						      : UINT64_MAX;
}

/* Clocks of CPUs may be some ticks apart. */
static bool is_old_enough(struct condition_term *term, struct request_now request, uint64_t now)
{
	uint64_t age = now > request.begun_ticks ? now - request.begun_ticks : 0;

	return age >= least_of(term, request.kind);
}

bool condition_is_reached(struct condition *condition, struct request_now request, uint64_t now)
{
	for (uint32_t i = 0; i < condition->count; i++)
		if (condition->terms[i].type == CONDITION_REQUEST &&
		    !is_old_enough(&condition->terms[i], request, now))
			return false;
	return true;
}

/* --- All -------------------------------------------------------------------------------------- */

static bool holds(const struct condition *condition, const struct condition_term *term,
		  const struct self *self, const struct request_now *request)
{
	switch (term->type) {
	case CONDITION_REQUEST:
		return request->begun_ticks != 0;
	case CONDITION_LOCK:
	case CONDITION_SITE:
		return has_lock(condition, term, self);
	case CONDITION_OP:
	case CONDITION_CLASS:
		break;
	}
	return is_in_op(term, self);
}

enum condition_verdict condition_judge(struct condition *condition, const struct self *self,
				       uint64_t now, struct request_now *request)
{
	bool asks = condition_asks_for_requests(condition);

	*request = asks ? requests_now(self) : (struct request_now){ .kind = REQUESTS_SERVED };
	for (uint32_t i = 0; i < condition->count; i++)
		if (!holds(condition, &condition->terms[i], self, request))
			return CONDITION_NO;
	if (!asks || condition_is_reached(condition, *request, now ? now : clock_now_ticks()))
		return CONDITION_YES;
	return CONDITION_LATER;
}
