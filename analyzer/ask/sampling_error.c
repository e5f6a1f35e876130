/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the samples that hypotheses rest on; sampling_error.h has the contract.
 *
 * Code that runs in a function is known from samples alone, its calls are known exactly. So are the
 * ops of a class, and with CPUs to spare all that runs in them. Where there are no more CPUs than
 * threads, samples alone tell which stretch between two calls had the CPU. A saving depends on that
 * then, so a class that runs is no surer than the functions in it.
 *
 * Of n samples the standard deviation is the root of n. One thread.
 */
#include "sampling_error.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static double error_of(double samples)
{
	return samples > 0 ? 1 / sqrt(samples) : 0;
}

/* A scope's samples are those of its leaf, and of each lock that is held. */
static void add_scope(double *samples, const struct scopes *scopes, const struct scope *scope,
		      uint32_t count)
{
	assert(scope->first + scope->count <= scopes->class_count);
	if (scope->leaf != NO_INDEX)
		samples[scope->leaf] += count;
	for (uint32_t i = 0; i < scope->count; i++)
		if (scopes->classes[scope->first + i] != scope->leaf)
			samples[scopes->classes[scope->first + i]] += count;
}

double *sampling_error_build(const struct script *script, const struct machine *machine)
{
	const struct shares *shares = &script->shares;
	const struct scopes *scopes = &script->scopes;
	size_t count = script->class_count + shares->function_count;
	bool is_crowded = machine_spare_cpus(machine, script, false) <= 0;
	double *error = memory_new(count, sizeof(*error));

	for (size_t i = 0; is_crowded && shares->in_scope && i < scopes->count; i++)
		if (scopes->scopes[i].parent == NO_INDEX)
			add_scope(error, scopes, &scopes->scopes[i], shares->in_scope[i]);
	for (size_t i = 0; i < script->class_count; i++)
		error[i] = error_of(error[i]);
	for (size_t f = 0; f < shares->function_count; f++) {
		const struct function *function = &shares->functions[f];
		double sampled = function->total_ns
					 ? (double)function->sampled_ns / (double)function->total_ns
					 : 0;

		error[script->class_count + f] = sampled * error_of(function->samples);
	}
	return error;
}
