/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of connections on which requests overlap, or are encrypted; exchanges_parts.h has the
 * contract.
 *
 * Method. A read's kind that tells of HTTP/2, or of TLS, holds for the whole connection. There may
 * be HTTP/2 in TLS, so that a read that seems to tell of anything else is chance.
 *
 * One thread.
 */
#include "exchanges_parts.h"

#include <string.h>

#include "format.h"

#define LAYER(name, word, meaning) static const char name[] = (word);
#include "layers.def"
#undef LAYER

static enum exchange_sharing sharing_of(const char *kind)
{
	if (strcmp(kind, REQUEST_TLS) == 0 || strcmp(kind, REQUEST_TLS_CONTROL) == 0)
		return EXCHANGE_HIDDEN;
	return strcmp(kind, REQUEST_HTTP2) == 0 ? EXCHANGE_STREAMS : EXCHANGE_PLAIN;
}

bool is_kind_of_none(const struct recording *rec, uint32_t kind)
{
	return kind && strcmp(rec->strings[kind], REQUEST_TLS_CONTROL) == 0;
}

static void end_look_at(struct connection_end *end, const struct end_event *events,
			const struct recording *rec)
{
	for (size_t i = 0; i < end->event_count; i++) {
		uint32_t kind = events[i].sort == END_READ && rec->ops[events[i].op].kind == KIND_IO
					? rec->extras[events[i].op].request_kind
					: 0;
		enum exchange_sharing sharing =
			kind ? sharing_of(rec->strings[kind]) : EXCHANGE_PLAIN;

		if (sharing == EXCHANGE_PLAIN || end->sharing == EXCHANGE_STREAMS)
			continue;
		if (end->sharing == EXCHANGE_PLAIN)
			end->sharing = sharing;
		if (sharing == end->sharing && !is_kind_of_none(rec, kind))
			end->shared_kind = kind;
	}
}

void connection_ends_share(struct connection_ends *ends, const struct recording *rec)
{
	for (size_t i = 0; i < ends->count; i++)
		end_look_at(&ends->ends[i], ends->events + ends->ends[i].first_event, rec);
}
