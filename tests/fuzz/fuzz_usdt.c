/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text, as the arguments of a mark; and any bytes, as the program of a probe. Whatever is
 * accepted may be run.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/usdt.h"
#include "probe_eval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t find(void *context, const char *symbol, size_t length)
{
	(void)context;
	return length > 0 && symbol[0] == 'c' ? 0x1000 : 0;
}

static bool read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
	(void)context;
	memset(to, (int)address, bytes);
	return address % 3 != 0;
}

static void run(const struct probe_code *code)
{
	static const uint64_t registers[PROBE_REGISTERS], vectors[PROBE_VECTORS];
	static struct probe_value values[PROBE_FETCHES_MAX];
	const struct probe_context context = { registers, 0, read_memory, NULL, 0, vectors };

	probe_fetch_all(code, &context, false, values);
	probe_fetch_all(code, &context, true, values);
	probe_judge(code, values);
}

static void read_arguments(const uint8_t *data, size_t size)
{
	struct probe_code code = { 0 };
	char *text = malloc(size + 1);
	size_t count;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	count = usdt_arguments(text, code.fetches, PROBE_FETCHES_MAX, find, NULL);
	free(text);
	for (size_t i = 0; i < count; i++)
		if (code.fetches[i].size == 0)
			return;
	code.fetch_count = (uint8_t)count;
	code.has_reals = probe_code_has_reals(&code);
	if (!probe_code_is_valid(&code))
		abort();
	run(&code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probe_code code;

	if (size > 0)
		read_arguments(data, size);
	memset(&code, 0, sizeof(code));
	memcpy(&code, data, size < sizeof(code) ? size : sizeof(code));
	if (probe_code_is_valid(&code))
		run(&code);
	return 0;
}
