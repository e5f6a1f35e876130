/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for numbers of an arena; top_labels.h has the contract.
 *
 * Stacks are looked at once, as their first frame is a class's caller.
 */
#include "top_labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visible.h"

enum {
	CALLERS = STACKS_MAX,
	FRAMES_MOST = 16,
	CALLS_MAX = 4096 /* names of calls have the first ids */
};

struct top_labels {
	const struct top_reader *reader;
	struct top_resolver *resolver;
	uint64_t *callers;  /* by stack; 0 = not looked at */
	uint8_t *direction; /* by string: 0 = not looked at, 1 = reads, 2 = writes */
};

static const char *const reason_words[] = {
#define REASON(number, name, word, meaning) [number] = (word),
#include "events.def"
};

static const char *const kind_words[] = {
#define KIND(number, name, word, work, meaning) [number] = (word),
#include "events.def"
};

struct top_labels *top_labels_begin(const struct top_reader *reader, struct top_resolver *resolver)
{
	struct top_labels *labels = calloc(1, sizeof(*labels));

	if (!labels)
		return NULL;
	labels->reader = reader;
	labels->resolver = resolver;
	labels->callers = calloc(CALLERS, sizeof(*labels->callers));
	labels->direction = calloc(CALLS_MAX, sizeof(*labels->direction));
	if (labels->callers && labels->direction)
		return labels;
	top_labels_end(labels);
	return NULL;
}

void top_labels_end(struct top_labels *labels)
{
	if (!labels)
		return;
	free(labels->callers);
	free(labels->direction);
	free(labels);
}

/* --- ids --- */

static uint64_t caller_of(void *context, uint32_t stack)
{
	struct top_labels *labels = context;
	uint64_t frames[1] = { 0 };

	if (stack == 0 || stack >= CALLERS)
		return 0;
	if (labels->callers[stack] == 0 && top_reader_stack(labels->reader, stack, frames, 1) == 1)
		labels->callers[stack] = frames[0];
	return labels->callers[stack];
}

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

static bool is_write(void *context, uint32_t name)
{
	static const char *const writes[] = { "write",  "pwrite", "send",
					      "splice", "fwrite", "fflush" };
	struct top_labels *labels = context;
	char text[64];

	if (name == 0 || name >= CALLS_MAX)
		return false;
	if (labels->direction[name] == 0) {
		top_reader_string(labels->reader, name, text, sizeof(text));
		labels->direction[name] = 1;
		for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
			if (begins_with(text, writes[i]))
				labels->direction[name] = 2;
	}
	return labels->direction[name] == 2;
}

struct top_names top_labels_names(struct top_labels *labels)
{
	return (struct top_names){ caller_of, is_write, labels };
}

/* --- words --- */

void top_labels_string(struct top_labels *labels, uint32_t id, char *to, size_t size)
{
	char text[STRING_BYTES_MAX + 1];

	top_reader_string(labels->reader, id, text, sizeof(text));
	snprintf(to, size, "%s", visible(text));
}

void top_labels_function(struct top_labels *labels, uint64_t frame, char *to, size_t size)
{
	const char *name;

	if ((frame & STACK_TEXT_MASK) == STACK_TEXT) {
		top_labels_string(labels, (uint32_t)(frame & ~STACK_TEXT_MASK), to, size);
		return;
	}
	name = labels->resolver ? top_resolver_function(labels->resolver, frame) : NULL;
	if (name)
		snprintf(to, size, "%s", name);
	else
		snprintf(to, size, "%#" PRIx64, frame);
}

void top_labels_lock(struct top_labels *labels, uint64_t address, uint32_t ident, char *to,
		     size_t size)
{
	const char *variable =
		labels->resolver ? top_resolver_variable(labels->resolver, address) : NULL;

	if (variable && variable[0])
		snprintf(to, size, "%s", variable);
	else if (ident)
		top_labels_string(labels, ident, to, size);
	else
		snprintf(to, size, "%#" PRIx64, address);
}

const char *top_labels_kind(const struct top_entry *entry)
{
	unsigned type = (unsigned)(entry->key[0] >> 8), what = (unsigned)(entry->key[0] & 255);

	if (type == RECORD_WAIT)
		return what < sizeof(reason_words) / sizeof(reason_words[0]) && reason_words[what]
			       ? "wait"
			       : "?";
	return what < sizeof(kind_words) / sizeof(kind_words[0]) && kind_words[what]
		       ? kind_words[what]
		       : "?";
}

/* The innermost function with a name; ".." stands for those inside of it. */
static void caller_name(struct top_labels *labels, uint32_t stack, char *to, size_t size)
{
	uint64_t frames[FRAMES_MOST];
	size_t count = top_reader_stack(labels->reader, stack, frames, FRAMES_MOST);

	to[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		char name[TOP_LABEL_BYTES];

		top_labels_function(labels, frames[i], name, sizeof(name));
		if (strncmp(name, "0x", 2) == 0 || name[0] == '[')
			continue;
		snprintf(to, size, "%.64s%s", name, i ? ".." : "");
		return;
	}
}

void top_labels_class(struct top_labels *labels, const struct top_entry *entry, char *to,
		      size_t size)
{
	unsigned type = (unsigned)(entry->key[0] >> 8), what = (unsigned)(entry->key[0] & 255);
	char name[TOP_LABEL_BYTES / 2], caller[TOP_LABEL_BYTES / 2];

	if (type == RECORD_WAIT || what == KIND_HOLD) {
		top_labels_lock(labels, entry->key[2], entry->ident, name, sizeof(name));
		snprintf(to, size, "%s", name);
		return;
	}
	top_labels_string(labels, (uint32_t)entry->key[1], name, sizeof(name));
	caller_name(labels, entry->stack, caller, sizeof(caller));
	snprintf(to, size, "%s%s%s", caller, caller[0] ? "/" : "", name);
}
