/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text, as a probe. If it is accepted, its condition may be run, once it has values. If it is
 * refused, the error names a column of the text.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/grammar.h"
#include "probe_eval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As if each value were a string in a register, of which every op may be asked. */
static void fill(struct probe_code *code)
{
	for (uint8_t i = 0; i < code->fetch_count; i++)
		code->fetches[i] =
			(struct probe_fetch){ .type = PROBE_STRING, .size = PROBE_STRING_BYTES };
	code->has_reals = probe_code_has_reals(code);
}

static void check_names(const struct probe_text *parsed)
{
	for (uint8_t i = 0; i < parsed->code.fetch_count; i++)
		if (!parsed->expressions[i].base[0] || !parsed->expressions[i].label[0] ||
		    strlen(parsed->expressions[i].label) >= PROBE_NAME_BYTES)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct probe_text parsed;
	static struct probe_value values[PROBE_FETCHES_MAX];
	char error[PROBE_MESSAGE_BYTES];
	char *text = malloc(size + 1);
	unsigned column;

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (probe_parse(text, &parsed, error) == 0) {
		check_names(&parsed);
		fill(&parsed.code);
		if (!probe_code_is_valid(&parsed.code))
			abort();
		probe_judge(&parsed.code, values);
	} else if (sscanf(error, "column %u:", &column) != 1 || column == 0 ||
		   column > strlen(text) + 1) {
		abort();
	}
	free(text);
	return 0;
}
