/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which service a process is. See deployment.h.
 *
 * The tracer may change what it publishes meanwhile, or take it away. It is read by
 * process_vm_readv, which fails where a load would fault, and its time of publication before and
 * after. If that has changed, it is left for the next time.
 */
#include "deployment.h"

#include <string.h>

#include "resource.h"
#include "syscalls.h"

#include "in_target.h"

enum {
	PUBLISHED_VERSION = 2,
	MESSAGE_BYTES_MAX = 2048 /* of a longer one the first attributes; it is on a stack */
};

/* As the tracer has it at the begin of its mapping. */
struct published {
	char signature[8];
	uint32_t version;
	uint32_t message_bytes;
	uint64_t published_ns; /* 0 = it is being changed */
	uint64_t message;      /* where it is */
};
_Static_assert(sizeof(struct published) == 32, "it has no gaps");

static struct deployment of_environment;

/* --- The environment ------------------------------------------------------------------------- */

static int digit_of(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Up to the comma or the end, with %41 as A. How many bytes it took. */
static size_t decode(char text[DEPLOYMENT_TEXT_BYTES], const char *from, size_t *bytes)
{
	size_t at = 0;

	*bytes = 0;
	while (from[at] && from[at] != ',') {
		bool is_coded = from[at] == '%' && digit_of(from[at + 1]) >= 0 &&
				digit_of(from[at + 2]) >= 0;
		char byte = is_coded ? (char)(digit_of(from[at + 1]) << 4 | digit_of(from[at + 2]))
				     : from[at];

		if (*bytes < DEPLOYMENT_TEXT_BYTES - 1)
			text[(*bytes)++] = byte;
		at += is_coded ? 3 : 1;
	}
	return at;
}

/* "service.version=1.2,deployment.environment.name=prod" */
static void take_attributes(const char *list)
{
	while (list && *list) {
		char text[DEPLOYMENT_TEXT_BYTES];
		const char *key = list;
		size_t key_bytes = strcspn(key, "=,"), bytes;

		list += key_bytes;
		if (*list == '=') {
			list += 1 + decode(text, list + 1, &bytes);
			resource_take(&of_environment, key, key_bytes, text, bytes);
		}
		list += *list == ',';
	}
}

static void take_variable(const char *key, const char *value)
{
	if (value && value[0])
		resource_take(&of_environment, key, strlen(key), value, strlen(value));
}

/* The later ones are the more certain. */
void deployment_start(const char *(*get_environment)(const char *name))
{
	take_variable("service.name", get_environment("DD_SERVICE"));
	take_variable("service.version", get_environment("DD_VERSION"));
	take_variable("deployment.environment", get_environment("DD_ENV"));
	take_attributes(get_environment("OTEL_RESOURCE_ATTRIBUTES"));
	take_variable("service.name", get_environment("OTEL_SERVICE_NAME"));
}

void deployment_begin(struct arena *arena)
{
	memcpy(&arena->deployment, &of_environment, sizeof(arena->deployment));
}

/* --- The tracer's mapping -------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static bool is_published(const struct published *published)
{
	return memcmp(published->signature, "OTEL_CTX", 8) == 0 &&
	       published->version == PUBLISHED_VERSION && published->published_ns != 0;
}

void deployment_look(struct arena *arena, const struct mapping *mapping)
{
	struct published before, after;
	uint8_t message[MESSAGE_BYTES_MAX];

	if (!begins_with(mapping->path, "/memfd:OTEL_CTX") &&
	    !begins_with(mapping->path, "[anon_shmem:OTEL_CTX]") &&
	    !begins_with(mapping->path, "[anon:OTEL_CTX]"))
		return;
	if (!sys_read_memory(arena->pid, mapping->start, &before, sizeof(before)) ||
	    !is_published(&before))
		return;
	size_t bytes =
		before.message_bytes < MESSAGE_BYTES_MAX ? before.message_bytes : MESSAGE_BYTES_MAX;
	if (!sys_read_memory(arena->pid, before.message, message, bytes) ||
	    !sys_read_memory(arena->pid, mapping->start, &after, sizeof(after)) ||
	    after.published_ns != before.published_ns)
		return;
	(void)resource_read(&arena->deployment, message, bytes);
}
