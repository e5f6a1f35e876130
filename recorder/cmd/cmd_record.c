/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof record: runs a program and records it; record.h says how.
 */
#include "cmd.h"
#include "record.h"

int cmd_record(struct cmd_options *options)
{
	struct record_run run = { .output_fd = -1 };

	return record_program(options, &run);
}
