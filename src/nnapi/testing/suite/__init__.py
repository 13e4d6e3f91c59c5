"""Suites of tests: select tests, run each in a process, judge the results against a baseline, record them."""
