/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live options of options.def: parsed, made to take effect, shown. See settings.h.
 *
 * The options hold the values as they were given, and the control thread alone touches them. Each
 * takes effect as a word elsewhere that threads read relaxed: an event more or less at the old
 * value. Each thread asks scope.h again whether it is recorded when a period begins.
 */
#include "settings.h"

#include <assert.h>
#include <string.h>

#include "arena.h"
#include "budget.h"
#include "clock.h"
#include "lease.h"
#include "op.h"
#include "options.h"
#include "peek.h"
#include "sample.h"
#include "sampler.h"
#include "scope.h"
#include "stack.h"
#include "switch.h"
#include "watch.h"

#include "in_target.h"

enum { STACK_DEPTH_USUAL = 32 };

/* --- One function a setting: makes the value take effect --- */

static void apply_budget(void)
{
	budget_set(recorder_options.budget);
}

static void apply_lease_s(void)
{
	lease_set(recorder_options.lease_s, clock_mono_ns());
}

static void apply_thread(void)
{
	_Static_assert(sizeof(recorder_options.thread) == SCOPE_GLOB_BYTES, "any value fits");
	(void)scope_set_threads(recorder_options.thread, strlen(recorder_options.thread));
}

static void apply_port(void)
{
	scope_set_port((uint32_t)recorder_options.port);
}

static void apply_flows(void)
{
	switch_allow_flows(recorder_options.flows != 0);
}

static void apply_keep_s(void)
{
	struct arena *arena = load_acquire(&recorder_arena);

	if (arena)
		store_relaxed(&arena->keep_s, (uint32_t)recorder_options.keep_s);
}

static void apply_holds(void)
{
	store_relaxed(&recorder_holds, (uint32_t)recorder_options.holds);
}

static void apply_stacks(void)
{
	uint64_t depth =
		recorder_options.stack_depth ? recorder_options.stack_depth : STACK_DEPTH_USUAL;

	stack_set_depth(recorder_options.stacks ? (uint32_t)depth : 0);
}

static void apply_sample_hz(void)
{
	sampler_set_rate((uint32_t)recorder_options.sample_hz);
}

static void apply_sample_when(void)
{
	sample_set_condition(recorder_options.sample_when);
}

static void apply_min_io_ns(void)
{
	store_relaxed(&op_min_io_ticks, clock_ticks_of(recorder_options.min_io_ns));
}

static void apply_peek(void)
{
	assert(recorder_options.peek <= PEEK_BYTES_MAX);
	store_relaxed(&recorder_peek, (uint32_t)recorder_options.peek);
}

/* --- All of them --- */

/* NULL: the option is no setting. */
static void (*const apply[OPTION_COUNT])(void) = {
#define APPLY_LIVE(field) [OPTION_##field] = apply_##field,
#define APPLY_FIXED(field)
#define OPTION_NUMBER(field, name, value, least, most, unit, live, help) APPLY_##live(field)
#define OPTION_CHOICE(field, name, value, words, live, help)             APPLY_##live(field)
#define OPTION_SHARE(field, name, value, live, help)                     APPLY_##live(field)
#define OPTION_TEXT(field, name, shown, noun, most, live, help)          APPLY_##live(field)
#define OPTION_CONDITION(field, name, live, help)                        APPLY_##live(field)
#include "options.def"
};

/* Its index; OPTION_COUNT: there is no such setting. */
static int find_setting(const char *key, size_t bytes)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (option_entries[i].is_live && strlen(option_entries[i].key) == bytes &&
		    memcmp(option_entries[i].key, key, bytes) == 0)
			return i;
	return OPTION_COUNT;
}

void settings_start(void)
{
	if (recorder_options.stack_depth == 0)
		recorder_options.stacks = 0;
	for (int i = 0; i < OPTION_COUNT; i++)
		if (option_entries[i].is_live)
			apply[i]();
}

bool settings_have(const char *key, size_t bytes)
{
	return find_setting(key, bytes) < OPTION_COUNT;
}

/* Whose calls are recorded. */
struct scope {
	char threads[SCOPE_GLOB_BYTES];
	uint32_t port;
};

static struct scope present_scope(void)
{
	struct scope scope = { .port = scope_port() };

	scope_get_threads(scope.threads);
	return scope;
}

/* After the change: threads look whether they are meant. */
static void take_effect(const struct scope *before)
{
	struct scope now = present_scope();

	if (now.port != before->port || strcmp(now.threads, before->threads) != 0)
		switch_next_window();
	self_begin_period();
}

bool settings_change(const struct setting_value *values, uint32_t count, struct text *wrong)
{
	const struct scope before = present_scope();

	for (uint32_t i = 0; i < count; i++) {
		const struct option_entry *entry;

		assert(settings_have(values[i].key, values[i].key_bytes));
		entry = &option_entries[find_setting(values[i].key, values[i].key_bytes)];
		if (options_accept(entry, values[i].value, values[i].value_bytes))
			continue;
		text_put(wrong, entry->key);
		text_put_literal(wrong, " is ");
		options_put_allowed(wrong, entry);
		options_put_why(wrong, entry, values[i].value, values[i].value_bytes);
		return false;
	}
	lease_note_settings();
	for (uint32_t i = 0; i < count; i++) {
		int setting = find_setting(values[i].key, values[i].key_bytes);

		options_set(&recorder_options, &option_entries[setting], values[i].value,
			    values[i].value_bytes);
		apply[setting]();
	}
	take_effect(&before);
	return true;
}

static void restore(int setting, const struct options *before)
{
	const struct option_entry *entry = &option_entries[setting];
	bool is_text = entry->type == OPTION_IS_TEXT || entry->type == OPTION_IS_CONDITION;
	size_t bytes = is_text ? entry->most + 1 : sizeof(uint64_t);

	memcpy((char *)&recorder_options + entry->offset, (const char *)before + entry->offset,
	       bytes);
	apply[setting]();
}

void settings_restore(const struct options *before)
{
	const struct scope scope = present_scope();

	for (int i = 0; i < OPTION_COUNT; i++)
		if (option_entries[i].is_live)
			restore(i, before);
	take_effect(&scope);
}

void settings_put(struct text *text)
{
	for (int i = 0; i < OPTION_COUNT; i++) {
		if (!option_entries[i].is_live)
			continue;
		text_put_key(text, option_entries[i].key);
		options_put_value(text, &recorder_options, &option_entries[i]);
	}
}

void settings_put_keys(struct text *text)
{
	bool is_first = true;

	for (int i = 0; i < OPTION_COUNT; i++) {
		if (!option_entries[i].is_live)
			continue;
		text_put(text, is_first ? "" : "|");
		text_put(text, option_entries[i].key);
		is_first = false;
	}
}

void settings_put_help(struct text *text)
{
	for (int i = 0; i < OPTION_COUNT; i++) {
		if (!option_entries[i].is_live)
			continue;
		text_put_literal(text, ",\"SET ");
		text_put(text, option_entries[i].key);
		text_put_literal(text, "=\":\"");
		text_put(text, option_entries[i].help);
		text_put_literal(text, ": ");
		options_put_allowed(text, &option_entries[i]);
		text_put_literal(text, "\"");
	}
}
