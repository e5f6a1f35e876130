# SPDX-License-Identifier: Apache-2.0
"""Machines for tests: name spaces of this one, each with its own network, pids, monotonic clock and boot id.

Its wall clock is this machine's. A clock that is wrong is made afterwards, in the header of a dump: set_wrong().
"""
import json
import os
import subprocess

SPACES = ["-n", "-u", "-m", "-p", "-T"]
KEEPER = """
hostname "$1" && mount --bind "$2" /proc/sys/kernel/random/boot_id && mount -t tmpfs none /dev/shm &&
ip link set lo up && echo ready && exec sleep infinity
"""

# What ssh is called like: HOST COMMAND. A file of each host's name has the pid that its name spaces belong to.
SSH = """#!/bin/sh
host=$1; shift
echo "$host $*" >>{here}/ssh.log
[ -e {here}/hosts/"$host" ] || {{ echo "ssh: connect to host $host: no route" >&2; exit 255; }}
exec nsenter -t "$(cat {here}/hosts/"$host")" {spaces} -- sh -c "$*"
"""


def why_not():
    """What this machine does not grant; empty: it does."""
    tried = subprocess.run(["unshare", *SPACES, "-f", "--monotonic=7", "--mount-proc", "sh", "-c",
                            "ip link add veth0 type veth peer name veth1 && ip link add br0 type bridge"],
                           capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"takes root, ip, and unshare {' '.join(SPACES)}: {tried.stderr.strip()}"


def keep(*command):
    """A process that holds name spaces; it, and its child's pid."""
    process = subprocess.Popen(["unshare", "--kill-child", "-f", *command], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        return process, int(file.read().split()[0])


class Hosts:
    """Machines called by these names, at 10.99.0.1 and so on, on one network."""

    def __init__(self, here, names):
        self.here, self.names, self.processes, self.pids = here, list(names), [], {}
        os.makedirs(os.path.join(here, "hosts"), exist_ok=True)
        self.ssh = os.path.join(here, "ssh")
        with open(self.ssh, "w", encoding="ascii") as file:
            file.write(SSH.format(here=here, spaces=" ".join(SPACES)))
        os.chmod(self.ssh, 0o755)
        switch, self.switch = keep("-n", "sh", "-c", "ip link add bridge type bridge && ip link set bridge up && "
                                   "echo ready && exec sleep infinity")
        self.processes.append(switch)
        for number, name in enumerate(self.names, 1):
            self.add(number, name)

    def add(self, number, name):
        boot = os.path.join(self.here, f"boot-{name}")
        with open(boot, "w", encoding="ascii") as file:
            file.write(f"{number:08x}-0000-4000-8000-000000000000\n")
        process, pid = keep(*SPACES, f"--monotonic={1000 * number}", "--mount-proc", "sh", "-c", KEEPER, "sh", name,
                            boot)
        self.processes.append(process)
        self.pids[name] = pid
        with open(os.path.join(self.here, "hosts", name), "w", encoding="ascii") as file:
            file.write(str(pid))
        self.run(name, f"ip link add eth0 type veth peer name p{number} && ip link set eth0 up && "
                 f"ip addr add {self.address(name)}/24 dev eth0")
        subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", "link", "set", f"p{number}", "netns", str(self.switch)],
                       check=True)
        subprocess.run(["nsenter", "-t", str(self.switch), "-n", "sh", "-c",
                        f"ip link set p{number} master bridge && ip link set p{number} up"], check=True)

    def address(self, name):
        return f"10.99.0.{self.names.index(name) + 1}"

    def command(self, name, *words):
        """What runs these words on that machine."""
        return ["nsenter", "-t", str(self.pids[name]), *SPACES, "--", *words]

    def run(self, name, script):
        return subprocess.run(self.command(name, "sh", "-c", script), check=True, capture_output=True, text=True).stdout

    def end(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            process.stdout.close()


def set_wrong(path, ns):
    """The wall clock of a dump's machine was wrong by that."""
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    for number, line in enumerate(lines):
        if '"schema_version"' in line[:100]:
            header = json.loads(line)
            for key in "epoch_unix_nano", "dumped_unix_nano":
                header[key] += ns
            lines[number] = json.dumps(header, separators=(",", ":")) + "\n"
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
