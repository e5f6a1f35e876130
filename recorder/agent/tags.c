/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tags. See tags.h.
 *
 * A tag that is set stays: so sources are asked in the order of their rank.
 */
#include "tags.h"

#include <stdio.h>
#include <unistd.h>

#include "client.h"

static void add(char tag[CONFIG_TAG_BYTES], const char *value)
{
	if (!tag[0])
		snprintf(tag, CONFIG_TAG_BYTES, "%s", value);
}

static void add_key(char tag[CONFIG_TAG_BYTES], const char *header, const char *key)
{
	char value[CONFIG_TAG_BYTES];

	if (client_string(header, key, value, sizeof(value)))
		add(tag, value);
}

void tags_of(struct tags *tags, const struct config_process *rule, const char *header,
	     const char *host, const char *program, pid_t pid)
{
	*tags = (struct tags){ .pid = pid };
	snprintf(tags->program, sizeof(tags->program), "%s", program);
	add(tags->service, rule->service);
	add(tags->version, rule->version);
	add(tags->environment, rule->environment);
	add_key(tags->service, header, "service");
	add_key(tags->version, header, "service_version");
	add_key(tags->environment, header, "environment");
	add_key(tags->instance, header, "service_instance");
	add(tags->service, program);
	add(tags->host, host);
	if (!tags->host[0] && gethostname(tags->host, sizeof(tags->host) - 1) != 0)
		add(tags->host, "unknown");
}
