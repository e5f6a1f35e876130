/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about this process. See gate.h.
 */
#include "gate.h"

#include "syscalls.h"

#include "in_target.h"

struct gate recorder_gate;
struct gate_facts gate_facts;

bool gate_is_the_users(void)
{
	return (uint32_t)sys_geteuid() == load_relaxed(&gate_facts.user);
}

static __thread uint32_t vforks_under_way __attribute__((tls_model("initial-exec")));

void gate_vfork_begins(void)
{
	vforks_under_way++;
}

void gate_vfork_ends(void)
{
	vforks_under_way -= vforks_under_way > 0;
}

bool gate_is_in_vfork(void)
{
	return vforks_under_way > 0;
}

static __thread bool is_confined_vfork_child __attribute__((tls_model("initial-exec")));

void gate_confine_vfork_child(bool is_confined)
{
	is_confined_vfork_child = is_confined;
}

bool gate_is_confined_vfork_child(void)
{
	return is_confined_vfork_child;
}

/* A vfork child shares this memory with its parent, and finds the gate as it was. */
bool recorder_in_vfork_child(void)
{
	if (is_confined_vfork_child)
		return true;
	return load_relaxed(&recorder_gate.present) != 0 && (uint32_t)sys_getpid() != gate_pid();
}
