/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's protocol for profiles: the message is wcprof-analyze's, and sent as it is.
 *
 * A receiver may take a request and refuse profiles in it. Its answer says so in a field:
 *
 *   ExportProfilesServiceResponse  { partial_success = 1 }
 *   ExportProfilesPartialSuccess   { rejected_profiles = 1, error_message = 2 }
 */
#include "upload.h"

#include <stdio.h>

void upload_otlp(const struct upload_window *window, struct upload_request *request)
{
	snprintf(request->content_type, sizeof(request->content_type), "application/x-protobuf");
	body_put(&request->body, window->otlp.bytes, window->otlp.used);
}

/* A number in groups of seven bits, lowest first. False: it does not end. */
static bool take_number(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		*value |= (uint64_t)(**at & 0x7f) << shift;
		if (*(*at)++ < 0x80)
			return true;
	}
	return false;
}

/* Both fields come first in their messages, as all writers have it. */
bool upload_otlp_was_taken(const char *answer, size_t count)
{
	enum { PARTIAL_SUCCESS = 1 << 3 | 2, REJECTED_PROFILES = 1 << 3 };
	const unsigned char *at = (const unsigned char *)answer, *end = at + count;
	uint64_t key, bytes, rejected;

	if (!take_number(&at, end, &key) || key != PARTIAL_SUCCESS ||
	    !take_number(&at, end, &bytes) || bytes == 0)
		return true;
	return !take_number(&at, end, &key) || key != REJECTED_PROFILES ||
	       !take_number(&at, end, &rejected) || rejected == 0;
}
