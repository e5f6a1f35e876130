#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If these fail, a report is held against figures that its load generator has not given."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
import generators  # pylint: disable=wrong-import-position

AB = "Concurrency Level:      8\nComplete requests:      8000\nFailed requests:        0\n"
REDIS = ('"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms",'
         '"max_latency_ms"\n"SET","26143.79","0.034","0.016","0.031","0.047","0.103","0.911"\n')
SYSBENCH = """Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.013 |********************                     300
       0.015 |**************************************** 680
       1.044 |*                                        20

    total number of events:              1000
"""
KVLOAD = "12800 requests in 0.345 s: 37101 a second, p50 0.119 ms, p99 2.463 ms\n"
TIMETABLE = "800 requests, p50 0.605 ms, p99 30.184 ms, from when they were due p50 0.687 ms, p99 33.267 ms\n"
PGBENCH = "number of transactions actually processed: 100/100\n"


class Figures(unittest.TestCase):
    """What generators print."""

    def test_each_generator(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "percent.csv"), "w", encoding="ascii") as file:
                file.write("Percentage served,Time in ms\n0,0.01\n50,0.354\n99,4.445\n")
            with open(os.path.join(directory, "pgbench_log.12"), "w", encoding="ascii") as file:
                for i in range(100):
                    file.write(f"0 {i} {1000 + i} 0 1780000000 123456\n")
            self.assertEqual(generators.of_ab(AB, directory), (8000, 0.354, 4.445))
            self.assertEqual(generators.of_redis(REDIS, directory), (None, 0.031, 0.103))
            self.assertEqual(generators.of_sysbench(SYSBENCH, directory), (1000, 0.015, 1.044))
            self.assertEqual(generators.of_kvload(KVLOAD, directory), (12800, 0.119, 2.463))
            self.assertEqual(generators.of_timetable(TIMETABLE, directory), (800, 0.687, 33.267))
            self.assertEqual(generators.of_pgbench(PGBENCH, directory), (100, 1.05, 1.099))

    def test_every_server_is_one_of_the_field(self):
        for load in generators.LOADS:
            program = generators.program_of(load)
            self.assertTrue(program.servers, load.name)
            self.assertIn("requests", program.words, load.name)


class Table(unittest.TestCase):
    """Differences, and how they are laid out."""

    ROW = {"name": "redis", "by": "redis-benchmark", "connections": 16,
           "generator": {"requests": 1000, "p50_ms": 2.0, "p99_ms": 10.0},
           "server": None, "both": {"requests": 1010, "p50_ms": 1.0, "p99_ms": 10.0}}

    def test_differences_in_per_cent(self):
        self.assertEqual(generators.cells(self.ROW)[-6:], ["-", "-", "-", "+1.0%", "-50.0%", "+0.0%"])

    def test_both_layouts_have_all_columns(self):
        head, rule, row = generators.lines_of([self.ROW], True)
        self.assertEqual(head.count("|"), row.count("|"))
        self.assertEqual(head.count("|"), rule.count("|"))
        self.assertEqual(len(generators.lines_of([self.ROW], False)), 2)

    def test_each_connection_has_as_many(self):
        self.assertEqual([generators.per_connection(1000, n) for n in (1, 16, 64, 2000)], [1000, 992, 960, 2000])


if __name__ == "__main__":
    unittest.main()
