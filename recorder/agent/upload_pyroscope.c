/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pyroscope's push API, in JSON: a series for each profile.
 */
#include "upload.h"

#include <stdio.h>

void upload_pyroscope(const struct upload_window *window, struct upload_request *request)
{
	static const struct upload_series series = {
		.service_key = "service_name", .labels_begin = "", .labels_end = "", .has_ids = true
	};

	snprintf(request->content_type, sizeof(request->content_type), "application/json");
	body_puts(&request->body, "{");
	upload_put_series(&request->body, window, &series);
	body_puts(&request->body, "}");
}
