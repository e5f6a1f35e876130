/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be changed while the program runs. See settings.h and settings.def.
 *
 * Each setting is a word of its own that the recorder reads relaxed: an event more or less at the
 * old value. Who is recorded (scope.h) is looked at again by each thread when a period begins.
 */
#include "settings.h"

#include <assert.h>
#include <string.h>

#include "clock.h"
#include "op.h"
#include "options.h"
#include "sampler.h"
#include "scope.h"
#include "stack.h"
#include "switch.h"
#include "watch.h"

#include "in_target.h"

enum { STACK_DEPTH_USUAL = 32 };

#define MIN_IO_NS_MOST UINT64_C(3600000000000)

/* As they were given; the control thread's own. */
static uint64_t min_io_ns, has_stacks, sample_hz;

static const char *const holds_words[] = {
	[HOLDS_CONTENDED] = "contended",
	[HOLDS_ALL] = "all",
	[HOLDS_NONE] = "none",
};

static bool is_word(const char *value, size_t bytes, const char *word)
{
	return bytes == strlen(word) && memcmp(value, word, bytes) == 0;
}

static bool read_number(const char *value, size_t bytes, uint64_t most, uint64_t *number)
{
	return bytes > 0 && text_parse_u64(value, bytes, number) && *number <= most;
}

/* Good to a thousandth, which is enough for a threshold. */
static uint64_t to_ticks(uint64_t ns)
{
	if (ns == 0)
		return 0;
	return (uint64_t)(((unsigned __int128)ns << 32) / clock_own_rate(CLOCK_APART_LEAST_NS));
}

/* --- One function a setting: whether the value is one, and if `apply`, takes it --- */

static bool set_thread(const char *value, size_t bytes, bool apply)
{
	if (bytes >= SCOPE_GLOB_BYTES || !apply)
		return bytes < SCOPE_GLOB_BYTES;
	return scope_set_threads(value, bytes);
}

static bool set_port(const char *value, size_t bytes, bool apply)
{
	uint64_t port;

	if (!read_number(value, bytes, UINT16_MAX, &port))
		return false;
	if (apply)
		scope_set_port((uint32_t)port);
	return true;
}

static bool set_flows(const char *value, size_t bytes, bool apply)
{
	uint64_t flows;

	if (!read_number(value, bytes, 1, &flows))
		return false;
	if (apply)
		switch_allow_flows(flows != 0);
	return true;
}

static bool set_holds(const char *value, size_t bytes, bool apply)
{
	for (uint32_t i = 0; i < sizeof(holds_words) / sizeof(holds_words[0]); i++) {
		if (!is_word(value, bytes, holds_words[i]))
			continue;
		if (apply)
			store_relaxed(&recorder_holds, i);
		return true;
	}
	return false;
}

static bool set_stacks(const char *value, size_t bytes, bool apply)
{
	uint64_t depth =
		recorder_options.stack_depth ? recorder_options.stack_depth : STACK_DEPTH_USUAL;
	uint64_t stacks;

	if (!read_number(value, bytes, 1, &stacks))
		return false;
	if (apply) {
		has_stacks = stacks;
		stack_set_depth(stacks ? (uint32_t)depth : 0);
	}
	return true;
}

static bool set_sample_hz(const char *value, size_t bytes, bool apply)
{
	uint64_t hz;

	if (!read_number(value, bytes, SAMPLER_HZ_MAX, &hz))
		return false;
	if (apply) {
		sample_hz = hz;
		sampler_set_rate((uint32_t)hz);
	}
	return true;
}

static bool set_min_io_ns(const char *value, size_t bytes, bool apply)
{
	uint64_t ns;

	if (!read_number(value, bytes, MIN_IO_NS_MOST, &ns))
		return false;
	if (apply) {
		min_io_ns = ns;
		store_relaxed(&op_min_io_ticks, to_ticks(ns));
	}
	return true;
}

static void put_thread(struct text *text)
{
	char glob[SCOPE_GLOB_BYTES];

	scope_get_threads(glob);
	text_put_json(text, glob, strlen(glob));
}

static void put_port(struct text *text)
{
	text_put_u64(text, scope_port());
}

static void put_flows(struct text *text)
{
	text_put_u64(text, switch_allows_flows());
}

static void put_holds(struct text *text)
{
	const char *word = holds_words[load_relaxed(&recorder_holds)];

	text_put_json(text, word, strlen(word));
}

static void put_stacks(struct text *text)
{
	text_put_u64(text, has_stacks);
}

static void put_sample_hz(struct text *text)
{
	text_put_u64(text, sample_hz);
}

static void put_min_io_ns(struct text *text)
{
	text_put_u64(text, min_io_ns);
}

/* --- All of them --- */

static const struct setting {
	const char *name;
	const char *allowed;
	const char *help;
	bool (*set)(const char *value, size_t bytes, bool apply);
	void (*put)(struct text *);
} settings[] = {
#define SETTING(name, allowed, help) { #name, allowed, help, set_##name, put_##name },
#include "settings.def"
#undef SETTING
};

enum { SETTING_COUNT = sizeof(settings) / sizeof(settings[0]) };

static const struct setting *find_setting(const struct setting_value *value)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		if (is_word(value->key, value->key_bytes, settings[i].name))
			return &settings[i];
	return NULL;
}

void settings_start(void)
{
	min_io_ns = recorder_options.min_io_ns;
	has_stacks = recorder_options.stack_depth > 0;
	sample_hz = recorder_options.sample_hz;
	sampler_set_rate((uint32_t)sample_hz);
	stack_set_depth((uint32_t)recorder_options.stack_depth);
	op_min_io_ticks = to_ticks(min_io_ns);
	op_brief_ticks = to_ticks(OP_BRIEF_NS);
	store_relaxed(&recorder_holds, (uint32_t)recorder_options.holds);
}

bool settings_change(const struct setting_value *values, uint32_t count, struct text *wrong)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct setting *setting = find_setting(&values[i]);

		assert(setting);
		if (setting->set(values[i].value, values[i].value_bytes, false))
			continue;
		text_put(wrong, setting->name);
		text_put_literal(wrong, " is ");
		text_put(wrong, setting->allowed);
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		(void)find_setting(&values[i])->set(values[i].value, values[i].value_bytes, true);
	/* After the change: threads look whether they are meant. */
	self_begin_period();
	return true;
}

void settings_put(struct text *text)
{
	for (int i = 0; i < SETTING_COUNT; i++) {
		text_put(text, i ? ",\"" : "\"");
		text_put(text, settings[i].name);
		text_put_literal(text, "\":");
		settings[i].put(text);
	}
}

void settings_put_help(struct text *text)
{
	for (int i = 0; i < SETTING_COUNT; i++) {
		text_put_literal(text, ",\"SET ");
		text_put(text, settings[i].name);
		text_put_literal(text, "=\":\"");
		text_put(text, settings[i].help);
		text_put_literal(text, ": ");
		text_put(text, settings[i].allowed);
		text_put_literal(text, "\"");
	}
}
