/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that make another clientele; clientele.h has the contract.
 */
#ifndef WCPROF_CLIENTELE_PARTS_H
#define WCPROF_CLIENTELE_PARTS_H

#include "clientele.h"

/* Clients' questions, and the steps that are done for them. Arrays are as long as the script's. */
struct dealing {
	const struct script *script;
	uint32_t times;     /* clients in the place of each */
	uint32_t *client;   /* by actor: that it is dealt out with, NO_INDEX = it is not */
	uint32_t *count;    /* by actor: of a client's questions */
	uint32_t *question; /* by step of such an actor; the same for its mark and end is nothing */
	uint32_t *carried;  /* by transfer: the question that it is of; NO_INDEX = of none */
	uint32_t *owner;    /* by flow: the client; NO_INDEX = it is not dealt out */
};

/* clientele_find.c. NULL, or why it cannot be told. Either way the arrays are to be freed. */
const char *dealing_find(struct dealing *, const struct script *, uint32_t times);
void dealing_free(struct dealing *);
/* Which of the clients in the place of this one asks a question, from 0. */
uint32_t dealing_part(const struct dealing *, uint32_t client, uint32_t question);

#endif
