/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of strangers that the agent reads: headers of dumps, answers of receivers; and its
 * configuration. The first byte chooses. An error of the configuration names a line, and
 * is in one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config.h"
#include "agent/tags.h"
#include "agent/upload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_config(const char *text)
{
	static struct config config;
	char error[CONFIG_ERROR_BYTES] = "";
	unsigned line;

	if (config_parse(&config, text, error)) {
		if (config.process_count == 0)
			abort();
		(void)config_find(&config, "name", "file", "name --option");
		config_free(&config);
	} else if (sscanf(error, "line %u:", &line) != 1 || strchr(error, '\n')) {
		abort();
	}
}

static void check_tags(const struct tags *tags)
{
	if (strlen(tags->service) >= CONFIG_TAG_BYTES || strlen(tags->version) >= CONFIG_TAG_BYTES)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct config_process rule;
	struct tags tags = { 0 };
	char *text;

	if (size == 0)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 3) {
	case 0:
		/* Patterns of regcomp() are the user's own: libc's is not what is tested. */
		if (!strpbrk(text, "*+?{(|"))
			parse_config(text);
		break;
	case 1:
		tags_of(&tags, &rule, text, "host", "program", 1);
		break;
	default:
		(void)upload_was_taken(CONFIG_otlp, text, size - 1);
	}
	check_tags(&tags);
	free(text);
	return 0;
}
