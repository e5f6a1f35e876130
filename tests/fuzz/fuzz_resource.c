/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a tracer publishes is read within its bounds, and leaves texts that end. */
#include "resource.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
	struct deployment deployment = { 0 };

	(void)resource_read(&deployment, bytes, byte_count);
	if (deployment.name[DEPLOYMENT_TEXT_BYTES - 1] ||
	    deployment.version[DEPLOYMENT_TEXT_BYTES - 1] ||
	    deployment.environment[DEPLOYMENT_TEXT_BYTES - 1])
		abort();
	return 0;
}
