/* SPDX-License-Identifier: Apache-2.0 */
/* Counts exchanges that may be several requests; several.h has the contract. */
#include "several.h"

#include <stdlib.h>

#include "base/memory.h"

void several_find(struct several *several, const struct analysis *analysis)
{
	const struct requests *requests = &analysis->script.requests;
	uint8_t *seen = memory_new(analysis->recording->string_count, sizeof(*seen));
	*several = (struct several){ 0 };
	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];
		uint8_t bit = (uint8_t)(1 << request->sharing);
		if (!request_is_judged(requests, request))
			continue;
		several->count++;
		several->counts[request->sharing]++;
		several->within += request->within ? request->within : 1;
		several->connections[request->sharing] += !(seen[request->connection] & bit);
		seen[request->connection] |= bit;
		several->is_known |= request->kind != 0;
	}
	free(seen);
}

const char *several_noun(const struct several *several)
{
	if (several->counts[EXCHANGE_BATCH] == several->count)
		return "batches";
	return several->counts[EXCHANGE_STREAMS] == several->count ? "busy periods" : "requests";
}

/* "These" or "12 of them". */
static const char *those(const struct several *several, size_t count, char text[32])
{
	if (count == several->count)
		return "These";
	snprintf(text, 32, "%zu of them", count);
	return text;
}

void several_say(const struct several *several, FILE *file)
{
	const size_t *counts = several->counts;
	size_t connections = several->connections[EXCHANGE_STREAMS];
	char text[32];
	if (counts[EXCHANGE_STREAMS])
		fprintf(file,
			" %s are busy periods of %zu connection%s, as requests overlap there "
			"(HTTP/2).",
			those(several, counts[EXCHANGE_STREAMS], text), connections,
			connections == 1 ? "" : "s");
	if (counts[EXCHANGE_BATCH])
		fprintf(file,
			" %s came with others in one read (pipelined): about %zu requests in all.",
			those(several, counts[EXCHANGE_BATCH], text), several->within);
	if (counts[EXCHANGE_PIPELINED])
		fprintf(file,
			" %s came before the answer before them was there (pipelined): what was "
			"read at once counts as one.",
			those(several, counts[EXCHANGE_PIPELINED], text));
	if (counts[EXCHANGE_HIDDEN])
		fprintf(file,
			" %s came encrypted (TLS): if by HTTP/2, each may be several requests.",
			those(several, counts[EXCHANGE_HIDDEN], text));
}
