/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that ask what a fix of a class would buy; whatif.h has the contract.
 */
#ifndef WCPROF_WHATIF_PARTS_H
#define WCPROF_WHATIF_PARTS_H

#include "whatif.h"

/* whatif_endless.c: gives factors that have no answer the nearest one's, takes out the rows that
 * have none at all, and counts both. May be called again. */
void whatif_complete(struct whatif *, const struct whatif_options *);

#endif
