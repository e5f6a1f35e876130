/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which service a process is, as the arena has it: a part of format.h. Data only.
 *
 * Each text ends with a NUL, and its last byte is never another. A reader meanwhile may find half
 * of two texts. deployment.h writes them.
 */
#ifndef WCPROF_DEPLOYED_H
#define WCPROF_DEPLOYED_H

enum { DEPLOYMENT_TEXT_BYTES = 128 };

struct deployment {
	char name[DEPLOYMENT_TEXT_BYTES];
	char version[DEPLOYMENT_TEXT_BYTES];
	char environment[DEPLOYMENT_TEXT_BYTES];
	char instance[DEPLOYMENT_TEXT_BYTES];
};

#endif
