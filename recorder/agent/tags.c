/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tags. See tags.h.
 *
 * A tag that is set stays: so sources are asked in the order of their rank.
 */
#include "tags.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "published.h"
#include "procfs.h"

enum { ENVIRONMENT_BYTES = 131072 };

static void add(char tag[CONFIG_TAG_BYTES], const char *value)
{
	if (!tag[0])
		snprintf(tag, CONFIG_TAG_BYTES, "%s", value);
}

void tags_add_attribute(void *context, const char *key, const char *value)
{
	struct tags *tags = context;

	if (strcmp(key, "service.name") == 0)
		add(tags->service, value);
	else if (strcmp(key, "service.version") == 0)
		add(tags->version, value);
	else if (strcmp(key, "deployment.environment.name") == 0 ||
		 strcmp(key, "deployment.environment") == 0)
		add(tags->environment, value);
	else if (strcmp(key, "service.instance.id") == 0)
		add(tags->instance, value);
}

static int digit(char character)
{
	const char *digits = "0123456789abcdef", *at;

	at = character ? strchr(digits, tolower((unsigned char)character)) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* Without the %XX of a URL. False: it is too long, or there is none of two digits behind a %. */
static bool decode(char to[CONFIG_TAG_BYTES], const char *from, size_t bytes)
{
	size_t used = 0;

	for (size_t i = 0; i < bytes; i++) {
		int high = 0, low = from[i];

		if (used + 1 == CONFIG_TAG_BYTES)
			return false;
		if (from[i] == '%') {
			if (bytes - i < 3)
				return false;
			high = digit(from[i + 1]);
			low = digit(from[i + 2]);
			i += 2;
			if (high < 0 || low < 0 || high + low == 0)
				return false;
		}
		to[used++] = (char)(high << 4 | low);
	}
	to[used] = '\0';
	return true;
}

/* key=value,key=value; a part that is none is left out. */
static void add_attributes(struct tags *tags, const char *list)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		const char *equals = memchr(list, '=', length);
		char key[CONFIG_TAG_BYTES], value[CONFIG_TAG_BYTES];

		if (equals && decode(key, list, (size_t)(equals - list)) &&
		    decode(value, equals + 1, length - (size_t)(equals + 1 - list)))
			tags_add_attribute(tags, key, value);
		list += length + (list[length] == ',');
	}
}

/* The value of a variable; NULL: it is not there. */
static const char *find(const char *variables, size_t bytes, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = variables; at < variables + bytes; at += strlen(at) + 1)
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return at + length + 1;
	return NULL;
}

static void add_variable(char tag[CONFIG_TAG_BYTES], const char *variables, size_t bytes,
			 const char *name)
{
	const char *value = find(variables, bytes, name);

	if (value)
		add(tag, value);
}

void tags_add_environment(struct tags *tags, const char *variables, size_t bytes)
{
	const char *attributes = find(variables, bytes, "OTEL_RESOURCE_ATTRIBUTES");

	add_variable(tags->service, variables, bytes, "OTEL_SERVICE_NAME");
	if (attributes)
		add_attributes(tags, attributes);
	add_variable(tags->service, variables, bytes, "DD_SERVICE");
	add_variable(tags->version, variables, bytes, "DD_VERSION");
	add_variable(tags->environment, variables, bytes, "DD_ENV");
}

static void add_environment_of(struct tags *tags, pid_t pid)
{
	static char variables[ENVIRONMENT_BYTES + 1];
	char path[64];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	bytes = procfs_read_file(path, variables, sizeof(variables));
	if (bytes > 0)
		tags_add_environment(tags, variables, (size_t)bytes);
}

void tags_of(struct tags *tags, const struct config_process *rule, const char *host,
	     const char *program, pid_t pid)
{
	*tags = (struct tags){ .pid = pid };
	snprintf(tags->program, sizeof(tags->program), "%s", program);
	add(tags->service, rule->service);
	add(tags->version, rule->version);
	add(tags->environment, rule->environment);
	(void)published_read(pid, tags_add_attribute, tags);
	add_environment_of(tags, pid);
	add(tags->service, program);
	add(tags->host, host);
	if (!tags->host[0] && gethostname(tags->host, sizeof(tags->host) - 1) != 0)
		add(tags->host, "unknown");
}
