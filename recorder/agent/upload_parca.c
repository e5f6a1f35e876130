/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parca's profile store, in the JSON of its gateway: a series for each profile.
 */
#include "upload.h"

#include <stdio.h>

void upload_parca(const struct upload_window *window, struct upload_request *request)
{
	static const struct upload_series series = { .service_key = "job",
						     .labels_begin = "\"labels\":{",
						     .labels_end = "}" };

	snprintf(request->content_type, sizeof(request->content_type), "application/json");
	body_puts(&request->body, "{");
	upload_put_series(&request->body, window, &series);
	body_puts(&request->body, ",\"normalized\":false}");
}
